import { exactText } from '../../src/platform/exact-json.js';
import type { DescribedWorkflow } from '../../src/temporal/describe-workflow.js';
import { timelineLines } from './timeline.js';
import type {
  ChildRow,
  EventRow,
  ModelCallRow,
  QuestionRow,
  ShownTurn,
  TaskRow,
  ToolCallRow,
  WaitingRow,
  WaitRow,
  WorkerRow,
} from './read.js';

/** The text of `turn show`: a section for each source of facts. Content is left out unless it is asked for. */
export function formatTurn(turn: ShownTurn, workflow: DescribedWorkflow, withContent: boolean): string {
  const shown = (content: unknown): string => (withContent ? `  ${exactText(content)}` : '');
  const sections: [string, string[]][] = [
    ['Turn', fieldsOf({ ...turn.row, error: turn.error && turn.error.type + shown(turn.error.message) })],
    ['Time line', timelineLines(turn.timeline, turn.times)],
    ['Waits for', turn.waits.map(waitLine)],
    ['Messages that wait', turn.waitingMessages.map(waitingLine)],
    ['Model calls', turn.modelCalls.map((call) => modelCallLine(call) + (call.error ? shown(call.error.message) : ''))],
    ['Tool calls', turn.toolCalls.map((call) => toolCallLine(call) + shown(call.input))],
    ['Tasks', turn.tasks.map((task) => taskLine(task) + shown({ task_id: task.task_id, message: task.message }))],
    ['Child turns', turn.children.map(childLine)],
    ['Questions', turn.questions.map((one) => questionLine(one) + shown({ message: one.message, url: one.url }))],
    ['Events', turn.events.map((event) => eventLine(event) + shown(event.data))],
    ['Workflow', workflowLines(workflow)],
    ['Workers that have it now', turn.workers.map(workerLine)],
  ];
  return sections
    .map(([title, lines]) => `${title}\n${(lines.length > 0 ? lines : ['none']).map((line) => `  ${line}\n`).join('')}`)
    .join('\n');
}

function fieldsOf(fields: object): string[] {
  const known = Object.entries(fields).filter(([, value]) => value !== null);
  const width = Math.max(...known.map(([name]) => name.length));
  return known.map(([name, value]) => `${name.padEnd(width)}  ${value as string}`);
}

function modelCallLine({ step, message_id, worker_id, started_at, ended_at, error }: ModelCallRow): string {
  const outcome = error === null ? (ended_at === null ? 'under way, or lost' : 'ended') : error.type;
  const status = error?.status === undefined ? null : `HTTP ${error.status}`;
  return join(`step ${step}`, message_id, span(started_at, ended_at), outcome, status, worker_id);
}

function waitLine({ what, step, index, since, expires_at }: WaitRow): string {
  const place = index === null ? `step ${step}` : `step ${step}.${index}`;
  return join(what, place, `since ${since}`, expires_at && `expires ${expires_at}`);
}

function waitingLine({ state, count, oldest_at }: WaitingRow): string {
  const goal = state === 'steering' ? 'for the next model call' : 'for later turns';
  return join(`${count} ${goal}`, `the oldest since ${oldest_at}`);
}

function toolCallLine(call: ToolCallRow): string {
  const { step, index, tool_use_id, name, state, action, is_error, worker_id, started_at, ended_at } = call;
  const answer = action === null ? null : `answer ${action}`;
  const outcome = is_error === true ? `${state} (error)` : state;
  return join(
    `step ${step}.${index}`,
    tool_use_id,
    name ?? '(unknown)',
    span(started_at, ended_at),
    outcome,
    answer,
    worker_id,
  );
}

function taskLine(task: TaskRow): string {
  const { step, index, server_id, status, poll_ms, created_at, ended_at, cancelled_at } = task;
  const outcome = cancelled_at !== null ? 'cancelled by the service' : ended_at !== null ? 'result stored' : 'open';
  const polls = ended_at === null && cancelled_at === null ? `asked for every ${poll_ms / 1000} s` : null;
  return join(
    `step ${step}.${index}`,
    server_id,
    span(created_at, ended_at ?? cancelled_at),
    `server says ${status}`,
    outcome,
    polls,
  );
}

function childLine(child: ChildRow): string {
  const { step, index, agent_id, agent_version, session_id, turn_id, state, created_at, ended_at } = child;
  const agent = `${agent_id}@${agent_version}`;
  return join(`step ${step}.${index}`, turn_id, session_id, agent, span(created_at, ended_at), state);
}

function questionLine({ step, index, id, mode, state, asked_at, expires_at, delivered_at }: QuestionRow): string {
  return join(
    `step ${step}.${index}`,
    id,
    mode,
    asked_at,
    state,
    state === 'open' ? `expires ${expires_at}` : null,
    delivered_at && `delivered ${delivered_at}`,
  );
}

function eventLine({ position, type, created_at }: EventRow): string {
  return join(String(position).padStart(4), created_at, type);
}

function workflowLines(workflow: DescribedWorkflow): string[] {
  if ('error' in workflow) return [workflow.error];
  const { activities, ...facts } = workflow;
  return [
    ...fieldsOf(facts),
    ...activities.map(({ id, type, state, attempt, worker, lastFailure }) =>
      join(`activity ${id}`, type, state, `attempt ${attempt}`, worker, lastFailure && `last failure ${lastFailure}`),
    ),
  ];
}

function workerLine({ id, until, is_draining, dead_at }: WorkerRow): string {
  const lease = dead_at === null ? `lease until ${until}` : `dead since ${dead_at}`;
  return join(id, lease, is_draining ? 'drains' : null);
}

function span(from: string | null, to: string | null): string | null {
  return from === null ? null : `${from} … ${to ?? ''}`.trimEnd();
}

function join(...parts: (string | null)[]): string {
  return parts.filter((part) => part !== null && part !== '').join('  ');
}
