import type { Database } from '../db/db.js';
import { runSql, sql } from '../db/sql.js';
import { auditEntries } from '../platform/metrics.js';
import type { Logger } from '../platform/logger.js';
import { entryValues, type AuditEntry } from './write.js';

/** Refusals of a key that the log keeps in an hour. */
const MAX_REFUSALS = 100;
/** How long a process does not ask again for a key whose refusals are no longer written. */
const FULL_MS = 60_000;
const MAX_KEPT = 10_000;

/** A refused request: `details` say what it lacked. */
export type Refusal = Omit<AuditEntry, 'keyId'> & { keyId: string };

/**
 * Writes what keys were refused: at most 100 entries in an hour for each key, the last of which says that there may be more. A
 * refusal changes nothing, so one that cannot be written is a line in the log of the process.
 */
export class RefusalLog {
  /** Until when the refusals of a key are left out. */
  readonly #full = new Map<string, number>();

  constructor(
    private readonly db: Database,
    private readonly log: Logger,
  ) {}

  async write(refusal: Refusal): Promise<void> {
    const { keyId } = refusal;
    if ((this.#full.get(keyId) ?? 0) > Date.now()) return;
    try {
      if (await this.#store(refusal)) auditEntries.inc({ outcome: 'refused' });
      else this.#remember(keyId);
    } catch (err) {
      this.log.warn({ err, key_id: keyId }, 'a refusal was not written to the audit log');
    }
  }

  /** Counts and writes in one statement: the row of the key's count orders refusals at the same moment. */
  async #store(refusal: Refusal): Promise<boolean> {
    const [id, project, action, outcome, source, key, actor, type, resource, session, details, request] = entryValues(
      refusal,
      'refused',
    );
    const last = JSON.stringify({ ...refusal.details, more: true });
    const written = await runSql(
      this.db,
      sql`WITH counted AS (
            INSERT INTO audit_refusals AS r (key_id, since, entries) VALUES (${key}, clock_timestamp(), 1)
            ON CONFLICT (key_id) DO UPDATE SET
              since = CASE WHEN r.since <= excluded.since - interval '1 hour' THEN excluded.since ELSE r.since END,
              entries = CASE WHEN r.since <= excluded.since - interval '1 hour' THEN 1 ELSE r.entries + 1 END
            WHERE r.entries < ${MAX_REFUSALS}::integer OR r.since <= excluded.since - interval '1 hour'
            RETURNING entries)
          SELECT write_audit_entry(${id}, ${project}, ${action}, ${outcome}, ${source}, ${key}, ${actor}, ${type}, ${resource},
            ${session}, CASE WHEN entries = ${MAX_REFUSALS}::integer THEN ${last}::json ELSE ${details}::json END, ${request})
          FROM counted`,
    );
    return written.length > 0;
  }

  #remember(keyId: string): void {
    if (this.#full.size >= MAX_KEPT) this.#full.clear();
    this.#full.set(keyId, Date.now() + FULL_MS);
  }
}
