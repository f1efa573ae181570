import type { NewEvent } from '../../../../src/events/schema.js';
import { isOpen, type TaskState } from '../../../../src/mcp/tasks.js';
import type { OpenTask } from '../../../../src/tasks/task.js';
import type { ReportedState } from '../../../../src/tasks/states.js';

/** decisions.md "Tasks and elicitation": at most one `agent.tool_progress` of a call in this time. A change that is held back is shown later. */
const MIN_EVENT_INTERVAL_MS = 5000;

/**
 * What is stored of the state that a server has reported. Clients see it if status or message have changed, but not the end of
 * the task, which its result shows.
 */
export function reportedState({ index, call, task }: OpenTask, state: TaskState): ReportedState {
  const { status, message, pollMs } = state;
  const isNews = status !== task.shownStatus || message !== task.shownMessage;
  const isShown = isOpen(state) && isNews && (task.shownAgoMs === null || task.shownAgoMs >= MIN_EVENT_INTERVAL_MS);
  const event = {
    type: 'agent.tool_progress',
    data: { tool_use_id: call.toolUseId, name: call.name, status, message },
  } as NewEvent;
  return { index, status, message, pollMs, event: isShown ? event : null };
}
