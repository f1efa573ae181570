import { multipart } from 'formidable';
import type Koa from 'koa';
import { koaBody } from 'koa-body';
import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Stream } from 'node:stream';
import { finished } from 'node:stream/promises';
import { ServiceError, validationError } from '../../src/platform/errors.js';
import { storageError } from '../../src/files/storage.js';
import { parsePartDisposition } from './disposition.js';
import { UploadWatch, type UploadPace } from './upload-watch.js';

/** What the body may hold beside the file: other parts, headers, what surrounds the parts (contract.md §1 "Uploads"). */
const MAX_OTHER_BYTES = 1024 * 1024;
const FIELD = 'file';

/** formidable's codes of a body that is broken off or is not the multipart it claims to be. */
const BROKEN_BODY = new Set<unknown>([1002, 1012, 1013, 1014, 'ERR_STREAM_PREMATURE_CLOSE', 'ECONNRESET']);

export interface UploadRules extends UploadPace {
  maxBytes: number;
  tooLarge: 'file_too_large' | 'skill_bundle_too_large';
  /** Turns the submitted name into the kept one, or throws, before the content is read. */
  filename?: (submitted: string) => string;
}

/** A file that arrived whole, in a folder of its own. */
export interface Upload {
  filename: string;
  path: string;
  size: number;
  /** Hexadecimal. */
  sha256: string;
}

/**
 * Receives the one file of a multipart body, in its field `file`, into a temporary file that exists while `use` runs.
 * Every limit cuts off while bytes arrive; nothing is left behind, whatever happens (spec.md "Errors", contract.md §1).
 * @throws ServiceError `unsupported_media_type`, `bad_request`, `validation_error`, the rules' `tooLarge`,
 * `content_too_large`, `request_timeout`
 */
