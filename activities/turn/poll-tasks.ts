import { findTurnServers, type TurnServerRow } from '../../src/mcp/user-credentials.js';
import type { McpConnection } from '../../src/mcp/client.js';
import { failureReason } from '../../src/mcp/reasons.js';
import { loadTasks, moveTask, type OpenTask } from '../../src/steps/task-call.js';
import { pollPause, projectPause, untilPoll } from '../../src/steps/task-pauses.js';
import { storeStates } from '../../src/steps/task-states.js';
import { taskPolls } from '../../src/platform/metrics.js';
import { TurnEndedError } from '../../src/turns/errors.js';
import type { ActivityDeps } from '../deps.js';
import { askForState } from '../tools/mcp/ask-task.js';
import { noSlot, taskOpen } from './open-task.js';
import type { PollSlots } from './poll-slots.js';
import { runActivity } from './run-activity.js';
import { reportedState } from './task-progress.js';
import { TaskQuestionBasket } from './task-questions.js';
import type { PolledTasks, TurnActivities } from './turn-activities.js';
import { isOpen, type TaskState } from '../../src/mcp/tasks.js';

/** Tasks of a server that are asked for in parallel. */
const PARALLEL = 16;
/** By how much of itself the pause that keeps a project to its rate is longer now and then. */
const SPREAD = 0.1;

interface Asked {
  one: OpenTask;
  /** What the server reports, also of a task that has ended; null if it is away or does not know the task. */
  state: TaskState | null;
  /** Whether the task needs `pollTask`, and why. */
  reason: keyof PolledTasks | null;
}

/**
 * Asks for the open tasks of one server of a turn (contract.md §11). An attempt asks once for those whose pause is over. If no
 * task needs `pollTask`, it fails with the pause before the next one: meanwhile the activity waits in Temporal.
 */
export function pollTasks(deps: ActivityDeps, slots: PollSlots): TurnActivities['pollTasks'] {
  return ({ turnId, step, indices }) =>
    runActivity(
      deps,
      { turn_id: turnId, step },
      async (signal) => {
        const place = { turnId, step };
        const { turn, tasks, openTasks } = await loadTasks(deps.db, place, indices);
        if (turn.state !== 'running') throw new TurnEndedError(turnId, turn.state);
        const timeoutMs = deps.config.taskTimeoutSeconds * 1000;
        const open = tasks.filter(({ task }) => isOpen(task) && task.ageMs < timeoutMs);
        const asking = open.filter(({ task }) => task.hasQuestions).map(({ index }) => index);
        const ended = indices.filter((index) => !open.some((one) => one.index === index));
        if (asking.length + ended.length > 0) return { asking, ended };

        const waits = new Map(open.map(({ index, task }) => [index, untilPoll(task, openTasks)]));
        const due = open.filter(({ index }) => waits.get(index)! <= 0);
        if (due.length > 0) {
          const asked = await slots.within(turn.projectId, () => askAll(deps, place, due, signal));
          if (asked === null) throw noSlot(openTasks);
          const found = { asking: indicesOf(asked, 'asking'), ended: indicesOf(asked, 'ended') };
          if (found.asking.length + found.ended.length > 0) return found;
          for (const { one, state } of asked) waits.set(one.index, pollPause({ ...one.task, ...state }, openTasks));
        }
        const overdueMs = Math.min(...open.map(({ task }) => timeoutMs - task.ageMs));
        // Tasks whose pauses differ are asked for together all the same, and turns that began together are not.
        const busyMs = projectPause(openTasks) * (1 + SPREAD * Math.random());
        const pauseMs = Math.max(Math.min(...waits.values()), busyMs);
        throw taskOpen(
          Math.min(pauseMs, overdueMs),
          open.length === 1 ? 'The task is open.' : `${open.length} tasks are open.`,
        );
      },
      { isPoll: true },
    );
}

function indicesOf(asked: Asked[], reason: Asked['reason']): number[] {
  return asked.filter((each) => each.reason === reason).map(({ one }) => one.index);
}

/** Asks for tasks and stores what their server reports. Leaves out those that are left when it seems to be away. */
async function askAll(
  deps: ActivityDeps,
  place: { turnId: string; step: number },
  due: OpenTask[],
  signal: AbortSignal,
): Promise<Asked[]> {
  const { serverId } = due[0]!.task;
  const tasks = due.filter(({ task }) => task.serverId === serverId);
  const [server] = await findTurnServers(deps.db, place.turnId, [serverId]);
  if (server === undefined) return tasks.map((one) => ({ one, state: null, reason: 'ended' }));
  const asked: Asked[] = [];
  for (let start = 0; start < tasks.length; start += PARALLEL) {
    const some = tasks.slice(start, start + PARALLEL);
    const answers = await Promise.all(
      some.map((one) => ask(deps, { ...place, index: one.index }, server, one, signal)),
    );
    asked.push(...answers);
    if (answers.every(isAway)) break;
  }
  const known = asked.filter((each) => each.state !== null || isAway(each));
  if (known.length > 0) {
    await storeStates(
      deps,
      place,
      known.map(({ one, state }) => reportedState(one, state ?? one.task)),
    );
  }
  return asked;
}

function isAway({ state, reason }: Asked): boolean {
  return state === null && reason === null;
}

async function ask(
  deps: ActivityDeps,
  place: { turnId: string; step: number; index: number },
  server: TurnServerRow,
  one: OpenTask,
  signal: AbortSignal,
): Promise<Asked> {
  const { task } = one;
  const basket = task.mayAsk ? new TaskQuestionBasket(deps, place, server, signal) : null;
  let connection: McpConnection | undefined;
  const opened = (used: McpConnection): void => void (connection = used);
  try {
    const answer = await askForState(deps, server, task, signal, opened, basket?.onQuestion).catch((error: unknown) => {
      signal.throwIfAborted();
      const reason = failureReason(error);
      deps.log.info({ turn_id: place.turnId, index: place.index, reason }, 'the server of a task is away');
      return null;
    });
    taskPolls.inc({ outcome: answer?.kind ?? 'away' });
    if (answer === null) return { one, state: null, reason: null };
    if (answer.kind === 'unknown') return { one, state: null, reason: 'ended' };
    if (answer.kind === 'ended') return { one, state: { ...answer, pollMs: task.pollMs }, reason: 'ended' };
    if (answer.isNewSession) await moveTask(deps.db, place, connection!.session);
    const asks = basket !== null && (basket.hasQuestions || answer.state.status === 'input_required');
    return { one, state: answer.state, reason: asks ? 'asking' : null };
  } finally {
    await connection?.detach();
  }
}
