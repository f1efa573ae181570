import type { Context } from 'koa';
import { ByteBudget } from '../../../src/platform/byte-budget.js';
import { ServiceError } from '../../../src/platform/errors.js';

const MAX_UPLOADS_PER_PROJECT = 8;
const WAIT_TIMEOUT_MS = 30_000;

/**
 * Limits uploads in this process: their number per project, and the total size of temporary files. Further uploads wait
 * unread in the order of arrival.
 */
export class UploadSlots {
  readonly #room: ByteBudget;
  readonly #projects = new Map<string, ByteBudget>();

  constructor(
    maxBytes: number,
    private readonly waitTimeoutMs = WAIT_TIMEOUT_MS,
  ) {
    this.#room = new ByteBudget(maxBytes);
  }

  /**
   * Receives an upload of at most `maxBytes` in a slot of its project.
   * @throws ServiceError `service_unavailable` if no slot is free in time
   */
  async within<T>(ctx: Context, projectId: string, maxBytes: number, receive: () => Promise<T>): Promise<T> {
    const slots = this.#projects.get(projectId) ?? new ByteBudget(MAX_UPLOADS_PER_PROJECT);
    this.#projects.set(projectId, slots);
    const timeout = AbortSignal.timeout(this.waitTimeoutMs);
    try {
      const releaseSlot = await slots.take(1, timeout).catch(tooMany);
      try {
        // Without a Content-Length, reserve the largest allowed size.
        const bytes = Math.min(ctx.request.length ?? maxBytes, maxBytes);
        const releaseRoom = await this.#room.take(bytes, timeout).catch(tooMany);
        try {
          return await receive();
        } finally {
          releaseRoom();
        }
      } finally {
        releaseSlot();
      }
    } finally {
      if (slots.used === 0 && slots.waiting === 0) this.#projects.delete(projectId);
    }
  }
}

function tooMany(): never {
  throw new ServiceError('service_unavailable', 'Too many uploads are under way. Try again.', undefined, {
    Connection: 'close',
  });
}
