import type { Context } from 'koa';
import { ServiceError } from '../../../src/platform/errors.js';
import { MemoryShare } from '../../../src/platform/memory-share.js';
import { MIB } from '../../../src/platform/units.js';
import { MAX_BODY_BYTES } from './json-body.js';
import { waitForRoom } from './wait-for-room.js';

/** Bodies in memory, of all projects. One project can take half of it. */
const MAX_BYTES = 64 * MIB;
const WAIT_TIMEOUT_MS = 30_000;

/** Limits the JSON bodies that this process holds in memory: those that arrive, and those whose requests are being answered. */
export class BodyRoom {
  readonly #room: MemoryShare;

  constructor(
    maxBytes = MAX_BYTES,
    private readonly waitTimeoutMs = WAIT_TIMEOUT_MS,
  ) {
    this.#room = new MemoryShare(maxBytes, Math.ceil(maxBytes / 2));
  }

  /** Waits, with the body unread, until there is room for it. It is held until the response ends. @throws ServiceError `service_unavailable` */
  async enter({ request, res }: Context, projectId: string): Promise<void> {
    // Without a Content-Length, the largest allowed size.
    const bytes = Math.min(request.length ?? MAX_BODY_BYTES, MAX_BODY_BYTES);
    const take = (signal: AbortSignal): Promise<() => void> => this.#room.take(bytes, signal, projectId);
    const release = await waitForRoom(res, this.waitTimeoutMs, take, tooMany);
    if (res.closed) release();
    else res.once('close', release);
  }
}

function tooMany(): ServiceError {
  const message = 'Too many large bodies are under way. Try again.';
  return new ServiceError('service_unavailable', message, undefined, { Connection: 'close' }, 'bodies');
}
