import type { DataSource } from 'typeorm';
import type { Logger } from '../platform/logger.js';
import type { Notifier } from '../stream/notify.js';
import type { TurnWorkflows } from '../temporal/turn-workflows.js';

export interface ReconcileDeps {
  db: DataSource;
  notifier: Notifier;
  workflows: TurnWorkflows;
  log: Logger;
  /** Time limit of a turn, not counting its waits for answers. */
  turnTimeoutMs: number;
  /** Counts the repairs by action. */
  count: (action: string) => void;
}
