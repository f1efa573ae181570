import type { AgentSessionClient } from '../client.js';
import { ConnectionError } from '../errors.js';
import { isTerminal, type StreamEvent } from '../types.js';

/**
 * The events of one turn, from its first to its terminal one, live while it runs. If the stream has moved on to a later
 * turn, the rest comes from the history.
 * @throws ConnectionError if something before the service has ended the stream
 */
async function* eventsOfTurn(
  client: AgentSessionClient,
  sessionId: string,
  turnId: string,
  signal: AbortSignal,
): AsyncGenerator<StreamEvent, void> {
  const seen = new Set<string>();
  for await (const event of client.stream(sessionId, { signal })) {
    if (event.turn_id !== turnId) {
      for await (const stored of client.eachEvent(sessionId, { turn_id: turnId }, { signal })) {
        if (!seen.has(stored.id)) yield stored;
      }
      return;
    }
    if ('id' in event) seen.add(event.id);
    yield event;
    if (isTerminal(event)) return;
  }
  throw new ConnectionError('the stream ended before its turn did');
}

/** How long a wait may be followed by its own answer in a replay. Live, the next event takes a person. */
const REPLAY_MS = 20;

/** @internal Reads the events of a turn one ahead, to see whether a wait is an old one without asking the service. */
export class Lookahead {
  readonly #leave = new AbortController();
  readonly #events: AsyncGenerator<StreamEvent, void>;
  #next: Promise<IteratorResult<StreamEvent, void>> | null = null;

  constructor(client: AgentSessionClient, sessionId: string, turnId: string, signal: AbortSignal) {
    this.#events = eventsOfTurn(client, sessionId, turnId, AbortSignal.any([signal, this.#leave.signal]));
  }

  async next(): Promise<StreamEvent | null> {
    const result = await this.#ahead();
    this.#next = null;
    return result.done === true ? null : result.value;
  }

  /** The next event, if it is here already. */
  async peek(): Promise<StreamEvent | null> {
    let timer: ReturnType<typeof setTimeout>;
    const late = new Promise<null>((resolve) => {
      timer = setTimeout(() => resolve(null), REPLAY_MS);
    });
    const result = await Promise.race([this.#ahead(), late]);
    clearTimeout(timer!);
    return result === null || result.done === true ? null : result.value;
  }

  /** Closes the stream, which may be waiting for its next event. */
  close(): void {
    this.#next?.catch(() => undefined);
    this.#leave.abort();
  }

  #ahead(): Promise<IteratorResult<StreamEvent, void>> {
    this.#next ??= this.#events.next();
    return this.#next;
  }
}
