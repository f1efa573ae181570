import { transaction } from '../../src/db/transaction.js';
import { appendEvents } from '../../src/events/store.js';
import { lockRunningTurn } from '../../src/turns/lock.js';
import type { ActivityDeps } from '../deps.js';
import { beginAttempt, endAttempt } from '../model/attempts.js';
import { modelOf } from '../prompt/build-request.js';
import { callOnce, isTooLong, type CallObserver } from '../model/call-once.js';
import { READ_SHARES, summaryRequests, turnsToCompact } from '../prompt/compaction.js';
import { loadConversation } from '../prompt/conversation.js';
import type { ModelRequest } from '../prompt/request.js';
import { runActivity } from './run-activity.js';
import { loadTurn, type TurnContext } from './turn-context.js';
import type { TurnActivities } from './turn-activities.js';

const noopObserver: CallObserver = { text: () => undefined, thinking: () => undefined, settle: async () => undefined };

/**
 * Summarises older turns of the session by a call of its model, and stores the summary: requests use it from then on,
 * the history that clients read stays complete. Run again after its commit, it finds nothing more to summarise.
 */
export function compactContext(deps: ActivityDeps): TurnActivities['compactContext'] {
  return ({ turnId, step }) =>
    runActivity(deps.log, { turn_id: turnId, step }, async (signal) => {
      const turn = await loadTurn(deps.db, turnId);
      const model = modelOf(deps, turn.modelId);
      const conversation = await loadConversation(deps.db, turn);
      const turns = turnsToCompact(conversation, model.entry.context_window);
      const last = turns.at(-1);
      if (last === undefined) return;

      const summarise = async (request: ModelRequest): Promise<string> => {
        const attempt = await beginAttempt(deps.db, turnId, step);
        const answer = await callOnce(deps, model, request, attempt, noopObserver, signal);
        await endAttempt(deps.db, attempt, { ...answer, firstTokenMs: null }, null);
        return answer.content.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('');
      };
      const summary = await summaryOf((share) => summaryRequests(model, conversation.summary, turns, share), summarise);
      await store(deps, turn, last.number, turns.length, summary);
    });
}

/** Plays the requests of a summary; in smaller pieces where the API finds one too long. */
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

async function store(
  deps: ActivityDeps,
  turn: TurnContext,
  upTo: number,
  count: number,
  summary: string,
): Promise<void> {
  const stored = await transaction(deps.db, async (tx) => {
    const locked = await lockRunningTurn(tx, turn.id);
    const inserted: unknown[] = await tx.query(
      `INSERT INTO compactions (session_id, turn_number, summary) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING RETURNING turn_number`,
      [turn.sessionId, upTo, summary],
    );
    if (inserted.length === 0) return null;
    await appendEvents(tx, locked, [{ type: 'agent.context_compacted', data: { compacted_turns: count } }]);
    return locked;
  });
  if (stored !== null) deps.notifier.notify(stored);
}
