import { MIB } from '../platform/units.js';
import type { PastTurn } from './past-turn.js';
import type { ModelCall } from './model-call.js';

/** Estimated memory of all conversations, and of one: a longer one is read again for each step. */
const MAX_BYTES = 32 * MIB;
const MAX_BYTES_OF_ONE = 8 * MIB;
/** An entry that is not used for so long is dropped. */
const IDLE_MS = 10 * 60_000;

/** A conversation as it was read for a model call. Its steps do not change, unless a later call of the turn begins. */
export interface KnownConversation {
  /** The turn of the call is the last one. */
  turns: PastTurn[];
  /** Of the call. */
  messageId: string;
  bytes: number;
}

type CachedConversation = KnownConversation & { idle: NodeJS.Timeout };

/**
 * The conversations for which this process last called a model, so that the next step, or the next turn of the session, reads
 * only what came since. Whether an entry still holds is a condition of the statement that reads (`loadConversation`).
 */
export class ConversationCache {
  /** By session, the most recently used last. */
  readonly #entries = new Map<string, CachedConversation>();
  #bytes = 0;

  find(sessionId: string): KnownConversation | null {
    return this.#entries.get(sessionId) ?? null;
  }

  /** Keeps the conversation of a call that has begun. */
  keep({ sessionId, messageId }: ModelCall, turns: PastTurn[], bytes: number): void {
    this.#remove(sessionId);
    if (bytes > MAX_BYTES_OF_ONE) return;
    const idle = setTimeout(() => this.#remove(sessionId), IDLE_MS).unref();
    this.#entries.set(sessionId, { turns, messageId, bytes, idle });
    this.#bytes += bytes;
    for (const oldest of this.#entries.keys()) {
      if (this.#bytes <= MAX_BYTES) return;
      this.#remove(oldest);
    }
  }

  #remove(sessionId: string): void {
    const entry = this.#entries.get(sessionId);
    if (entry === undefined) return;
    clearTimeout(entry.idle);
    this.#entries.delete(sessionId);
    this.#bytes -= entry.bytes;
  }
}

/** The turns that are known, without those that are summarised by now, and what was read after them. */
export function joinKnown(known: PastTurn[], read: PastTurn[], summarised: number): PastTurn[] {
  const [first, ...rest] = read as [PastTurn, ...PastTurn[]];
  const begun = known.find(({ id }) => id === first.id)?.steps ?? [];
  return [
    ...known.filter(({ number }) => number > summarised && number < first.number),
    { ...first, steps: [...begun, ...first.steps] },
    ...rest,
  ];
}
