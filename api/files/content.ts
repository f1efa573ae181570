import type { Context } from 'koa';
import type { ByteRange } from '../../src/files/storage.js';
import { verifyLink } from '../../src/files/download-link.js';
import { contentDisposition } from '../../src/files/filename.js';
import { getLinkedFile, openContent, type FileRow } from '../../src/files/store.js';
import { BYTES, DOWNLOAD_HEADERS, sendContent } from '../http/core/download.js';
import { operation } from '../http/core/operation.js';

/**
 * GET /files/{file_id}: the target of a link to local storage (decisions.md "Resources", "Location"). The link replaces the API
 * key.
 */
export const fileContent = operation({
  id: 'fileContent',
  summary: 'Content behind a signed link',
  description:
    'The target of download links. It takes `Range`, so that a download can be continued, and no key: the signature is the permission. A `Range` gets 206, or 416 if the file has no such bytes.',
  query: {
    type: 'object',
    properties: {
      expires: { type: 'string', description: 'When the link expires, in seconds since 1970.' },
      signature: { type: 'string', description: 'Made by the service. A changed link is refused.' },
    },
  },
  success: {
    status: 200,
    description: 'The content, or the requested range.',
    mediaType: '*/*',
    schema: BYTES,
    example: 'the bytes of the file',
  },
  errors: ['invalid_link', 'file_not_found', 'storage_error'],
  async handle({ deps, ctx, params, query }) {
    verifyLink(params.file_id!, query, deps.config.encryptionKeys);
    const file = await getLinkedFile(deps.db, params.file_id!);
    const range = answerHead(ctx, file);
    if (range === null) return;
    const content = await openContent(deps.storage, file, range);
    sendContent(ctx, content, range.end - range.start + 1);
  },
});

/** Sets status and headers; returns the bytes to send, or null for none. */
function answerHead(ctx: Context, file: FileRow): Required<ByteRange> | null {
  const size = file.size_bytes;
  const etag = `"${file.id}"`;
  ctx.set({
    'Content-Type': file.mime_type,
    'Content-Disposition': contentDisposition(file.filename),
    'Accept-Ranges': 'bytes',
    ...DOWNLOAD_HEADERS,
    ETag: etag,
  });
  const sameVersion = ['', etag].includes(ctx.get('If-Range'));
  const asked = askedRange(sameVersion ? ctx.get('Range') : undefined, size);
  if (asked === 'unsatisfiable') {
    ctx.status = 416;
    ctx.set('Content-Range', `bytes */${size}`);
    ctx.body = '';
    return null;
  }
  ctx.status = asked === 'all' ? 200 : 206;
  if (asked !== 'all') {
    ctx.set('Content-Range', `bytes ${asked.start}-${asked.end}/${size}`);
    return asked;
  }
  if (size === 0) ctx.body = '';
  return size === 0 ? null : { start: 0, end: size - 1 };
}

/** The requested part of `size` bytes (RFC 9110, 14): everything, one range, or a range outside the file. */
type Asked = 'all' | 'unsatisfiable' | { start: number; end: number };

/** Multiple ranges, other units and malformed headers get the whole file, as RFC 9110 allows. */
function askedRange(header: string | undefined, size: number): Asked {
  const [, from, to] = /^bytes=[\t ]*(\d{0,15})-(\d{0,15})[\t ]*$/i.exec(header ?? '') ?? [];
  if (from === undefined || to === undefined || (from === '' && to === '')) return 'all';
  if (from === '') {
    const suffix = Math.min(Number(to), size);
    return suffix === 0 ? 'unsatisfiable' : { start: size - suffix, end: size - 1 };
  }
  if (to !== '' && Number(to) < Number(from)) return 'all';
  if (Number(from) >= size) return 'unsatisfiable';
  return { start: Number(from), end: Math.min(to === '' ? size - 1 : Number(to), size - 1) };
}
