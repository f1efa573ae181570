import type { Message } from '@ag-ui/client';
import type { AgentSessionClient } from '../client.js';
import { SessionClients, type Fork } from '../front-end/sessions.js';
import type { Event } from '../types.js';

/** A turn that the page knows, with its message in the page and the session in which it ran. */
interface KnownTurn {
  messageId: string;
  turnId: string;
  sessionId: string;
  /** The page was shown something of its answer. */
  isAnswered: boolean;
}

/** @internal The session of a thread, which is a copy once messages were cut back, and the turns that its page knows. */
export class Thread {
  sessionId: string;
  readonly #clients: SessionClients;
  #turns: KnownTurn[];

  /** @param known a thread of which this one is a copy */
  constructor(
    private readonly first: AgentSessionClient,
    threadId: string,
    known: Thread | null = null,
  ) {
    this.sessionId = known === null ? threadId : known.sessionId;
    this.#turns = known === null ? [] : known.#turns.map((turn) => ({ ...turn }));
    this.#clients = new SessionClients(first, known === null ? null : known.#clients);
  }

  copy(): Thread {
    return new Thread(this.first, this.sessionId, this);
  }

  get client(): AgentSessionClient {
    return this.#clients.of(this.sessionId);
  }

  /** The page shows the history, and nothing else. */
  show(events: readonly Event[]): void {
    this.#turns = [];
    for (const event of events) {
      if (event.type === 'user.message' && event.delivered_at_step === undefined) this.begin(event.id, event.turn_id);
      else this.answer(event.turn_id);
    }
  }

  begin(messageId: string, turnId: string): void {
    if (this.#turns.some((turn) => turn.turnId === turnId)) return;
    this.#turns.push({ messageId, turnId, sessionId: this.sessionId, isAnswered: false });
  }

  answer(turnId: string): void {
    const turn = this.#turns.find((one) => one.turnId === turnId);
    if (turn !== undefined) turn.isAnswered = true;
  }

  /** The turn of a message that waits for its answer; null for another message. */
  turnOf(messageId: string): string | null {
    return this.#turns.find((turn) => turn.messageId === messageId)?.turnId ?? null;
  }

  /**
   * Goes on in a copy of the session, if the page has cut its messages back: it shows a message without the answer that it was shown, or
   * a new one after others that are fewer than it was shown. Null if it has not.
   */
  async forkAtCut(messages: readonly Message[]): Promise<Fork | null> {
    const ids = new Set(messages.map(({ id }) => id));
    const last = messages.at(-1)!.id;
    const at = this.#turns.findIndex(
      ({ messageId, isAnswered }) => !ids.has(messageId) || (messageId === last && isAnswered),
    );
    const cut = this.#turns[at];
    // A page that shows later messages has only left out older ones.
    if (cut === undefined || this.#turns.slice(at + 1).some(({ messageId }) => ids.has(messageId))) return null;
    const fork = await this.#clients.fork(cut.sessionId, cut.turnId);
    this.sessionId = fork.session.id;
    this.#turns = this.#turns.slice(0, at);
    return fork;
  }
}
