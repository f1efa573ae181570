import type { DataSource } from 'typeorm';
import { runSql, sql } from '../db/sql.js';
import type { Answer } from './answer.js';

/** The channel on which workers receive the ids of questions that are answered. */
export const ANSWER_CHANNEL = 'elicitation_answers';

/** Notifies the workers whose calls wait for these answers. If it is lost, they find the answers within seconds. */
export async function notifyAnswers(db: DataSource, answers: Answer[]): Promise<void> {
  const ids = answers.flatMap((answer) =>
    answer.type === 'user.elicitation_result' ? [answer.data.elicitation_id] : [],
  );
  if (ids.length === 0) return;
  await runSql(db, sql`SELECT pg_notify(${ANSWER_CHANNEL}, id) FROM unnest(${ids}::text[]) AS id`).catch(
    () => undefined,
  );
}

/** The questions whose answers calls of this process wait for. */
export class AnswerWatch {
  readonly #waiting = new Map<string, () => void>();

  /** Resolves when the question is answered, after `ms`, or when the signal aborts. */
  async wait(id: string, ms: number, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    let timer: NodeJS.Timeout | undefined;
    let done: () => void = () => undefined;
    const woken = new Promise<void>((resolve) => (done = resolve));
    this.#waiting.set(id, done);
    signal.addEventListener('abort', done, { once: true });
    try {
      timer = setTimeout(done, ms);
      await woken;
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      this.#waiting.delete(id);
    }
  }

  notify(id: string): void {
    this.#waiting.get(id)?.();
  }

  /** Notifications may have been lost. */
  notifyAll(): void {
    for (const done of this.#waiting.values()) done();
  }
}
