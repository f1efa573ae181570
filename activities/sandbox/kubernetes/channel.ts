import type { Socket } from 'node:net';
import { MIB } from '../../../src/platform/units.js';
import type { CommandEnd } from '../../../src/workspaces/sandbox.js';

/** The port of a sandbox pod's daemon. */
export const POD_PORT = 8484;

export interface Pod {
  name: string;
  address: string;
}

/** What a worker sends. A version's manifest (`encodeManifest`) follows `open`, the bytes of an input follow `run`. */
export type FromWorker =
  /** `pod`: the name of the pod that is meant. An address may have been another pod's before. */
  | { type: 'open'; pod: string; mounts: { id: string; target: string; kind: 'file' | 'folder'; bytes?: number }[] }
  /** The answer to `want`: the bytes of a file follow, then `end`. */
  | { type: 'file'; path: string }
  | { type: 'end' }
  | { type: 'run'; argv: string[]; cwd: string; timeoutMs: number; stdin: boolean }
  | { type: 'abort' }
  | { type: 'scan' }
  | { type: 'content'; path: string }
  | { type: 'stored' };

/** What the daemon of a pod sends. */
export type FromPod =
  /** It needs the contents of a mount, each after a `file`, or of the version (`mount` null), all in the order of `contentsOf`. */
  | { type: 'want'; mount: string | null }
  | { type: 'opened' }
  /** The command's output comes before. */
  | { type: 'ran'; end: CommandEnd }
  | { type: 'aborted' }
  /** A manifest with the entries follows (`encodeManifest`). */
  | { type: 'scanned'; notKept: number; isOver: boolean }
  /** After the bytes of a `content`. */
  | { type: 'end' }
  | { type: 'closed' }
  /** The connection ends after it. */
  | { type: 'failed'; message: string };

const MESSAGE = 0;
const BYTES = 1;
const PING = 2;
const HEADER_BYTES = 5;
/** A manifest of an earlier version: 20,000 entries whose links have targets of 4 KiB. */
const MAX_FRAME_BYTES = 128 * MIB;
/** A message is parsed in one piece, and a pod may send anything. */
const MAX_MESSAGE_BYTES = 4 * MIB;
const PING_INTERVAL_MS = 5000;
/** A peer that sends nothing for so long is gone, with its machine or its network. */
const MAX_SILENCE_MS = 30_000;
const END_TIMEOUT_MS = 2000;

/** The peer has ended the connection, or it was lost. */
export class ChannelClosedError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'ChannelClosedError';
  }
}

/**
 * A TCP connection between a worker and the daemon of a sandbox pod. It carries frames: four bytes of length, one of kind, and a
 * message in JSON or plain bytes. The connection is the sandbox: when it ends, the pod ends the command and discards its changes.
 */
export class Channel<Sent extends { type: string }, Received extends { type: string }> {
  readonly #chunks: AsyncIterator<Buffer>;
  readonly #pings: NodeJS.Timeout;
  #rest: Buffer[] = [];
  #restBytes = 0;
  #waitsSince: number | null = null;
  #failure: Error | null = null;
  #next: Promise<Received | Buffer> | null = null;

