import type { Context } from 'koa';
import { MemoryShare } from '../../../src/platform/memory-share.js';
import { MAX_FILE_BYTES } from '../../../src/files/store.js';
import { FairQueue } from '../../../src/platform/fair-queue.js';
import { ServiceError } from '../../../src/platform/errors.js';
import { waitForRoom } from '../core/wait-for-room.js';

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
  async within<T>(
    { request, res }: Context,
    projectId: string,
    maxBytes: number,
    receive: () => Promise<T>,
  ): Promise<T> {
    // Without a Content-Length, reserve the largest allowed size.
    const bytes = Math.min(request.length ?? maxBytes, maxBytes);
    const take = (signal: AbortSignal): Promise<() => void> => this.#take(projectId, bytes, signal);
    const release = await waitForRoom(res, this.waitTimeoutMs, take, tooMany);
    try {
      return await receive();
    } finally {
      release();
    }
  }

  /** Waits for a slot and for room. Returns the function that gives both back. @throws the signal's reason */
  async #take(projectId: string, bytes: number, signal: AbortSignal): Promise<() => void> {
    await this.#slots.take(projectId, signal);
    const freeSlot = (): void => this.#slots.free(projectId);
    try {
      const freeRoom = await this.#room.take(bytes, signal, projectId);
      return () => {
        freeRoom();
        freeSlot();
      };
    } catch (error) {
      freeSlot();
      throw error;
    }
  }
}

function tooMany(): ServiceError {
  const message = 'Too many uploads are under way. Try again.';
  return new ServiceError('service_unavailable', message, undefined, { Connection: 'close' }, 'uploads');
}
