import type { TurnWorkflows } from '../temporal/turn-workflows.js';
import type { TurnDeps } from '../turns/change-turn.js';

export interface ReconcileDeps extends TurnDeps {
  workflows: TurnWorkflows;
  /** Time limit of a turn, not counting its waits for answers. */
  turnTimeoutMs: number;
  /** Counts the repairs by action. */
  count: (action: string) => void;
}
