import type { MaintenanceTask } from '../../workflows/contract.js';

/** What the maintenance workflow can have done. */
export interface MaintenanceActivities {
  /** One bounded step of a task, from where the step before stopped. Running it again does no harm. */
  maintain(input: { task: MaintenanceTask; from: MaintenancePosition | null }): Promise<MaintenanceStep>;
}

export interface MaintenanceStep {
  counts: MaintenanceCounts;
  /** Where the next step goes on; null once everything was looked at. */
  next: MaintenancePosition | null;
}

/** How many items of each kind were removed. */
export type MaintenanceCounts = Record<string, number>;

/** Small facts that mean something to the task alone. */
export type MaintenancePosition = Record<string, string | null>;
