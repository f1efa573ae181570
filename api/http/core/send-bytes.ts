import type { Context } from 'koa';
import { Readable } from 'node:stream';

/** A write counts as read only when the socket has accepted all of it: small writes show a slow reader's progress. */
const PIECE_BYTES = 16 * 1024;

/** Sends a body that is in memory. Returns its length. */
export function sendBytes(ctx: Context, bytes: Buffer): number {
  ctx.body = bytes.length <= PIECE_BYTES ? bytes : Readable.from(piecesOf(bytes), { objectMode: false });
  ctx.length = bytes.length;
  return bytes.length;
}

function* piecesOf(bytes: Buffer): Generator<Buffer> {
  for (let start = 0; start < bytes.length; start += PIECE_BYTES) yield bytes.subarray(start, start + PIECE_BYTES);
}
