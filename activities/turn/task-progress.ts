import type { NewEvent } from '../../src/events/schema.js';
import type { OpenTaskState } from '../../src/mcp/tasks.js';
import { showProgress, updateTask, type CallPlace, type TaskCall, type TaskRow } from '../../src/steps/task-call.js';
import type { TurnDeps } from '../../src/turns/write.js';

/** contract.md §11: at most one `agent.tool_progress` of a call in this time. A change that is held back is shown later. */
const MIN_EVENT_INTERVAL_MS = 5000;

/** Stores the state that a server reported of an open task, and shows it to clients when status or message have changed. */
export async function recordState(
  deps: TurnDeps,
  place: CallPlace,
  { call, task }: TaskCall & { task: TaskRow },
  state: OpenTaskState,
): Promise<void> {
  const { status, message, pollMs } = state;
  const isNews = status !== task.shownStatus || message !== task.shownMessage;
  if (isNews && (task.shownAgoMs === null || task.shownAgoMs >= MIN_EVENT_INTERVAL_MS)) {
    const data = { tool_use_id: call.toolUseId, name: call.name, status, message };
    await showProgress(deps, place, state, { type: 'agent.tool_progress', data } satisfies NewEvent);
  } else if (status !== task.status || message !== task.message || pollMs !== task.pollMs) {
    await updateTask(deps.db, place, state);
  }
}
