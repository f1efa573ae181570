import type { DeltaStore } from '../src/stream/delta-store.js';
import type { Notifier } from '../src/stream/notify.js';
import type { LaunchDeps } from '../src/turns/launch.js';
import type { RunningTurns } from '../src/turns/running-turns.js';
import type { ModelClients } from './model/clients.js';
import type { ToolDeps } from './tools/tool.js';

/** Dependencies of the activities; the worker creates them once. */
export interface ActivityDeps extends ToolDeps {
  deltas: DeltaStore;
  notifier: Notifier;
  /** Starts the workflow of the turn that follows. */
  workflows: LaunchDeps['workflows'];
  models: ModelClients;
  /** The identity in Temporal of the worker that runs the activities. */
  workerId: string;
  /** Aborts the activities of turns that are cancelled. */
  runningTurns: RunningTurns;
}