  constructor(private readonly socket: Socket) {
    socket.setNoDelay(true);
    socket.on('error', (error) => (this.#failure ??= error));
    this.#chunks = socket[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
    this.#pings = setInterval(() => this.#ping(), PING_INTERVAL_MS).unref();
    socket.once('close', () => clearInterval(this.#pings));
  }

  /** Waits until the peer takes more. @throws ChannelClosedError */
  async send(message: Sent): Promise<void> {
    await this.#write(MESSAGE, Buffer.from(JSON.stringify(message)));
  }

  /** @throws ChannelClosedError */
  async sendBytes(bytes: Buffer): Promise<void> {
    if (bytes.length > 0) await this.#write(BYTES, bytes);
  }

  /** The next frame, which stays the next one until it is taken. @throws ChannelClosedError */
  peek(): Promise<Received | Buffer> {
    this.#next ??= this.#read();
    return this.#next;
  }

  /** @throws ChannelClosedError */
  take(): Promise<Received | Buffer> {
    const next = this.peek();
    this.#next = null;
    return next;
  }

  /** Takes a message of this type. @throws ChannelClosedError for any other frame */
  async expect<Type extends Received['type']>(type: Type): Promise<Extract<Received, { type: Type }>> {
    const frame = await this.take();
    if (Buffer.isBuffer(frame) || frame.type !== type) throw this.#unexpected();
    return frame as Extract<Received, { type: Type }>;
  }

  async expectBytes(): Promise<Buffer> {
    const frame = await this.take();
    if (!Buffer.isBuffer(frame)) throw this.#unexpected();
    return frame;
  }

  get isOpen(): boolean {
    return !this.socket.destroyed && this.socket.writable;
  }

  /** Ends the connection after what was sent. What the peer still sends is not read. */
  end(): void {
    this.socket.end();
    setTimeout(() => this.socket.destroy(), END_TIMEOUT_MS).unref();
  }

  destroy(): void {
    this.socket.destroy();
  }

  #unexpected(): ChannelClosedError {
    this.destroy();
    return new ChannelClosedError('the other side of the connection of a sandbox does not keep to the protocol');
  }

  async #write(kind: number, payload: Buffer): Promise<void> {
    const header = Buffer.allocUnsafe(HEADER_BYTES);
    header.writeUInt32BE(payload.length);
    header.writeUInt8(kind, 4);
    this.socket.cork();
    this.socket.write(header);
    const isTaken = this.socket.write(payload);
    this.socket.uncork();
    if (!isTaken && this.isOpen) {
      await new Promise<void>((resolve) => {
        const go = (): void => {
          this.socket.off('drain', go).off('close', go);
          resolve();
        };
        this.socket.on('drain', go).on('close', go);
      });
    }
    if (!this.isOpen) throw this.#closed();
  }

  async #read(): Promise<Received | Buffer> {
    for (;;) {
      const header = await this.#bytes(HEADER_BYTES);
      const [length, kind] = [header.readUInt32BE(), header.readUInt8(4)];
      if (length > (kind === BYTES ? MAX_FRAME_BYTES : MAX_MESSAGE_BYTES)) throw this.#unexpected();
      const payload = await this.#bytes(length);
      if (kind === BYTES) return payload;
      if (kind === MESSAGE) return this.#parse(payload);
      if (kind !== PING) throw this.#unexpected();
    }
  }

  #parse(payload: Buffer): Received {
    try {
      const message: unknown = JSON.parse(payload.toString());
      if (typeof (message as { type?: unknown } | null)?.type === 'string') return message as Received;
    } catch {
      // As any other frame that is no message.
    }
    throw this.#unexpected();
  }

  async #bytes(count: number): Promise<Buffer> {
    while (this.#restBytes < count) {
      this.#waitsSince = performance.now();
      const next = await this.#chunks.next().catch((error: unknown) => {
        throw this.#closed(error);
      });
      this.#waitsSince = null;
      if (next.done === true) throw this.#closed();
      this.#rest.push(next.value);
      this.#restBytes += next.value.length;
    }
    const all = this.#rest.length === 1 ? this.#rest[0]! : Buffer.concat(this.#rest);
    this.#rest = all.length === count ? [] : [all.subarray(count)];
    this.#restBytes = all.length - count;
    return all.subarray(0, count);
  }

  #closed(cause: unknown = this.#failure): ChannelClosedError {
    const reason = cause instanceof Error ? `: ${cause.message}` : '';
    return new ChannelClosedError(`the connection of a sandbox has ended${reason}`, { cause });
  }

  #ping(): void {
    if (this.#waitsSince !== null && performance.now() - this.#waitsSince > MAX_SILENCE_MS) {
      this.socket.destroy(new Error(`nothing came for ${MAX_SILENCE_MS / 1000} s`));
      return;
    }
    // A peer that reads nothing needs no further signs of life.
    if (this.isOpen && this.socket.writableLength === 0) this.socket.write(Buffer.from([0, 0, 0, 0, PING]));
  }
}
