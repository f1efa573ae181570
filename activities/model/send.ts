import { AsyncLocalStorage } from 'node:async_hooks';
import { ObjectMissingError, storageError, type Storage } from '../../src/files/storage.js';
import { restoreNumbers } from '../../src/platform/exact-json.js';
import { base64Length, splitAtMedia, type MediaSource } from '../../src/models/media.js';
import type { MemoryShare } from '../../src/platform/memory-share.js';
import { fetchText } from './fetch-text.js';
import { ModelResponse, type Answered } from './model-response.js';

/**
 * `fetch` for requests to a model. `onProgress` runs when the request begins, after each part is sent and with each part of
 * the answer, but not while the request waits for memory.
 */
export type SendRequest = (
  url: string | URL | Request,
  init: RequestInit | undefined,
  onProgress?: () => void,
) => Promise<Response>;

/** The project of the current call. A project may hold only half of the memory for requests. */
const projects = new AsyncLocalStorage<string>();

/** Runs a call of the SDK: the memory that its requests take counts for the project. */
export function withMemoryOf<T>(projectId: string, call: () => Promise<T>): Promise<T> {
  return projects.run(projectId, call);
}

/**
 * Sends requests that contain placeholders for media (src/models/media). The bytes are read from storage piece by piece
 * while the request is sent, so twenty images need the memory of one piece, and encoding megabytes of base64 does not
 * block the event loop. The length is known beforehand, so the request is not chunked.
 */
export function createSend(storage: Storage, memory: MemoryShare): SendRequest {
  return async (url, init, onProgress = () => undefined) => {
    const answered = (answer: Answered): Response => {
      onProgress();
      return new ModelResponse(answer, onProgress) as unknown as Response;
    };
    const text = typeof init?.body === 'string' ? restoreNumbers(init.body) : null;
    const parts = text === null ? [] : splitAtMedia(text);
    if (parts.length <= 1) {
      onProgress();
      const request = text === null ? init : { ...init, body: text };
      return answered(await (typeof url === 'string' ? fetchText(url, request) : fetch(url, request)));
    }
    const length = parts.reduce((sum, part) => sum + lengthOf(part), 0);
    const headers = new Headers(init!.headers);
    headers.set('content-length', String(length));
    const release = await memory.take(length, init!.signal, projects.getStore());
    const body = new RequestBody(parts, storage, onProgress);
    try {
      onProgress();
      return answered(await fetch(url, { ...init, headers, body: body.chunks(), duplex: 'half' }));
    } catch (error) {
      throw body.storageFault ?? error;
    } finally {
      release();
    }
  };
}

class RequestBody {
  /** The error of the storage when it could not read the media. */
  storageFault: Error | null = null;

  constructor(
    private readonly parts: (string | MediaSource)[],
    private readonly storage: Storage,
    private readonly onProgress: () => void,
  ) {}

  async *chunks(): AsyncGenerator<Uint8Array> {
    for (const part of this.parts) {
      if (typeof part === 'string') yield Buffer.from(part);
      else yield* this.#media(part);
      this.onProgress();
    }
  }

  async *#media({ key }: MediaSource): AsyncGenerator<Uint8Array> {
    try {
      for await (const chunk of base64Of(await this.storage.open(key))) {
        yield chunk;
        this.onProgress();
      }
    } catch (error) {
      // The object was deleted after the request was built. The next attempt replaces it with a note for the model.
      this.storageFault = error instanceof ObjectMissingError ? storageError(error) : (error as Error);
      throw error;
    }
  }
}

async function* base64Of(content: AsyncIterable<Buffer>): AsyncGenerator<Uint8Array> {
  let rest: Buffer = Buffer.alloc(0);
  for await (const chunk of content) {
    const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    const end = bytes.length - (bytes.length % 3);
    if (end > 0) yield Buffer.from(bytes.toString('base64', 0, end), 'latin1');
    rest = bytes.subarray(end);
  }
  if (rest.length > 0) yield Buffer.from(rest.toString('base64'), 'latin1');
}

function lengthOf(part: string | MediaSource): number {
  return typeof part === 'string' ? Buffer.byteLength(part) : base64Length(part.bytes);
}
