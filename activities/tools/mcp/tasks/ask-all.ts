import { closeElicitations, type TaskQuestions } from '../../../../src/waits/question.js';
import type { McpConnection } from '../../../../src/mcp/client.js';
import { failureReason } from '../../../../src/mcp/reasons.js';
import type { TurnServerRow } from '../../../../src/mcp/user-credentials.js';
import { taskPolls } from '../../../../src/platform/metrics.js';
import { moveTask, pollSoon, type OpenTask } from '../../../../src/tasks/task.js';
import { storeStates } from '../../../../src/tasks/states.js';
import { showAsking } from '../call-wait.js';
import { askForState, type TaskAnswer } from './ask.js';
import type { TaskDeps } from './places.js';
import { reportedState } from './progress.js';
import { deliverAnswers, TaskQuestionBasket } from './questions.js';
import type { TasksTurn } from './read.js';

/** Tasks of a server that are asked for in parallel. */
const PARALLEL = 16;

/** A task that is due, with the questions of its server about it. */
export interface DueTask extends OpenTask {
  questions: TaskQuestions;
}

export interface AskedTask {
  /** In the MCP session that its server knows. */
  one: DueTask;
  /** Null if the server is away. */
  answer: TaskAnswer | null;
  /** The server has got an answer to a question. */
  isAnswered: boolean;
}

/** Open while the server has to be talked to. */
interface Talk extends AskedTask {
  connection: McpConnection | undefined;
  basket: TaskQuestionBasket | null;
}

/**
 * Asks for tasks of a server, stores what it reports, and passes answers and questions on. Leaves out the tasks that are left when the
 * server seems to be away.
 */
export async function askAll(
  deps: TaskDeps,
  turn: TasksTurn,
  server: TurnServerRow,
  due: DueTask[],
  signal: AbortSignal,
): Promise<AskedTask[]> {
  const talks: Talk[] = [];
  try {
    for (const some of chunks(due)) {
      const asked = await allOf(some.map((one) => ask(deps, turn, server, one, signal, talks)));
      if (asked.every(({ answer }) => answer === null)) break;
    }
    await storeAnswers(deps, turn, talks);
    for (const some of chunks(talks)) await allOf(some.map((one) => talk(deps, turn, one, signal)));
    return talks.map(({ one, answer, isAnswered }) => ({ one, answer, isAnswered }));
  } finally {
    await Promise.all(talks.map(async ({ connection }) => connection?.detach()));
  }
}

function chunks<T>(all: T[]): T[][] {
  const parts = Math.ceil(all.length / PARALLEL);
  return Array.from({ length: parts }, (_, part) => all.slice(part * PARALLEL, (part + 1) * PARALLEL));
}

/** As `Promise.all`, but nothing runs any more when it throws. */
async function allOf<T>(work: Promise<T>[]): Promise<T[]> {
  await Promise.allSettled(work);
  return Promise.all(work);
}

async function ask(
  deps: TaskDeps,
  turn: TasksTurn,
  server: TurnServerRow,
  one: DueTask,
  signal: AbortSignal,
  talks: Talk[],
): Promise<Talk> {
  const { task, index } = one;
  const place = { turnId: turn.id, step: turn.step, index };
  const basket = task.mayAsk ? new TaskQuestionBasket(deps, place, server, signal) : null;
  const talk: Talk = { one, answer: null, isAnswered: false, connection: undefined, basket };
  talks.push(talk);
  const opened = (used: McpConnection): void => void (talk.connection = used);
  talk.answer = await orAway(deps, talk, turn, signal, () =>
    askForState(deps, server, task, signal, opened, basket?.onQuestion),
  );
  if (talk.answer !== null) taskPolls.inc({ outcome: talk.answer.kind });
  if (talk.answer !== null && talk.answer.kind !== 'unknown' && talk.answer.isNewSession) {
    const { session } = talk.connection!;
    await moveTask(deps.db, place, session);
    talk.one = { ...one, task: { ...task, session } };
  }
  return talk;
}

/** Stores the states of all tasks together, those of tasks whose server is away as they were. */
async function storeAnswers(deps: TaskDeps, turn: TasksTurn, talks: Talk[]): Promise<void> {
  const states = talks.flatMap(({ one, answer }) => {
    if (answer?.kind === 'unknown') return [];
    if (answer === null) return [reportedState(one, one.task)];
    const state = answer.kind === 'open' ? answer.state : { ...answer, pollMs: one.task.pollMs };
    return [reportedState(one, state)];
  });
  if (states.length > 0) await storeStates(deps, { turnId: turn.id, step: turn.step }, states);
}

/** Passes answers on, closes questions that the server no longer asks, and waits a little for those that it has. */
async function talk(deps: TaskDeps, turn: TasksTurn, about: Talk, signal: AbortSignal): Promise<void> {
  const { one, answer, connection, basket } = about;
  const { questions, index, task } = one;
  if (answer?.kind !== 'open' || connection === undefined) return;
  const place = { turnId: turn.id, step: turn.step, index };
  const { status } = answer.state;
  if (questions.undelivered.length > 0) {
    const delivered = await orAway(deps, about, turn, signal, async () => {
      await deliverAnswers(deps, connection, questions);
      return true;
    });
    about.isAnswered = delivered === true;
    if (!about.isAnswered) return;
    await pollSoon(deps.db, place);
    if (questions.open === 0) void showAsking(deps, place, false);
    return;
  }
  if (status !== 'input_required' && questions.open > 0) {
    await closeElicitations(deps, turn.id, place, 'withdrawn');
    void showAsking(deps, place, false);
  }
  if (status === 'input_required' && questions.open === 0) await basket?.fetch(connection, task.taskId);
}

/** Null if the server is away. */
async function orAway<T>(
  deps: TaskDeps,
  { one }: Talk,
  turn: TasksTurn,
  signal: AbortSignal,
  request: () => Promise<T>,
): Promise<T | null> {
  try {
    return await request();
  } catch (error) {
    signal.throwIfAborted();
    const ids = { turn_id: turn.id, index: one.index };
    deps.log.info({ ...ids, reason: failureReason(error) }, 'the server of a task is away');
    taskPolls.inc({ outcome: 'away' });
    return null;
  }
}
