import { isDeepStrictEqual } from 'node:util';
import type { EntityManager } from 'typeorm';
import { rawSql, runSql, sql } from '../db/sql.js';
import type { Db } from '../db/transaction.js';
import type { NewEvent } from '../events/schema.js';
import { insertEvents, newEvents, type EventRow } from '../events/store.js';
import { ServiceError, validationError } from '../platform/errors.js';
import { openActionsOf, type ActionKind, type RequiredAction } from '../sessions/required-actions.js';
import { findOtherCalls, loadActions, type Action, type ActionState } from './actions.js';
import { stopClock } from '../turns/totals.js';
import { OvertakenError, TurnEndedError } from '../turns/turn.js';
import { changeTurn, running, type TurnDeps, type TurnWrite } from '../turns/write.js';

/** An answer as stored. */
export type Answer = Extract<NewEvent, { type: 'user.tool_confirmation' | 'user.custom_tool_result' }>;

const KIND_OF: Record<Answer['type'], ActionKind> = {
  'user.tool_confirmation': 'tool_confirmation',
  'user.custom_tool_result': 'custom_tool_result',
};

interface StoredAnswers {
  /** The events, one per answer, in order. */
  events: EventRow[];
  /** The turn whose workflow must read the answers; null if all of them were stored before. */
  turnId: string | null;
  /** The answers that this request stored. */
  stored: Answer[];
}

/**
 * Stores answers to calls of a session: all or none. The turn's row is locked while this decides whether a call is
 * open, so answers, cancel requests and expiries exclude each other. `record` runs in the same transaction.
 * @throws ServiceError tool_use_not_found, validation_error, tool_use_not_pending
 */
export async function storeAnswers(
  deps: TurnDeps,
  sessionId: string,
  answers: Answer[],
  record: (db: Db, events: EventRow[]) => Promise<void>,
): Promise<StoredAnswers> {
  const ids = [...new Set(answers.map(({ data }) => data.tool_use_id))];
  const actions = await loadActions(deps.db, sessionId, ids);
  await requireFitting(deps.db, sessionId, answers, actions);
  const open = selectNew(answers, actions)[0];
  if (open === undefined) {
    const events = answers.map(({ data }) => actions.get(data.tool_use_id)!.answer!);
    await record(deps.db, events);
    return { events, turnId: null, stored: [] };
  }
  const turnId = actions.get(open.data.tool_use_id)!.turn_id;
  try {
    return await changeTurn(deps, turnId, async ({ tx, lock, write }) => {
      const turn = await lock(running(turnId));
      const locked = await loadActions(tx, sessionId, ids);
      const fresh = selectNew(answers, locked);
      if (turn.cancel_requested_at !== null) throw notPending(open.data.tool_use_id, 'cancelled');
      await closeActions(tx, turnId, turn.position, fresh, locked);
      const written = await write(answersWrite(turnId, [...fresh, ...(await askAgain(tx, turnId))]));
      const added = new Map(fresh.map(({ data }, n) => [data.tool_use_id, written.events[n]!]));
      const events = answers.map(({ data: { tool_use_id: id } }) => added.get(id) ?? locked.get(id)!.answer!);
      await record(tx, events);
      return { events, turnId, stored: fresh };
    });
  } catch (error) {
    // The turn has ended since its actions were read, so they are cancelled now.
    if (error instanceof TurnEndedError) return storeAnswers(deps, sessionId, answers, record);
    throw error;
  }
}

async function askAgain(tx: EntityManager, turnId: string): Promise<NewEvent[]> {
  const [left] = await runSql<{ actions: RequiredAction[] }>(
    tx,
    sql`SELECT ${rawSql(openActionsOf('turns.id'))} AS actions FROM turns WHERE id = ${turnId}`,
  );
  const { actions } = left!;
  return actions.length === 0 ? [] : [{ type: 'agent.requires_action', data: { required_actions: actions } }];
}

function answersWrite(turnId: string, newOnes: NewEvent[]): TurnWrite {
  const events = newEvents(newOnes);
  const statement = sql`
    WITH turn AS MATERIALIZED (
        SELECT id FROM turns WHERE ${running(turnId)} FOR NO KEY UPDATE),
      now AS MATERIALIZED (SELECT id, clock_timestamp() AS at FROM turn),
      written AS (
        UPDATE turns SET position = turns.position + ${events.length}::integer, progress_at = now.at,
          ${stopClock('waiting', sql`now.at`)}
        FROM now WHERE turns.id = now.id
        RETURNING turns.id, session_id, number, state, position, at),
      ${insertEvents(sql`written`, events)}
    SELECT session_id, state, position, at FROM written`;
  return { statement, events };
}

