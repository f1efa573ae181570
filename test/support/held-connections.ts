import { asProject } from '../../src/db/project-pool.js';
import type { Database } from '../../src/db/db.js';
import { transaction } from '../../src/db/transaction.js';

/** Transactions of projects that stay open until the test ends them. */
interface Work {
  /** Resolves when the connection is taken. */
  hold(db: Database, projectId: string): Promise<void>;
  /** Ends the oldest one. */
  endOne(): void;
  end(): void;
}

export function startWork(): Work {
  const ends: (() => void)[] = [];
  const endOne = (): void => ends.shift()?.();
  return {
    hold: (db, projectId) =>
      new Promise((held, failed) => {
        const work = (): Promise<void> =>
          transaction(db, async (tx) => {
            await tx.query('SET LOCAL idle_in_transaction_session_timeout = 0');
            await new Promise<void>((end) => {
              ends.push(end);
              held();
            });
          });
        asProject(projectId, work).catch(failed);
      }),
    endOne,
    end() {
      while (ends.length > 0) endOne();
    },
  };
}
