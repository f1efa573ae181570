import type { DataSource } from 'typeorm';
import type { Logger } from '../platform/logger.js';
import type { DeltaType } from './schema.js';
import type { Position } from './position.js';

/** The one channel of turn wake-ups. */
export const CHANNEL = 'turn_events';

/** What a notification says. A delta carries itself; a stored event only its turn, session and position. */
export type TurnNotification =
  | { turnId: string; sessionId: string; stored: number }
  | { turnId: string; position: Position; type: DeltaType; messageId: string; content: string; sentAt: number };

const MAX_PER_STATEMENT = 200;

/**
 * Sends wake-ups: outside of any transaction (NOTIFY inside one serialises commits instance-wide), one statement at a
 * time and without a timer window: what arrives while one is under way leaves together with the next.
 */
export class Notifier {
  #queue: string[] = [];
  #sending: Promise<void> | null = null;

  constructor(
    private readonly db: DataSource,
    private readonly log: Logger,
  ) {}

  /** After the commit that stored events of a turn up to `position`. */
  notify(turn: { id: string; session_id: string; position: number }): void {
    this.#push(`${turn.id} ${JSON.stringify([turn.position, turn.session_id])}`);
  }

  /** A delta, live. `content` must be short enough for a payload (see deltas). */
  delta(turnId: string, position: Position, type: DeltaType, messageId: string, content: string): void {
    this.#push(`${turnId} ${JSON.stringify([...position, type, messageId, content, Date.now()])}`);
  }

  /** Resolves when everything given so far has left or was given up. */
  async flush(): Promise<void> {
    while (this.#sending !== null) await this.#sending;
  }

  #push(payload: string): void {
    this.#queue.push(payload);
    this.#sending ??= this.#send();
  }

  async #send(): Promise<void> {
    while (this.#queue.length > 0) {
      const payloads = this.#queue.splice(0, MAX_PER_STATEMENT);
      await this.db
        .query(`SELECT pg_notify('${CHANNEL}', payload) FROM unnest($1::text[]) AS payload`, [payloads])
        // The tables hold the truth and readers poll them: a lost wake-up costs a second, never an event.
        .catch((err: unknown) => this.log.warn({ err }, 'wake-ups of stream readers could not be sent'));
    }
    this.#sending = null;
  }
}

/** Reads a payload of the channel; null for what is none (another version's, say). */
export function parseNotification(payload: string): TurnNotification | null {
  const space = payload.indexOf(' ');
  if (space < 0) return null;
  const turnId = payload.slice(0, space);
  const parts = JSON.parse(payload.slice(space + 1)) as unknown[];
  if (parts.length === 2) return { turnId, stored: parts[0] as number, sessionId: parts[1] as string };
  if (parts.length !== 7) return null;
  const [stored, attempt, delta, type, messageId, content, sentAt] = parts as [
    number,
    number,
    number,
    DeltaType,
    string,
    string,
    number,
  ];
  return { turnId, position: [stored, attempt, delta], type, messageId, content, sentAt };
}

/** The turn a payload is about, without parsing the rest: most are about turns that nobody here watches. */
export function turnOfNotification(payload: string): string {
  return payload.slice(0, payload.indexOf(' '));
}