async function requireFitting(
  db: Db,
  sessionId: string,
  answers: Answer[],
  actions: Map<string, Action>,
): Promise<void> {
  const missing = answers.map(({ data }) => data.tool_use_id).filter((id) => !actions.has(id));
  const others = missing.length === 0 ? new Set<string>() : await findOtherCalls(db, sessionId, missing);
  const unknown = [...new Set(missing.filter((id) => !others.has(id)))];
  if (unknown.length > 0) {
    throw new ServiceError('tool_use_not_found', `The session has no call ${unknown.join(', ')}.`, {
      tool_use_ids: unknown,
    });
  }
  for (const [index, { type, data }] of answers.entries()) {
    const needed = actions.get(data.tool_use_id)?.kind ?? 'tool_confirmation';
    if (KIND_OF[type] !== needed)
      throw validationError(`/events/${index}/type`, `must be user.${needed} for this call`);
  }
  if (missing.length > 0) throw notPending(missing[0]!, 'not_required');
}

/**
 * Filters out answers that are stored already; a repetition is a success.
 * @throws ServiceError tool_use_not_pending for an answer to a call that is not open
 */
function selectNew(answers: Answer[], actions: Map<string, Action>): Answer[] {
  const chosen = new Map<string, Answer>();
  for (const answer of answers) {
    const id = answer.data.tool_use_id;
    const action = actions.get(id)!;
    const earlier = chosen.get(id);
    if (earlier !== undefined) {
      if (isSameAnswer(earlier.data, answer.data)) continue;
      throw notPending(id, stateAfter(earlier));
    }
    const isRepeat =
      action.answer !== null && isSameAnswer(JSON.parse(action.answer.data) as Answer['data'], answer.data);
    if (isRepeat) continue;
    if (action.state !== 'open') throw notPending(id, action.state === 'planned' ? 'not_asked' : action.state);
    chosen.set(id, answer);
  }
  return [...chosen.values()];
}

/** Who decided makes no other answer of it. */
function isSameAnswer({ actor: _, ...one }: Answer['data'], { actor: __, ...other }: Answer['data']): boolean {
  return isDeepStrictEqual(one, other);
}

function stateAfter({ type, data }: Answer): 'answered' | 'allowed' | 'denied' {
  if (type === 'user.custom_tool_result') return 'answered';
  return data.result === 'allow' ? 'allowed' : 'denied';
}

async function closeActions(
  tx: EntityManager,
  turnId: string,
  position: number,
  answers: Answer[],
  actions: Map<string, Action>,
): Promise<void> {
  const rows = answers.map((answer) => actions.get(answer.data.tool_use_id)!);
  const closed = await runSql<unknown>(
    tx,
    sql`WITH answer AS (
          SELECT step, index, state, ${position}::integer + n AS position
          FROM unnest(${rows.map(({ step }) => step)}::integer[], ${rows.map(({ index }) => index)}::integer[],
            ${answers.map(stateAfter)}::text[]) WITH ORDINALITY AS answer(step, index, state, n)),
        closed AS (
          UPDATE required_actions a SET state = answer.state, answer_position = position, answered_at = clock_timestamp()
          FROM answer WHERE turn_id = ${turnId} AND a.step = answer.step AND a.index = answer.index AND a.state = 'open'
          RETURNING a.index)
        SELECT index FROM closed`,
  );
  if (closed.length < answers.length) throw new OvertakenError(turnId);
}

/** Says why a call accepts no answer. */
type ClosedState = Exclude<ActionState, 'open' | 'planned'> | 'not_asked' | 'not_required';

function notPending(toolUseId: string, state: ClosedState): ServiceError {
  return new ServiceError(
    'tool_use_not_pending',
    `The call ${toolUseId} does not wait for an answer: ${REASONS[state]}.`,
    {
      tool_use_id: toolUseId,
      state,
    },
  );
}

const REASONS: Record<ClosedState, string> = {
  not_asked: 'agent.requires_action has not named it yet',
  not_required: 'it needs none',
  allowed: 'it was allowed',
  denied: 'it was denied',
  answered: 'it has a result',
  expired: 'it was not answered in time',
  cancelled: 'its turn was cancelled or has ended',
};
