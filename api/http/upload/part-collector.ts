import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import type { Stream } from 'node:stream';
import { finished } from 'node:stream/promises';
import { ServiceError, validationError } from '../../../src/platform/errors.js';
import { storageError } from '../../../src/files/storage.js';
import { parsePartDisposition } from './disposition.js';
import { UploadWatch, type UploadPace } from './upload-watch.js';

/** Limit of bytes in addition to the file: other parts, headers and boundaries (contract.md §1 "Uploads"). */
const MAX_OTHER_BYTES = 1024 * 1024;
const FIELD = 'file';

export interface UploadRules extends UploadPace {
  maxBytes: number;
  tooLarge: 'file_too_large' | 'skill_bundle_too_large';
  /** Converts the submitted name to the stored one, or throws, before the content is read. */
  filename?: (submitted: string) => string;
}

/** A completely received file, in its own temporary folder. */
export interface Upload {
  filename: string;
  path: string;
  size: number;
  /** Hexadecimal. */
  sha256: string;
}

/** A part from formidable: an old-style stream. */
export interface Part extends Stream {
  headers: Record<string, string>;
}

/** Receives the parts: the file goes to disk; other parts are only counted. */
export class PartCollector {
  /** Rejects as soon as the body breaks a rule. The rest of the body is ignored. */
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
    // The first 'data' listener starts the flow. This one runs before formidable's, which is attached some ticks later.
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
    // After the parser has processed this chunk, the bytes outside the file are counted.
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
      // formidable calls this from a listener: an exception here would end the process.
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
      // An ended stream emits no 'drain': the paused request would never resume.
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

  /** The file; resolves after the whole body has arrived. */
  async result(): Promise<Upload> {
    this.checkRest();
    await Promise.race([this.refused, this.file === null ? undefined : finished(this.file.stream)]);
    if (this.file === null) throw missingFile();
    return { filename: this.file.filename, path: this.path, size: this.size, sha256: this.hash.digest('hex') };
  }

  /** Deletes the received parts. Later bytes are read and ignored (api/http/core/linger). */
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

export function missingFile(): ServiceError {
  return validationError(`/${FIELD}`, 'must be a file');
}
