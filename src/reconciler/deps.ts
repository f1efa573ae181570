import type { DataSource } from 'typeorm';
import type { Logger } from '../platform/logger.js';
import type { Notifier } from '../stream/notify.js';
import type { TurnWorkflows } from '../temporal/turn-workflows.js';

/** What the reconciler works with. */
export interface ReconcileDeps {
  db: DataSource;
  notifier: Notifier;
  workflows: TurnWorkflows;
  log: Logger;
  /** A turn's own limit, without the time it waits for answers. */
  turnTimeoutMs: number;
  /** Counts what the reconciler did, by action. */
  count: (action: string) => void;
}
