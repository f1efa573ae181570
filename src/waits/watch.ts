import type { Database } from '../db/db.js';
import { runSql, sql } from '../db/sql.js';
import type { UserAnswer } from './answer.js';

/** The channel on which workers receive the ids of questions that are answered. */
export const ANSWER_CHANNEL = 'elicitation_answers';

/** Notifies the workers whose calls wait for these answers. If it is lost, they find the answers within half a minute. */
export async function notifyAnswers(db: Database, answers: UserAnswer[]): Promise<void> {
  const ids = answers.flatMap((answer) =>
    answer.type === 'user.elicitation_result' ? [answer.data.elicitation_id] : [],
  );
  if (ids.length === 0) return;
  await runSql(db, sql`SELECT pg_notify(${ANSWER_CHANNEL}, id) FROM unnest(${ids}::text[]) AS id`).catch(
    () => undefined,
  );
}

/** Notifications that were lost delay an answer for this long. */
const CHECK_INTERVAL_MS = 30_000;
const MAX_TIMER_MS = 2 ** 31 - 1;

/** Which of these questions are closed. */
export async function findClosedQuestions(db: Database, ids: string[]): Promise<string[]> {
  const rows = await runSql<{ id: string }>(
    db,
    sql`SELECT id FROM waits WHERE kind = 'elicitation' AND id = ANY(${ids}::text[]) AND state = 'closed'`,
  );
  return rows.map(({ id }) => id);
}

/**
 * The questions whose answers calls of this process wait for. A notification wakes the call; now and then, one query for all
 * of them finds the answers whose notification was lost.
 */
export class AnswerWatch {
  readonly #watches = new Map<string, Watch>();
  readonly #timer: NodeJS.Timeout;

  constructor(
    private readonly findClosed: (ids: string[]) => Promise<string[]>,
    intervalMs = CHECK_INTERVAL_MS,
  ) {
    this.#timer = setInterval(() => void this.check(), intervalMs).unref();
  }

  /** Begins to listen, so that a notification between a read and `next` is not lost. */
  watch(id: string): Pick<Watch, 'next'> & { close: () => void } {
    const watch = new Watch();
    this.#watches.set(id, watch);
    return { next: (ms, signal) => watch.next(ms, signal), close: () => void this.#watches.delete(id) };
  }

  notify(id: string): void {
    this.#watches.get(id)?.wake();
  }

  /** Notifications may have been lost. */
  async check(): Promise<void> {
    if (this.#watches.size === 0) return;
    const closed = await this.findClosed([...this.#watches.keys()]).catch(() => []);
    for (const id of closed) this.notify(id);
  }

  close(): void {
    clearInterval(this.#timer);
  }
}

class Watch {
  #isDue = false;
  #wake: () => void = () => undefined;

  wake(): void {
    this.#isDue = true;
    this.#wake();
  }

  /** Resolves when the question was notified since the last call, after `ms`, or when the signal aborts. */
  async next(ms: number, signal: AbortSignal): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    await new Promise<void>((resolve) => {
      if (this.#isDue || signal.aborted) return resolve();
      this.#wake = resolve;
      signal.addEventListener('abort', this.#wake, { once: true });
      timer = setTimeout(resolve, Math.min(ms, MAX_TIMER_MS));
    });
    clearTimeout(timer);
    signal.removeEventListener('abort', this.#wake);
    this.#isDue = false;
  }
}
