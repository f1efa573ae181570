import { ErrorCode, McpError } from '@modelcontextprotocol/sdk/types.js';
import { closeElicitations, readElicitation, type ElicitationAnswer } from '../../src/answers/elicitation.js';
import { openElicitation, TooManyQuestionsError } from '../../src/answers/open-elicitation.js';
import type { AskedQuestion, QuestionHandler } from '../../src/mcp/questions.js';
import { readQuestion } from '../../src/mcp/questions.js';
import { newId } from '../../src/platform/ids.js';
import { actionsAnswered } from '../../src/platform/metrics.js';
import { TurnEndedError } from '../../src/turns/turn.js';
import type { CallPlace } from '../../src/steps/task-call.js';
import { mayElicit } from '../../src/sessions/tools.js';
import type { McpToolset } from '../../src/db/entities/sessions.js';
import type { ActivityDeps } from '../deps.js';
import type { QuestionsOf } from '../tools/tool.js';
import { storeWithRetries } from './run-activity.js';
import { showAsking } from './show-asking.js';

/** A lost notification delays an answer for this long. */
const CHECK_INTERVAL_MS = 3000;
const CANCEL: ElicitationAnswer = { action: 'cancel' };

type Retry = <T>(work: () => Promise<T>) => Promise<T>;

/**
 * Answers questions that servers ask during a direct call: asks the person, and waits within the activity. `hold` stops the
 * call's time limit until the returned function runs.
 */
export function askPerson(
  deps: ActivityDeps,
  place: CallPlace,
  toolsets: readonly McpToolset[],
  hold: () => () => void,
  cancelled: AbortSignal,
): QuestionsOf {
  const retry: Retry = (work) => storeWithRetries(work, cancelled);
  let open = 0;
  let shown = Promise.resolve();
  const count = (change: 1 | -1): void => {
    const before = open;
    open += change;
    if (before > 0 !== open > 0) shown = shown.then(() => showAsking(deps, place, open > 0));
  };
  return (serverId, cleaner): QuestionHandler | undefined => {
    if (!mayElicit(toolsets, serverId)) return undefined;
    return async (params, { requestId, signal }) => {
      const id = await storeQuestion(deps, place, readQuestion(params, cleaner), requestId, retry);
      if (id === null) return { ...CANCEL };
      const release = hold();
      count(1);
      try {
        return { ...(await waitForAnswer(deps, place.turnId, id, signal, retry)) };
      } finally {
        release();
        count(-1);
      }
    };
  };
}

/**
 * Stores a question. Returns null if the turn has ended.
 * @throws McpError -32602, which the server gets, if it has asked too many
 */
export async function storeQuestion(
  deps: ActivityDeps,
  place: CallPlace,
  question: AskedQuestion,
  requestId: number | string,
  retry: Retry,
): Promise<string | null> {
  const id = newId('elicitation');
  const asked = { id, ...question, requestId: JSON.stringify(requestId) };
  try {
    await retry(() => openElicitation(deps, place, asked, deps.config.elicitationTimeoutSeconds));
    return id;
  } catch (error) {
    if (error instanceof TooManyQuestionsError) {
      throw new McpError(ErrorCode.InvalidParams, error.message);
    }
    if (error instanceof TurnEndedError) return null;
    throw error;
  }
}

/** Waits until the question is answered, expires, or is withdrawn by its server. */
async function waitForAnswer(
  deps: ActivityDeps,
  turnId: string,
  id: string,
  withdrawn: AbortSignal,
  retry: Retry,
): Promise<ElicitationAnswer> {
  for (;;) {
    const { answer, expiresInMs } = await retry(() => readElicitation(deps.db, id));
    if (answer !== null) return answer;
    const state = withdrawn.aborted ? 'withdrawn' : expiresInMs <= 0 ? 'expired' : null;
    if (state === null) {
      await deps.answers.wait(id, Math.min(expiresInMs, CHECK_INTERVAL_MS), withdrawn);
      continue;
    }
    const closed = await retry(() => closeElicitations(deps, turnId, { id }, state)).catch((error: unknown) => {
      if (error instanceof TurnEndedError) return 0;
      throw error;
    });
    if (state === 'expired') actionsAnswered.inc({ answer: 'expired' }, closed);
    if (state === 'withdrawn') return CANCEL;
  }
}
