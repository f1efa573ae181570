import type { Database } from '../db/db.js';
import { runSql, sql } from '../db/sql.js';

/** The channel on which workers receive the id of a turn with a cancel request. */
export const CANCEL_CHANNEL = 'turn_cancels';

/**
 * Notifies the workers that run the turn's activities, which abort at once. Otherwise they get the request through
 * Temporal.
 */
export async function notifyCancel(db: Database, turnId: string): Promise<void> {
  await runSql(db, sql`SELECT pg_notify(${CANCEL_CHANNEL}, ${turnId})`);
}

/** The activities that run in this process, by turn: a cancel request aborts those of its turn. */
export class AbortableActivities {
  readonly #controllers = new Map<string, Set<AbortController>>();

  /** Tracks an activity of the turn. The signal aborts when the turn is cancelled. Call `done` when the activity ends. */
  track(turnId: string): { signal: AbortSignal; done: () => void } {
    const controller = new AbortController();
    const controllers = this.#controllers.get(turnId) ?? new Set();
    this.#controllers.set(turnId, controllers.add(controller));
    return {
      signal: controller.signal,
      done: () => {
        controllers.delete(controller);
        if (controllers.size === 0) this.#controllers.delete(turnId);
      },
    };
  }

  cancel(turnId: string): void {
    for (const controller of this.#controllers.get(turnId) ?? []) controller.abort(new Error('the turn is cancelled'));
  }

  /** Cancels turns whose notification was lost while there was no connection. */
  async cancelMissed(db: Database): Promise<void> {
    const ids = [...this.#controllers.keys()];
    if (ids.length === 0) return;
    const rows = await runSql<{ id: string }>(
      db,
      sql`SELECT id FROM turns WHERE id = ANY(${ids}::text[]) AND cancel_requested_at IS NOT NULL`,
    );
    for (const { id } of rows) this.cancel(id);
  }
}
