import { createAuditPartitions, dropOldAuditPartitions, forgetRefusalCounts } from '../../src/audit/partitions.js';
import { forgetErasedUsers } from '../../src/erasures/store.js';
import { transaction } from '../../src/db/transaction.js';
import type { Database } from '../../src/db/db.js';
import type { Config } from '../../src/platform/config.js';
import { cleanStorage, type CleanPosition } from '../../src/files/maintenance.js';
import type { Storage } from '../../src/files/storage.js';
import type { Logger } from '../../src/platform/logger.js';
import { forgetOldAnswers } from '../../src/projects/idempotency.js';
import { forgetOldVersions } from '../../src/memories/store.js';
import { deleteOldRuns } from '../../src/schedules/runs.js';
import { expireSessions, purgeSessions } from '../../src/sessions/purge.js';
import { deleteOldDeliveries } from '../../src/webhooks/deliveries.js';
import { forgetOldMetadata, sumUp } from '../../src/turns/usage-sums.js';
import type { MaintenanceTask } from '../../workflows/contract.js';
import type { MaintenanceCounts, MaintenancePosition, MaintenanceStep } from './activities.js';

export interface MaintenanceDeps {
  config: Pick<Config, 'retentionDays' | 'usageMetadataDays' | 'auditLogDays' | 'memoryVersionDays'>;
  db: Database;
  log: Logger;
  storage: Storage;
}

const BATCH = 1000;
/** Rows that add to the same sums are cheap. */
const SUMMED_BATCH = 5000;
const OBJECTS_KEPT_SECONDS = 86_400;

type Task = (deps: MaintenanceDeps, from: MaintenancePosition | null) => Promise<MaintenanceStep>;

export const TASKS: Readonly<Record<MaintenanceTask, Task>> = {
  /** Deletes sessions that were idle for RETENTION_DAYS, as a DELETE request does; `purge-sessions` removes their rows. */
  async retention({ config, db }) {
    if (config.retentionDays === null) return { counts: {}, next: null };
    return whileFull({ sessions: await expireSessions(db, config.retentionDays, BATCH) });
  },

  /** Removes deleted sessions with their turns and events; files stay and keep their `session_id`. */
  async 'purge-sessions'({ db }) {
    const counts = await purgeSessions(db, BATCH);
    return { counts, next: counts.turns + counts.sessions > 0 ? {} : null };
  },

  /** Idempotency records older than their 24 h. */
  async 'idempotency-records'({ db }) {
    return whileFull({ records: await forgetOldAnswers(db, BATCH) });
  },

  /** Webhook deliveries older than 30 days. */
  async 'webhook-deliveries'({ db }) {
    return whileFull({ deliveries: await deleteOldDeliveries(db, BATCH) });
  },

  /** Runs of schedules older than 30 days, and schedules deleted for as long. */
  async 'schedule-runs'({ db }) {
    return whileFull(await deleteOldRuns(db, BATCH));
  },

  /** Versions of memories older than MEMORY_VERSION_DAYS. The present texts of files stay. */
  async 'memory-versions'({ config, db }) {
    return whileFull({
      versions: await transaction(db, (tx) => forgetOldVersions(tx, config.memoryVersionDays, BATCH)),
    });
  },

  /** The users whom erasures named that ended 30 days ago. */
  async erasures({ db }) {
    return whileFull({ users: await forgetErasedUsers(db, BATCH) });
  },

  /** Adds the usage of turns to the sums of GET usage, and forgets the metadata of turns that ended long ago. */
  async usage({ config, db }) {
    const forgotten = await forgetOldMetadata(db, config.usageMetadataDays, BATCH);
    const summed = await sumUp(db, SUMMED_BATCH);
    return { counts: { summed, forgotten }, next: forgotten === BATCH || summed === SUMMED_BATCH ? {} : null };
  },

  /** Months of the audit log older than AUDIT_LOG_DAYS; the months to come get their partitions. */
  async 'audit-log'({ config, db }) {
    await createAuditPartitions(db);
    const months = await dropOldAuditPartitions(db, config.auditLogDays);
    return whileFull({ months, refusals: await forgetRefusalCounts(db, BATCH) });
  },

  /** Objects without a row, deletions that stopped half-way, rows whose object is lost. */
  async storage({ db, storage }, from) {
    const position = from as CleanPosition | null;
    const { next, ...counts } = await cleanStorage(db, storage, {
      olderThanSeconds: OBJECTS_KEPT_SECONDS,
      limit: BATCH,
      from: position,
    });
    return { counts: { ...counts }, next: next as MaintenancePosition | null };
  },
};

/** Asks for another step as long as any count reaches the batch size. */
function whileFull(counts: MaintenanceCounts): MaintenanceStep {
  return { counts, next: Object.values(counts).some((count) => count >= BATCH) ? {} : null };
}
