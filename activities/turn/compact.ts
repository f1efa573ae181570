import { storeSummary } from '../../src/steps/compaction.js';
import { PendingRequest, type ModelRequest } from '../../src/models/request.js';
import { endModelCall, beginModelCall, type ModelCall, type AttemptId } from '../../src/steps/model-call.js';
import type { ActivityDeps } from '../deps.js';
import { callOnce, isTooLong, type CallObserver } from '../model/call-once.js';
import { READ_SHARES, summaryRequests, turnsToCompact } from '../prompt/compaction.js';
import { TurnEndedError } from '../../src/turns/errors.js';
import { estimateRequest } from '../prompt/tokens.js';
import { BudgetChangedError } from '../../src/sessions/budget.js';
import { CallBudget, withinBudget } from './budget.js';
import { retrySecondsOf, withFallback } from './fall-back.js';
import { endTurnAfterLostWorkers, runActivity } from './run-activity.js';
import { loadSpent } from '../../src/steps/context.js';
import { loadConversation } from '../../src/steps/conversation.js';
import type { TurnActivities } from './turn-activities.js';

/** Clients do not see the summary, but that its model is away. */
function observe(deltas: ActivityDeps['deltas'], call: ModelCall): CallObserver {
  const ofCall = deltas.open(call, () => undefined);
  return {
    text: () => undefined,
    thinking: () => undefined,
    retry: (notice) => deltas.write(ofCall, 'agent.retry.delta', JSON.stringify(notice)),
    flush: () => deltas.flush(),
  };
}

/**
 * Lets the session's model summarise older turns and stores the summary. Later requests use the summary; the history
 * that clients read stays complete. A retry after the commit finds nothing left to summarise.
 */
export function compactContext(deps: ActivityDeps): TurnActivities['compactContext'] {
  return ({ turnId, step }) =>
    runActivity(deps, { turn_id: turnId, step }, async (signal, { id, lostWorkers }) => {
      endTurnAfterLostWorkers(lostWorkers);
      const place = { turnId, step };
      const stopped = await withinBudget(deps, place, () =>
        withFallback(deps, turnId, () => compact(deps, place, id, signal)),
      );
      if (stopped?.kind === 'ended') throw new TurnEndedError(turnId, stopped.state);
      return stopped;
    });
}

async function compact(
  deps: ActivityDeps,
  { turnId, step }: { turnId: string; step: number },
  attempt: AttemptId,
  signal: AbortSignal,
): Promise<undefined> {
  const { turn, conversation } = await loadConversation(deps.db, turnId);
  const model = deps.models.getOrFail(turn.modelId);
  const turns = turnsToCompact(conversation, model.entry.context_window);
  const last = turns.at(-1);
  if (last === undefined) return;

  let { spent } = turn;
  const summarise = async (request: ModelRequest): Promise<string> => {
    const tokens = estimateRequest(request);
    const budget = new CallBudget({ ...turn, spent }, model);
    const maxTokens = Math.min(request.max_tokens, budget.require(tokens));
    const reserve = budget.reserve({ inputTokens: tokens, maxTokens });
    const call = await beginModelCall(deps, turnId, step, attempt, model.called, null, reserve).catch(
      async (error: unknown) => {
        if (!(error instanceof BudgetChangedError)) throw error;
        ({ spent } = await loadSpent(deps.db, turnId));
        return null;
      },
    );
    if (call === null) return summarise(request);
    const answer = await callOnce(
      deps,
      model,
      new PendingRequest({ ...request, max_tokens: maxTokens }, tokens),
      call,
      { ...observe(deps.deltas, call), retrySeconds: retrySecondsOf(deps, turn) },
      signal,
    );
    await endModelCall(deps, call, { ...answer, firstTokenMs: null }, null);
    ({ spent } = await loadSpent(deps.db, turnId));
    return answer.content.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('');
  };
  const summary = await summaryOf(
    (share) => summaryRequests(model.entry, conversation.summary, turns, share),
    summarise,
  );
  await storeSummary(deps, turnId, { upTo: last.number, count: turns.length, summary });
}

/** Sends the requests of a summary; uses smaller pieces if the API rejects one as too long. */
async function summaryOf(
  requestsOf: (readShare: number) => ReturnType<typeof summaryRequests>,
  summarise: (request: ModelRequest) => Promise<string>,
  [share, ...smaller]: readonly number[] = READ_SHARES,
): Promise<string> {
  const requests = requestsOf(share!);
  try {
    let next = requests.next();
    while (next.done !== true) next = requests.next(await summarise(next.value));
    return next.value;
  } catch (error) {
    if (!isTooLong(error) || smaller.length === 0) throw error;
    return summaryOf(requestsOf, summarise, smaller);
  }
}
