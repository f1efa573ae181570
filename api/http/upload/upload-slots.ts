import type { Context } from 'koa';
import { MemoryShare } from '../../../src/platform/memory-share.js';
import { MAX_FILE_BYTES } from '../../../src/files/store.js';
import { FairQueue } from '../../../src/platform/fair-queue.js';
import { ServiceError } from '../../../src/platform/errors.js';

const MAX_UPLOADS_PER_PROJECT = 8;
const WAIT_TIMEOUT_MS = 30_000;

/**
 * Limits uploads in this process: their number per project, and the size of temporary files, of all projects and of one. Further
 * uploads wait unread; the projects that wait take turns.
 */
export class UploadSlots {
  readonly #slots = new FairQueue({ perProject: MAX_UPLOADS_PER_PROJECT });
  readonly #room: MemoryShare;

  constructor(
    maxBytes: number,
    private readonly waitTimeoutMs = WAIT_TIMEOUT_MS,
  ) {
    // Half, but at least the largest file.
    this.#room = new MemoryShare(maxBytes, Math.max(Math.ceil(maxBytes / 2), Math.min(maxBytes, MAX_FILE_BYTES)));
  }

  /**
   * Receives an upload of at most `maxBytes` in a slot of its project.
   * @throws ServiceError `service_unavailable` if no slot is free in time
   */
  async within<T>(ctx: Context, projectId: string, maxBytes: number, receive: () => Promise<T>): Promise<T> {
    const timeout = AbortSignal.timeout(this.waitTimeoutMs);
    await this.#slots.take(projectId, timeout).catch(tooMany);
    try {
      // Without a Content-Length, reserve the largest allowed size.
      const bytes = Math.min(ctx.request.length ?? maxBytes, maxBytes);
      const releaseRoom = await this.#room.take(bytes, timeout, projectId).catch(tooMany);
      try {
        return await receive();
      } finally {
        releaseRoom();
      }
    } finally {
      this.#slots.free(projectId);
    }
  }
}

function tooMany(): never {
  const message = 'Too many uploads are under way. Try again.';
  throw new ServiceError('service_unavailable', message, undefined, { Connection: 'close' }, 'uploads');
}
