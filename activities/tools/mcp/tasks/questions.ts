import {
  closeElicitations,
  markDelivered,
  readTaskQuestions,
  type TaskQuestions,
} from '../../../../src/waits/question.js';
import type { TurnServerRow } from '../../../../src/mcp/user-credentials.js';
import type { McpConnection } from '../../../../src/mcp/client.js';
import { withDeadline } from '../../../../src/mcp/deadline.js';
import { readQuestion, type QuestionHandler } from '../../../../src/mcp/questions.js';
import { getTaskResult } from '../../../../src/mcp/tasks.js';
import { shortLimits } from '../../../../src/mcp/transport/answer-body.js';
import { HttpStatusError } from '../../../../src/mcp/transport/errors.js';
import { actionsAnswered } from '../../../../src/platform/metrics.js';
import type { CallPlace } from '../../../../src/turns/facts.js';
import { storeQuestion } from '../ask-person.js';
import { showAsking } from '../call-wait.js';
import type { TaskDeps } from './places.js';
import { POLL_SECONDS } from './session.js';
import { storeWithRetries } from '../../../../src/steps/store-with-retries.js';

/** After the first question, more may follow at once. */
const GATHER_MS = 300;

/** Closes the questions of a task that were not answered in time. Returns the others, and the answers to pass on. */
export async function dueQuestions(deps: TaskDeps, place: CallPlace): Promise<TaskQuestions> {
  const questions = await readTaskQuestions(deps.db, place);
  if (questions.expiresInMs === null || questions.expiresInMs > 0) return questions;
  const closed = await closeElicitations(deps, place.turnId, { ...place, expired: true }, 'expired');
  actionsAnswered.inc({ answer: 'expired' }, closed);
  return readTaskQuestions(deps.db, place);
}

/** Passes answers on. A server that refuses one no longer waits for it. @throws if the server is away */
export async function deliverAnswers(
  deps: TaskDeps,
  connection: McpConnection,
  { undelivered }: TaskQuestions,
): Promise<void> {
  for (const { id, requestId, answer } of undelivered) {
    await connection.answer(JSON.parse(requestId) as number | string, { ...answer }).catch((error: unknown) => {
      if (!(error instanceof HttpStatusError) || error.status < 400 || error.status >= 500) throw error;
    });
    await markDelivered(deps.db, id);
  }
}

/** Stores what the server of a task asks. The answers go to the server on other connections of the session. */
export class TaskQuestionBasket {
  readonly #first = new AbortController();
  #isShown = false;

  constructor(
    private readonly deps: TaskDeps,
    private readonly place: CallPlace,
    private readonly server: TurnServerRow,
    private readonly cancelled: AbortSignal,
  ) {}

  readonly onQuestion: QuestionHandler = async (params, { requestId }) => {
    const { deps, place } = this;
    const question = readQuestion(params, deps.mcp.cleanerOf(this.server));
    const id = await storeQuestion(deps, place, question, requestId, (work) => storeWithRetries(work, this.cancelled));
    setTimeout(() => this.#first.abort(new Error('a question has come')), GATHER_MS);
    if (id === null) return { action: 'cancel' };
    if (!this.#isShown) void showAsking(deps, place, true);
    this.#isShown = true;
    return new Promise<never>(() => undefined);
  };

  /** True once a question has come. */
  get hasQuestions(): boolean {
    return this.#isShown;
  }

  /**
   * Keeps `tasks/result` open until a question has come, or the task has ended, but not for long. A result is left for the
   * next poll, which limits its memory.
   */
  async fetch(connection: McpConnection, taskId: string): Promise<void> {
    const signal = AbortSignal.any([this.cancelled, this.#first.signal]);
    await withDeadline(POLL_SECONDS, signal, (bounded) =>
      getTaskResult(connection, taskId, bounded, { limits: shortLimits() }),
    ).catch(() => this.cancelled.throwIfAborted());
  }
}
