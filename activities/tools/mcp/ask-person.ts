import { ErrorCode, McpError } from '@modelcontextprotocol/sdk/types.js';
import { closeElicitations, readElicitation, type ElicitationAnswer } from '../../../src/waits/question.js';
import { openElicitation, TooManyQuestionsError } from '../../../src/waits/open-question.js';
import type { AskedQuestion, QuestionHandler } from '../../../src/mcp/questions.js';
import { readQuestion } from '../../../src/mcp/questions.js';
import { newId } from '../../../src/platform/ids.js';
import { actionsAnswered } from '../../../src/platform/metrics.js';
import { TurnEndedError } from '../../../src/turns/errors.js';
import type { CallPlace } from '../../../src/turns/facts.js';
import { serversMayAsk } from '../../../src/sessions/tools.js';
import type { McpToolset } from '../../../src/db/entities/sessions.js';
import type { AnswerWatch } from '../../../src/waits/watch.js';
import type { TurnDeps } from '../../../src/turns/change-turn.js';
import type { Cleaner } from '../../../src/mcp/cleaner.js';
import type { ToolDeps } from '../tool.js';
import { storeWithRetries } from '../../../src/steps/store-with-retries.js';
import type { Retry } from '../tool-kind.js';
import type { CallWait } from './call-wait.js';

export interface AskDeps extends TurnDeps {
  config: ToolDeps['config'];
  answers: AnswerWatch;
}

/** Returns what answers the questions of a server; undefined if the session does not let it ask. */
export type QuestionsOf = (serverId: string, cleaner: Cleaner) => QuestionHandler | undefined;

const CANCEL: ElicitationAnswer = { action: 'cancel' };

/** Answers questions that servers ask during a direct call: asks the person, and waits within the activity. */
export function askPerson(
  deps: AskDeps,
  place: CallPlace,
  toolsets: readonly McpToolset[],
  wait: CallWait,
  cancelled: AbortSignal,
): QuestionsOf {
  const retry: Retry = (work) => storeWithRetries(work, cancelled);
  return (serverId, cleaner): QuestionHandler | undefined => {
    if (!serversMayAsk(toolsets, serverId)) return undefined;
    return async (params, { requestId, signal }) => {
      const question = readQuestion(params, cleaner);
      const leave = wait.ask();
      try {
        const id = await storeQuestion(deps, place, question, requestId, retry);
        if (id === null) return { ...CANCEL };
        const goOn = wait.begin();
        try {
          return { ...(await waitForAnswer(deps, place.turnId, id, signal, retry)) };
        } finally {
          await goOn(cancelled);
        }
      } finally {
        leave();
      }
    };
  };
}

/**
 * Stores a question. Returns null if the turn has ended.
 * @throws McpError -32602, which the server gets, if it has asked too many
 */
export async function storeQuestion(
  deps: AskDeps,
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
  deps: AskDeps,
  turnId: string,
  id: string,
  withdrawn: AbortSignal,
  retry: Retry,
): Promise<ElicitationAnswer> {
  const watch = deps.answers.watch(id);
  try {
    for (;;) {
      const { answer, expiresInMs } = await retry(() => readElicitation(deps.db, id));
      if (answer !== null) return answer;
      const state = withdrawn.aborted ? 'withdrawn' : expiresInMs <= 0 ? 'expired' : null;
      if (state === null) {
        await watch.next(expiresInMs, withdrawn);
        continue;
      }
      const closed = await retry(() => closeElicitations(deps, turnId, { id }, state)).catch((error: unknown) => {
        if (error instanceof TurnEndedError) return 0;
        throw error;
      });
      if (state === 'expired') actionsAnswered.inc({ answer: 'expired' }, closed);
      if (state === 'withdrawn') return CANCEL;
    }
  } finally {
    watch.close();
  }
}
