import { setTimeout } from 'node:timers/promises';
import pLimit from 'p-limit';
import type { Db, Tx } from '../db/db.js';
import { moneyJson } from '../db/money.js';
import { rawSql, runSql, sql } from '../db/sql.js';
import { write } from '../db/transaction.js';
import type { FileSnapshot, Money, StopReason } from '../events/fields.js';
import type { EventData, NewEvent } from '../events/schema.js';
import { truncateUtf8 } from '../platform/text.js';
import type { TurnDeps } from './change-turn.js';
import type { CallPlace } from './facts.js';
import { passCancelOn, requestCancel } from './request-cancel.js';
import type { Turn } from './turn.js';

/**
 * The turns that the calls of a turn have begun (decisions.md "Agents that call agents"). No transaction locks two turns: the end of a
 * child turn and a cancel request of its parent would take the locks in opposite orders.
 */

/** Open child turns have this long to end after a cancel request, then they are ended. */
const GRACE_MS = 1000;
const POLL_MS = 50;
const PARALLEL = 8;

/** A turn cannot end before the turns that its calls have begun. */
export class ChildrenOpenError extends Error {
  override readonly name = 'ChildrenOpenError';
  constructor(readonly turnIds: string[]) {
    super('turns that its calls have begun are open');
  }
}

/** Cancels the open child turns of a turn: records the requests and returns. Repeating it changes nothing. */
export async function cancelChildren(deps: TurnDeps, parentTurnId: string): Promise<void> {
  await cancelTurns(deps, await openChildrenOf(deps.db, parentTurnId));
}

export async function cancelTurns(deps: TurnDeps, turnIds: string[]): Promise<void> {
  await pLimit(PARALLEL).map(turnIds, async (id) => {
    try {
      passCancelOn(deps, id, await requestCancel(deps, id));
    } catch (err) {
      deps.log.warn({ err, turn_id: id }, 'a child turn could not be cancelled; the reconciler tries again');
    }
  });
}

/**
 * Ends child turns as cancelled. They get the usual grace, so that what watchers received is stored.
 * @param end ends one that has not ended by then
 */
export async function endChildren(
  deps: TurnDeps,
  turnIds: string[],
  end: (turnId: string) => Promise<unknown>,
): Promise<void> {
  const since = await requestedSince(deps.db, turnIds);
  const unasked = turnIds.filter((id) => since.get(id) === null);
  await cancelTurns(deps, unasked);
  const until =
    Date.now() + GRACE_MS - (unasked.length > 0 ? 0 : Math.min(...[...since.values()].map((ms) => ms ?? 0)));
  let open = await stillOpen(deps.db, turnIds);
  while (open.length > 0 && Date.now() < until) {
    await setTimeout(POLL_MS);
    open = await stillOpen(deps.db, turnIds);
  }
  await pLimit(PARALLEL).map(open, end);
}

/** How long ago the cancel of each was requested, in ms; null for those whose was not. Those that have ended are left out. */
async function requestedSince(db: Db, turnIds: string[]): Promise<Map<string, number | null>> {
  const rows = await runSql<{ id: string; ms: number | null }>(
    db,
    sql`SELECT turn_id AS id, (extract(epoch FROM clock_timestamp() - cancel_requested_at) * 1000)::double precision AS ms
        FROM open_turns WHERE turn_id = ANY(${turnIds}::text[])`,
  );
  return new Map(rows.map(({ id, ms }) => [id, ms]));
}

async function stillOpen(db: Db, turnIds: string[]): Promise<string[]> {
  const rows = await runSql<{ id: string }>(
    db,
    sql`SELECT turn_id AS id FROM open_turns WHERE turn_id = ANY(${turnIds}::text[])`,
  );
  return rows.map(({ id }) => id);
}

async function openChildrenOf(db: Db, parentTurnId: string): Promise<string[]> {
  const rows = await runSql<{ id: string }>(
    db,
    sql`SELECT turn_id AS id FROM open_turns WHERE parent_turn_id = ${parentTurnId}`,
  );
  return rows.map(({ id }) => id);
}

/** What became of a turn that a call has begun, and that has ended. */
export interface ChildOutcome extends Omit<CallPlace, 'turnId'> {
  sessionId: string;
  childTurnId: string;
  status: 'completed' | 'cancelled' | 'failed';
  /** The stop reason, or the type of the failure. */
  endReason: string | null;
  cost: Money | null;
  /** The text of its last message; null without one. */
  message: string | null;
  /** What it has delivered, in order. */
  files: FileSnapshot[];
}

const OUTCOME = rawSql(`
  SELECT d.step, d.index, d.child_session_id AS "sessionId", d.child_turn_id AS "childTurnId",
    child.state AS status, child.end_reason AS "endReason",
    ${moneyJson('child.cost', { isUnpriced: 'child.is_unpriced', currency: 'child.currency' })} AS cost, (
      SELECT e.data->>'content' FROM events e
      WHERE e.session_id = child.session_id AND e.type = 'agent.message' AND e.turn_number = child.number
      ORDER BY e.position DESC LIMIT 1) AS message, coalesce((
      SELECT json_agg(e.data->'file' ORDER BY e.position) FROM events e
      WHERE e.session_id = child.session_id AND e.turn_number = child.number AND e.type = 'agent.file'), '[]') AS files
  FROM delegations d JOIN turns child ON child.id = d.child_turn_id AND child.ended_at IS NOT NULL`);

