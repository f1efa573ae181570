import { setTimeout as sleep } from 'node:timers/promises';
import type { TaskQuestions } from '../../../../src/waits/question.js';
import { isOpen, type OpenTaskState, type TaskStatus } from '../../../../src/mcp/tasks.js';
import { findTurnServers, type TurnServerRow } from '../../../../src/mcp/user-credentials.js';
import { taskPolls } from '../../../../src/platform/metrics.js';
import { loadTasks, type OpenTask, type TaskRow } from '../../../../src/tasks/task.js';
import { FIRST_POLL_MS, pollPause, projectPause, untilPoll } from '../../../../src/tasks/pauses.js';
import { serverRemoved } from '../call.js';
import { overdueTask } from './ask.js';
import { askAll, type AskedTask, type DueTask } from './ask-all.js';
import type { TaskDeps, TaskPlaces } from './places.js';
import { dueQuestions } from './questions.js';
import { Reads } from './reads.js';
import { readResult, storeResult, type TaskEnd, type TasksTurn } from './read.js';
import { busyPause, noPlace, taskOpen } from './task-open.js';

/** By how much of itself the pause that keeps a project to its rate is longer now and then. */
const SPREAD = 0.1;
/** While results are read, the other tasks are asked for at least this often. */
const MAX_PAUSE_MS = 60_000;
const NO_QUESTIONS: TaskQuestions = { open: 0, expiresInMs: null, undelivered: [] };

/** Calls of one step of a turn, whose tasks one server works on. */
export interface PolledCalls {
  turnId: string;
  step: number;
  indices: number[];
}

export interface EndedCalls {
  /** The calls that have a result now. */
  ended: number[];
  /** A task took too long: its server must be asked to cancel it. */
  isOverdue: boolean;
}

/**
 * Asks for the tasks of a server once, and stores the results of those that have ended (decisions.md "Tasks and elicitation"). While results are read it
 * asks for the other tasks again. Then it returns the calls that have a result. If there is none it fails with the pause before the next
 * attempt: meanwhile the activity waits in Temporal.
 */
export async function pollTasks(
  deps: TaskDeps,
  places: TaskPlaces,
  calls: PolledCalls,
  cancelled: AbortSignal,
): Promise<EndedCalls> {
  const stop = new AbortController();
  const poll = new Poll(deps, places, calls, AbortSignal.any([cancelled, stop.signal]));
  try {
    return await poll.run();
  } finally {
    stop.abort(new Error('the poll has ended'));
    await poll.settled();
  }
}

/** What a round has left to do. */
interface Rest {
  pauseMs: number;
  open: number;
  openTasks: number;
  /** No slot was free to ask. */
  isBusy: boolean;
}

class Poll {
  readonly #ended = new Set<number>();
  #isOverdue = false;
  readonly #reads = new Reads();
  /** No slot was free for a result. */
  #isFull = false;

  constructor(
    private readonly deps: TaskDeps,
    private readonly places: TaskPlaces,
    private readonly calls: PolledCalls,
    private readonly signal: AbortSignal,
  ) {}