export async function withUpload<T>(
  ctx: Koa.Context,
  rules: UploadRules,
  use: (upload: Upload) => Promise<T>,
): Promise<T> {
  if (!/^multipart\/form-data\s*(;|$)/i.test(ctx.get('content-type'))) {
    throw new ServiceError('unsupported_media_type', 'The body must be multipart/form-data.');
  }
  const folder = await mkdtemp(join(tmpdir(), 'upload-')).catch((error: unknown) => {
    throw storageError(error);
  });
  try {
    return await use(await receive(ctx, rules, join(folder, 'content')));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function receive(ctx: Koa.Context, rules: UploadRules, path: string): Promise<Upload> {
  // No Content-Length and no Transfer-Encoding: there is no body, and nothing would ever end.
  if (ctx.is('multipart/form-data') === null) throw missingFile();
  const collector = new PartCollector(ctx.req, rules, path);
  const parse = koaBody({
    multipart: true,
    json: false,
    urlencoded: false,
    text: false,
    patchKoa: false,
    // Names come as bytes: decoded by formidable, a character cut by a packet's end would be lost.
    formidable: {
      encoding: 'binary',
      enabledPlugins: [withoutFileNames, multipart],
      onPart: (part) => collector.onPart(part as unknown as Part),
    },
  });
  try {
    const received = Promise.all([parse(ctx, () => Promise.resolve()), finished(ctx.req, { writable: false })]);
    await Promise.race([collector.refused, received]);
    return await collector.result();
  } catch (error) {
    await collector.discard();
    throw refusalOf(error);
  } finally {
    collector.stopWatching();
  }
}

/**
 * Keeps formidable from looking for the file name itself: its pattern takes the square of a header's length, over a
 * minute for a megabyte, and its answer is not used (api/http/disposition reads the header).
 */
function withoutFileNames(form: object): void {
  Object.assign(form, { _getFileName: () => null });
}

/** formidable's part: an old-style stream. */
interface Part extends Stream {
  headers: Record<string, string>;
}

/** Takes the parts as they come: the file goes to disk, the rest is only counted. */
class PartCollector {
  /** Rejects as soon as the body breaks a rule; nothing after that matters. */
  readonly refused: Promise<never>;
  private refuse!: (error: unknown) => void;
  private readonly watch: UploadWatch;
  private readonly hash = createHash('sha256');
  private file: { filename: string; stream: ReturnType<typeof createWriteStream> } | null = null;
  private parts = 0;
  private received = 0;
  private size = 0;

  constructor(
    private readonly request: IncomingMessage,
    private readonly rules: UploadRules,
    private readonly path: string,
  ) {
    this.refused = new Promise((_, reject) => (this.refuse = reject));
    this.refused.catch(() => undefined);
    this.watch = new UploadWatch(request, (error) => this.refuse(error), rules);
    // A listener for data starts the flow: this one comes right before formidable's, which is attached ticks later.
    request.on('newListener', this.joinFormidable);
  }

  private readonly joinFormidable = (event: string): void => {
    if (event !== 'data') return;
    this.request.off('newListener', this.joinFormidable);
    this.request.on('data', this.onData);
  };

  private readonly onData = (chunk: Buffer): void => {
    this.watch.arrived(chunk.length);
    this.received += chunk.length;
    // Once the parser has seen this chunk too, what is not the file's is the rest.
    setImmediate(() => this.checkRest());
  };

  private checkRest(): void {
    if (this.received - this.size <= MAX_OTHER_BYTES) return;
    this.refuse(
      new ServiceError('content_too_large', 'The body holds more than 1 MiB beside the file.', {
        max_bytes: MAX_OTHER_BYTES,
      }),
    );
  }

  onPart(part: Part): void {
    this.parts += 1;
    if (this.parts > 1) {
      this.refuse(new ServiceError('bad_request', 'The body must have one part only: the field `file` with one file.'));
      return;
    }
    const disposition = parsePartDisposition(part.headers['content-disposition'] ?? '');
    if (disposition === null) {
      this.refuse(new ServiceError('bad_request', 'The Content-Disposition of a part cannot be read.'));
    } else if (disposition.name === FIELD && disposition.filename !== null) {
      this.startFile(part, disposition.filename);
    }
  }

  private startFile(part: Part, submitted: string): void {
    let filename: string;
    try {
      filename = this.rules.filename?.(submitted) ?? submitted;
    } catch (error) {
      // formidable calls this from a listener: an exception there would end the process.
      this.refuse(error);
      return;
    }
    const stream = createWriteStream(this.path, { flags: 'wx' });
    this.file = { filename, stream };
    stream.on('error', (error) => this.refuse(storageError(error)));
    stream.on('drain', () => {
      this.watch.resumed();
      this.request.resume();
    });
    part.on('data', (chunk: Buffer) => this.write(stream, chunk));
    part.on('end', () => {
      stream.end();
      // An ended stream tells no drain: what was paused for it would wait for ever for the rest of the body.
      this.request.resume();
    });
  }

  private write(stream: ReturnType<typeof createWriteStream>, chunk: Buffer): void {
    this.size += chunk.length;
    if (this.size > this.rules.maxBytes) {
      const { tooLarge, maxBytes } = this.rules;
      this.refuse(new ServiceError(tooLarge, `The file is larger than ${maxBytes} bytes.`, { max_bytes: maxBytes }));
      return;
    }
    this.hash.update(chunk);
    if (stream.write(chunk)) return;
    this.watch.paused();
    this.request.pause();
  }

  /** The file, once the whole body has arrived. */
  async result(): Promise<Upload> {
    this.checkRest();
    await Promise.race([this.refused, this.file === null ? undefined : finished(this.file.stream)]);
    if (this.file === null) throw missingFile();
    return { filename: this.file.filename, path: this.path, size: this.size, sha256: this.hash.digest('hex') };
  }

  /** Drops what arrived; what still comes is read and dropped without a look (api/http/linger). */
  async discard(): Promise<void> {
    this.request.removeAllListeners('data');
    this.request.resume();
    const stream = this.file?.stream;
    if (stream === undefined || stream.closed) return;
    await new Promise<void>((resolve) => stream.once('close', () => resolve()).destroy());
  }

  stopWatching(): void {
    this.watch.stop();
    this.request.off('newListener', this.joinFormidable);
    this.request.off('data', this.onData);
  }
}

function missingFile(): ServiceError {
  return validationError(`/${FIELD}`, 'must be a file');
}

function refusalOf(error: unknown): unknown {
  const { code } = error as { code?: unknown };
  return BROKEN_BODY.has(code)
    ? new ServiceError('bad_request', 'The multipart body is broken or was not sent to its end.')
    : error;
}
