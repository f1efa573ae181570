import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { Writable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { ServiceError, validationError } from '../../../src/platform/errors.js';
import { storageError } from '../../../src/files/storage.js';
import { MultipartParser } from './multipart-parser.js';
import { readPartHeader } from './part-header.js';
import { BodyWatch, type BodyPace } from '../core/body-watch.js';
import { MIB } from '../../../src/platform/units.js';
import { ignored } from '../../../src/platform/ignored.js';

/** Limit of bytes in addition to the file: other parts, headers and boundaries (docs/decisions.md "HTTP", "Uploads"). */
const MAX_OTHER_BYTES = MIB;
const FIELD = 'file';

export interface UploadRules extends BodyPace {
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

/** Receives the parts: the file goes to disk; other parts are only counted. */
export class PartCollector {
  /** Rejects as soon as the body breaks a rule. The rest of the body is ignored. */
  readonly refused: Promise<never>;
  private reject!: (error: unknown) => void;
  private readonly watch: BodyWatch;
  readonly parser: Writable;
  private readonly parts: MultipartParser;
  private isOver = false;
  private readonly hash = createHash('sha256');
  private file: { filename: string; stream: ReturnType<typeof createWriteStream> } | null = null;
  private isInFile = false;
  private partCount = 0;
  private received = 0;
  private size = 0;

  constructor(
    private readonly request: IncomingMessage,
    boundary: string,
    private readonly rules: UploadRules,
    private readonly path: string,
  ) {
    this.refused = new Promise((_, reject) => (this.reject = reject));
    this.refused.catch(ignored('who waits for the parts has the error'));
    this.parts = new MultipartParser(boundary, {
      onHeader: (header) => this.onHeader(header),
      onContent: (content) => this.isInFile && this.write(this.file!.stream, content),
      onEnd: () => this.endFile(),
    });
    this.watch = new BodyWatch(request, (error) => this.refuse(error), rules);
    this.parser = new Writable({
      write: (chunk: Buffer, _, done) => {
        this.take(chunk);
        done();
      },
    });
  }

  private take(chunk: Buffer): void {
    if (this.isOver) return;
    this.watch.arrived(chunk.length);
    this.received += chunk.length;
    try {
      this.parts.push(chunk);
      this.checkRest();
    } catch (error) {
      this.refuse(error);
    }
  }

  private refuse(error: unknown): void {
    this.isOver = true;
    this.reject(error);
  }

  private checkRest(): void {
    if (this.received - this.size <= MAX_OTHER_BYTES) return;
    throw new ServiceError('content_too_large', 'The body has more than 1 MiB besides the file.', {
      max_bytes: MAX_OTHER_BYTES,
    });
  }

  private onHeader(header: string): void {
    this.partCount += 1;
    if (this.partCount > 1) {
      throw new ServiceError('bad_request', 'The body must have one part only: the field `file` with one file.');
    }
    const { name, filename } = readPartHeader(header);
    if (name === FIELD && filename !== null) this.startFile(this.rules.filename?.(filename) ?? filename);
  }

  private startFile(filename: string): void {
    const stream = createWriteStream(this.path, { flags: 'wx' });
    this.file = { filename, stream };
    this.isInFile = true;
    stream.on('error', (error) => this.refuse(storageError(error)));
    stream.on('drain', () => {
      this.watch.resumed();
      this.request.resume();
    });
  }

  private write(stream: ReturnType<typeof createWriteStream>, chunk: Buffer): void {
    this.size += chunk.length;
    if (this.size > this.rules.maxBytes) {
      const { tooLarge, maxBytes } = this.rules;
      throw new ServiceError(tooLarge, `The file is larger than ${maxBytes} bytes.`, { max_bytes: maxBytes });
    }
    this.hash.update(chunk);
    if (stream.write(chunk)) return;
    this.watch.paused();
    this.request.pause();
  }

  private endFile(): void {
    this.isInFile = false;
    this.file?.stream.end();
    // An ended stream emits no 'drain': the paused request would never resume.
    this.request.resume();
  }

  /** The file. Call it when the whole body has arrived. */
  async result(): Promise<Upload> {
    if (this.received === 0) throw missingFile();
    this.parts.end();
    if (this.file === null) throw missingFile();
    await Promise.race([this.refused, finished(this.file.stream)]);
    return { filename: this.file.filename, path: this.path, size: this.size, sha256: this.hash.digest('hex') };
  }

  /** Deletes the received parts. Later bytes are read and ignored (api/http/core/linger). */
  async discard(): Promise<void> {
    this.stop();
    this.request.resume();
    const stream = this.file?.stream;
    if (stream === undefined || stream.closed) return;
    await new Promise<void>((resolve) => stream.once('close', () => resolve()).destroy());
  }

  stop(): void {
    this.watch.stop();
    this.isOver = true;
  }
}

export function missingFile(): ServiceError {
  return validationError(`/${FIELD}`, `is missing: the body needs a part with the name ${FIELD} and a filename`);
}
