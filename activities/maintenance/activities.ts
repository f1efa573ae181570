import type { MaintenanceTask } from '../../workflows/contract.js';

export interface MaintenanceActivities {
  /** Runs one bounded step of a task, from the position of the step before. It is idempotent. */
  maintain(input: { task: MaintenanceTask; from: MaintenancePosition | null }): Promise<MaintenanceStep>;
}

export interface MaintenanceStep {
  counts: MaintenanceCounts;
  /** Start of the next step; null after the last one. */
  next: MaintenancePosition | null;
}

/** How many items of each kind were removed. */
export type MaintenanceCounts = Record<string, number>;

/** Opaque to the workflow; only the task reads it. */
export type MaintenancePosition = Record<string, string | null>;