  async run(): Promise<EndedCalls> {
    for (;;) {
      this.#isFull = false;
      const rest = await this.#round();
      await this.#reads.untilOneOr(Math.min(rest.pauseMs, MAX_PAUSE_MS), this.signal);
      if (this.#reads.isEmpty) return this.#result(rest);
      if (this.#isFull) await sleep(busyPause(rest.openTasks), undefined, { signal: this.signal });
    }
  }

  /** Waits until no result is read any more. */
  settled(): Promise<void> {
    return this.#reads.settled();
  }

  #result({ pauseMs, open, openTasks, isBusy }: Rest): EndedCalls {
    if (this.#ended.size > 0) return { ended: [...this.#ended], isOverdue: this.#isOverdue };
    if (isBusy || this.#isFull) throw noPlace(openTasks);
    throw taskOpen(pauseMs, open === 1 ? 'The task is open.' : `${open} tasks are open.`);
  }

  /** Asks for the tasks that are due, and begins to read the results of those that have ended. */
  async #round(): Promise<Rest> {
    const { deps, signal } = this;
    const { turnId, step, indices } = this.calls;
    const left = indices.filter((index) => !this.#ended.has(index));
    const reading = this.#reads.indices;
    const { turn: row, tasks, done, openTasks } = await loadTasks(deps.db, { turnId, step }, left);
    for (const index of done) this.#ended.add(index);
    const turn = { ...row, step };
    const rest = { pauseMs: MAX_PAUSE_MS, open: 0, openTasks, isBusy: false };
    const idle = await this.#timely(
      turn,
      tasks.filter(({ index }) => !reading.has(index)),
    );
    const server = await this.#serverOf(turn, idle);
    if (server === null) return rest;

    const open = await this.#withQuestions(idle.filter(({ task }) => isOpen(task)));
    const due = open.filter(
      ({ task, questions }) => questions.undelivered.length > 0 || untilPoll(task, openTasks) <= 0,
    );
    const asked =
      due.length === 0
        ? []
        : await this.places.polls.tryWithin(turn.projectId, () => askAll(deps, turn, server, due, signal));
    const known = idle.filter(({ task }) => !isOpen(task)).map((one) => ({ ...one, end: endOf(one.task) }));
    const found = (asked ?? []).flatMap(({ one, answer }) =>
      answer === null || answer.kind === 'open' ? [] : [{ ...one, end: answer }],
    );
    this.#reads.begin([...known, ...found], (one) => this.#read(turn, server, one));
    const pauseMs = asked === null ? busyPause(openTasks) : this.#pauseOf(idle, open, asked, openTasks);
    return { ...rest, pauseMs, open: idle.length, isBusy: asked === null };
  }

  get #timeoutMs(): number {
    return this.deps.config.taskTimeoutSeconds * 1000;
  }

  /** Gives up the tasks that take too long. Returns the others. */
  async #timely(turn: TasksTurn, tasks: OpenTask[]): Promise<OpenTask[]> {
    const isTimely = ({ task }: OpenTask): boolean => task.ageMs < this.#timeoutMs;
    for (const one of tasks.filter((each) => !isTimely(each))) {
      taskPolls.inc({ outcome: 'overdue' });
      const result = overdueTask(one.call.name, this.deps.config.taskTimeoutSeconds);
      await storeResult(this.deps, turn, one, result, this.signal, false);
      this.#ended.add(one.index);
      this.#isOverdue = true;
    }
    return tasks.filter(isTimely);
  }

  /** The server of the tasks; null without any, or if it was removed, which ends them. */
  async #serverOf(turn: TasksTurn, tasks: OpenTask[]): Promise<TurnServerRow | null> {
    const [first] = tasks;
    if (first === undefined) return null;
    const [server] = await findTurnServers(this.deps.db, turn.id, [first.task.serverId]);
    if (server !== undefined) return server;
    for (const one of tasks) {
      await storeResult(this.deps, turn, one, serverRemoved(one.call.name), this.signal);
      this.#ended.add(one.index);
    }
    return null;
  }

  async #withQuestions(tasks: OpenTask[]): Promise<DueTask[]> {
    const { turnId, step } = this.calls;
    const all: DueTask[] = [];
    for (const one of tasks) {
      const place = { turnId, step, index: one.index };
      all.push({ ...one, questions: one.task.hasQuestions ? await dueQuestions(this.deps, place) : NO_QUESTIONS });
    }
    return all;
  }

  async #read(turn: TasksTurn, server: TurnServerRow, { end, ...one }: OpenTask & { end: TaskEnd }): Promise<void> {
    const isRead = await this.places.results.tryWithin(turn.projectId, () =>
      readResult(this.deps, turn, one, server, end, this.signal),
    );
    if (isRead === null) this.#isFull = true;
    else if (isRead) this.#ended.add(one.index);
  }

  /** Until the next task is due. Tasks whose pauses differ are asked for together all the same, and turns that began together are not. */
  #pauseOf(tasks: OpenTask[], open: DueTask[], asked: AskedTask[], openTasks: number): number {
    const answers = new Map(asked.map(({ one, answer }) => [one.index, answer]));
    const waits = tasks.map(({ index, task }) => {
      const answer = answers.get(index);
      if (answer === undefined && isOpen(task)) return untilPoll(task, openTasks);
      return pollPause({ ...task, ...(answer?.kind === 'open' && answer.state) }, openTasks);
    });
    const busyMs = projectPause(openTasks) * (1 + SPREAD * Math.random());
    return Math.min(
      Math.max(Math.min(...waits), busyMs),
      ...tasks.map(({ task }) => this.#timeoutMs - task.ageMs),
      ...open.map(({ questions }) => questions.expiresInMs ?? Infinity),
      asked.some(({ isAnswered }) => isAnswered) ? FIRST_POLL_MS : Infinity,
    );
  }
}

/** How a task has ended that an earlier poll has found ended. */
function endOf({ status, message }: TaskRow): TaskEnd {
  return { kind: 'ended', status: status as Exclude<TaskStatus, OpenTaskState['status']>, message };
}