/** Null for a call that has begun no turn, and while that turn is open. */
export async function findChildOutcome(db: Db, { turnId, step, index }: CallPlace): Promise<ChildOutcome | null> {
  const [row] = await runSql<ChildOutcome>(
    db,
    sql`${OUTCOME} WHERE d.turn_id = ${turnId} AND d.step = ${step} AND d.index = ${index}`,
  );
  return row ?? null;
}

/** Deliveries that a result names. */
const MAX_FILES = 50;

export interface ChildResult {
  message: string;
  /** The lines after the message: they stay if the message is shortened. */
  facts: string;
  isError: boolean;
  delegation: NonNullable<EventData['agent.tool_result']['delegation']>;
}

/** The result of a call whose turn has ended, for the model and for clients. */
export function resultOfChild(outcome: ChildOutcome): ChildResult {
  const { status, endReason, files, sessionId, childTurnId, cost } = outcome;
  const isDone = status === 'completed' && endReason === 'end_turn';
  const facts = [
    ...files.slice(0, MAX_FILES).map(({ id, filename }) => `[file ${id} ${filename}]`),
    ...(files.length > MAX_FILES ? [`[${files.length - MAX_FILES} more files]`] : []),
    ...(isDone ? [] : [`[stopped: ${status === 'cancelled' ? status : (endReason ?? status)}]`]),
    `[session ${sessionId}]`,
  ];
  return {
    message: outcome.message ?? '(no message)',
    facts: facts.join('\n'),
    isError: !isDone,
    delegation: {
      session_id: sessionId,
      turn_id: childTurnId,
      status,
      // The type that a schema gives to an enum leaves null out.
      stop_reason: (status === 'completed' ? endReason : null) as StopReason,
      cost,
    },
  };
}

interface Delivery {
  step: number;
  index: number;
  position: number;
  file: FileSnapshot;
}

const MARK_SHOWN = `
  UPDATE delegations d SET shown_position = shown.position
  FROM unnest($2::integer[], $3::integer[], $4::integer[]) AS shown (step, index, position)
  WHERE d.turn_id = $1 AND d.step = shown.step AND d.index = shown.index AND d.shown_position < shown.position`;

/**
 * What the child turns of a turn have delivered since it was asked last, as events of the turn, whose row the transaction has locked.
 * @param call of this call only
 */
export async function newDeliveries(
  tx: Tx,
  turnId: string,
  call: { step: number; index: number } | null = null,
): Promise<NewEvent[]> {
  const ofCall = call === null ? sql`` : sql`AND d.step = ${call.step} AND d.index = ${call.index}`;
  const rows = await runSql<Delivery>(
    tx,
    sql`SELECT d.step, d.index, e.position, e.data->'file' AS file
        FROM delegations d JOIN turns child ON child.id = d.child_turn_id
          JOIN events e ON e.session_id = child.session_id AND e.turn_number = child.number AND e.type = 'agent.file'
            AND e.position > d.shown_position
        WHERE d.turn_id = ${turnId} AND d.done_at IS NULL ${ofCall} ORDER BY e.created_at, e.id`,
  );
  if (rows.length === 0) return [];
  write(tx, MARK_SHOWN, [
    ...[turnId, rows.map(({ step }) => step), rows.map(({ index }) => index), rows.map(({ position }) => position)],
  ]);
  return rows.map(({ file }) => ({ type: 'agent.file', data: { file } }));
}

const MARK_DONE = `
  UPDATE delegations SET done_at = clock_timestamp() WHERE turn_id = $1 AND step = $2 AND index = $3`;

/** The call has its result. */
export function markDone(tx: Tx, { turnId, step, index }: CallPlace): void {
  write(tx, MARK_DONE, [turnId, step, index]);
}

/** Bytes of a message that a call keeps whose turn ends with the calling one. */
const MAX_MESSAGE_BYTES = 16 * 1024;
const CLOSE_CALLS = `
  WITH closed AS (
    UPDATE delegations d SET done_at = $2 FROM unnest($3::integer[], $4::integer[]) AS of (step, index)
    WHERE d.turn_id = $1 AND d.step = of.step AND d.index = of.index)
  UPDATE tool_calls c SET state = 'done', content = of.content, is_error = of.is_error, ended_at = $2
  FROM unnest($3::integer[], $4::integer[], $5::json[], $6::boolean[]) AS of (step, index, content, is_error)
  WHERE c.turn_id = $1 AND c.step = of.step AND c.index = of.index AND c.state <> 'done'`;

/**
 * Closes the calls of a turn that ends before it has taken their results: a later turn of the session sees how their turns ended, and in
 * which session it can go on. Returns what else they have delivered.
 * @throws ChildrenOpenError
 */
export async function closeCallsOfChildren(tx: Tx, turn: Turn, open: string[]): Promise<NewEvent[]> {
  if (open.length > 0) throw new ChildrenOpenError(open);
  const deliveries = await newDeliveries(tx, turn.id);
  const outcomes = await runSql<ChildOutcome>(tx, sql`${OUTCOME} WHERE d.turn_id = ${turn.id} AND d.done_at IS NULL`);
  if (outcomes.length === 0) return deliveries;
  const results = outcomes.map(resultOfChild);
  const contents = results.map(({ message, facts }) =>
    JSON.stringify([{ type: 'text', text: `${truncateUtf8(message, MAX_MESSAGE_BYTES)}\n${facts}` }]),
  );
  write(tx, CLOSE_CALLS, [
    ...[turn.id, turn.at, outcomes.map(({ step }) => step), outcomes.map(({ index }) => index), contents],
    results.map(({ isError }) => isError),
  ]);
  return deliveries;
}
