import type { DataSource } from 'typeorm';
import type { Notifier } from './notify.js';
import type { DeltaType } from './schema.js';

const FLUSH_MS = 250;
/** JSON writes a character as six bytes at the worst, and a NOTIFY payload takes 8,000. */
const MAX_CHARACTERS = 1200;

interface DeltaRow {
  number: number;
  type: DeltaType;
  content: string;
}

/** The model call whose deltas these are. `position` is the turn's last stored event when it began. */
export interface DeltaSource {
  turnId: string;
  position: number;
  attempt: number;
  messageId: string;
}

/**
 * The deltas of one attempt at a model call: sent live at once, kept for resuming behind it in batches. Calls
 * `onFenced` once the turn has ended or moved on, or another attempt has begun: this writer is then a late one, and stores
 * nothing.
 */
export class DeltaWriter {
  #number = 0;
  #waiting: DeltaRow[] = [];
  #timer: NodeJS.Timeout | null = null;
  #writing: Promise<void> = Promise.resolve();
  #fenced = false;

  constructor(
    private readonly source: DeltaSource,
    private readonly db: DataSource,
    private readonly notifier: Notifier,
    private readonly onFenced: () => void,
  ) {}

  write(type: DeltaType, content: string): void {
    for (const piece of pieces(content)) {
      this.#number += 1;
      const { turnId, position, attempt, messageId } = this.source;
      this.notifier.delta(turnId, [position, attempt, this.#number], type, messageId, piece);
      this.#waiting.push({ number: this.#number, type, content: piece });
    }
    this.#timer ??= setTimeout(() => void this.flush().catch(() => undefined), FLUSH_MS);
  }

  /** Stores what is waiting. Must have succeeded before the events that follow these deltas are stored. */
  async flush(): Promise<void> {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#writing = this.#writing.catch(() => undefined).then(() => this.#store());
    return this.#writing;
  }

  async #store(): Promise<void> {
    // A copy: what arrives during the insert stays for the next batch.
    const rows = [...this.#waiting];
    if (rows.length === 0 || this.#fenced) return;
    const { turnId, position, attempt, messageId } = this.source;
    const stored: unknown[] = await this.db.query(
      `WITH alive AS (
         UPDATE turns SET progress_at = clock_timestamp() WHERE id = $1 AND state = 'running' AND position = $2
           AND NOT EXISTS (SELECT FROM model_attempts WHERE turn_id = $1 AND position = $2 AND attempt > $3)
         RETURNING id),
       kept AS (
         INSERT INTO deltas (turn_id, position, attempt, number, type, message_id, content)
         SELECT $1, $2, $3, d.number, d.type, $4, d.content
         FROM unnest($5::integer[], $6::text[], $7::text[]) AS d(number, type, content), alive
         ON CONFLICT DO NOTHING)
       SELECT id FROM alive`,
      [
        turnId,
        position,
        attempt,
        messageId,
        rows.map((row) => row.number),
        rows.map((row) => row.type),
        rows.map((row) => row.content),
      ],
    );
    // A failed batch stays in place and goes with the next one; a stored one is gone from the front.
    this.#waiting.splice(0, rows.length);
    if (stored.length === 0) {
      this.#fenced = true;
      this.onFenced();
    }
  }
}

function* pieces(content: string): Generator<string> {
  for (let start = 0; start < content.length;) {
    let end = Math.min(start + MAX_CHARACTERS, content.length);
    const last = content.charCodeAt(end - 1);
    if (end < content.length && last >= 0xd800 && last <= 0xdbff) end -= 1;
    yield content.slice(start, end);
    start = end;
  }
}
