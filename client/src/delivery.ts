import { ApiError } from './errors.js';
import type { Operations } from './generated/operations.js';
import type { StreamOptions } from './stream.js';
import type { StreamEvent } from './types.js';
import { wait } from './wait.js';

interface Client extends Pick<Operations, 'getEvent' | 'getSession' | 'listQueue'> {
  stream(sessionId: string, options: StreamOptions): AsyncIterable<StreamEvent>;
}

/** How often to look at a queue that is held: nothing starts by itself. */
const HELD_INTERVAL_MS = 2_000;

/**
 * @internal Waits until a message is delivered; returns the turn that has it. While other turns run it reads their
 * streams, otherwise the queue is held, and it asks again after a pause.
 * @throws ApiError `event_not_found` if the message was withdrawn
 */
export async function deliveredTo(
  client: Client,
  sessionId: string,
  messageId: string,
  signal: AbortSignal | undefined,
): Promise<string> {
  const options = signal === undefined ? {} : { signal };
  const turnOfMessage = async (): Promise<string> => (await client.getEvent(sessionId, messageId, options)).turn_id;
  for (;;) {
    const turnId = await turnOfMessage().catch((error: unknown) => {
      if (error instanceof ApiError && error.is('event_not_found')) return null;
      throw error;
    });
    if (turnId !== null) return turnId;
    const { items } = await client.listQueue(sessionId, { limit: 100 }, options);
    // Either it was delivered meanwhile, or it was withdrawn.
    if (!items.some(({ id }) => id === messageId)) return turnOfMessage();
    const { status } = await client.getSession(sessionId, options);
    if (status !== 'RUNNING') await wait(HELD_INTERVAL_MS, signal);
    else if (await appearsIn(client.stream(sessionId, options), messageId)) return turnOfMessage();
  }
}

/** Reads a turn to its end, or to the message. */
async function appearsIn(stream: AsyncIterable<StreamEvent>, messageId: string): Promise<boolean> {
  for await (const event of stream) if ('id' in event && event.id === messageId) return true;
  return false;
}
