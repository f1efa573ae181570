import type { Database } from '../../src/db/db.js';
import { eventually } from './eventually.js';

/** A kind of statement that Postgres does not carry out until the test lets it. */
export interface HeldStatement {
  /** Waits until one of them has come. */
  reached(): Promise<void>;
  /** Breaks off the connections of those that wait: what they would have written is lost. */
  lose(): Promise<void>;
  /** Carries them out, even if the process that sent them is gone. */
  release(): Promise<void>;
}

const LOCK = 4711;
const WAITING = `SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND objid = ${LOCK} AND NOT granted
  AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`;

/** @param event of a trigger, as `INSERT ON model_steps` */
export async function holdStatement(db: Database, event: string): Promise<HeldStatement> {
  const table = event.split(' ').at(-1)!;
  const holder = db.createQueryRunner();
  await holder.query(`SELECT pg_advisory_lock(${LOCK})`);
  await db.query(`
    CREATE OR REPLACE FUNCTION hold_statement() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN PERFORM pg_advisory_xact_lock_shared(${LOCK}); RETURN NEW; END $$;
    CREATE TRIGGER held BEFORE ${event} FOR EACH ROW EXECUTE FUNCTION hold_statement()`);
  const waiting = (): Promise<{ pid: number }[]> => db.query(WAITING);
  const lose = async (): Promise<void> => {
    await db.query(`SELECT pg_terminate_backend(pid, 10000) FROM (${WAITING}) AS waiting`);
  };
  return {
    reached: () => eventually(`a statement waits: ${event}`, async () => (await waiting()).length > 0),
    lose,
    async release() {
      await holder.query(`SELECT pg_advisory_unlock(${LOCK})`);
      await holder.release();
      await db.query(`DROP TRIGGER held ON ${table}`);
    },
  };
}
