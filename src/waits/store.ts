import type { Tx } from '../db/db.js';
import { write } from '../db/transaction.js';
import type { NewEvent } from '../events/schema.js';
import { newId } from '../platform/ids.js';
import { storableJson } from '../platform/text.js';
import { OPEN_ACTIONS, openActionsOf, parseActions } from '../sessions/required-actions.js';
import type { Turn } from '../turns/turn.js';
import { kindOf } from './kinds/index.js';
import type { Outcome, WaitType } from './kinds/wait-kind.js';

export type { AskedApproval } from './kinds/approval.js';

export type { Outcome, WaitType };

/** planned → open (asked) → closed. A question is asked at once. The end of the turn closes what is left. */
export type WaitState = 'planned' | 'open' | 'closed';

/** A wait to store. */
export interface NewWait {
  /** Only of a question, whose id clients know. */
  id?: string;
  kind: WaitType;
  /** The call in its step; null: the step's model call. */
  index: number | null;
  toolUseId: string | null;
  /** What the kind keeps of it. */
  ask?: object;
}

const INSERT = `
  INSERT INTO waits (turn_id, session_id, step, state, asked_at, expires_at, id, index, tool_use_id, kind, ask, during_call)
  SELECT $1, $2, $3::integer, CASE WHEN $4::timestamptz IS NULL THEN 'planned' ELSE 'open' END, $4,
    $4::timestamptz + $5::double precision * interval '1 s', new.*
  FROM unnest($6::text[], $7::integer[], $8::text[], $9::text[], $10::json[], $11::boolean[]) AS new`;

/** Has calls of a step wait. They are asked for when the calls of the step that need nothing have run. */
export function planWaits(tx: Tx, turn: Turn, step: number, waits: NewWait[]): void {
  if (waits.length > 0) insert(tx, turn, step, waits, null);
}

/** Begins a wait that is asked for now. */
export async function openWait(tx: Tx, turn: Turn, step: number, wait: NewWait, seconds: number): Promise<void> {
  insert(tx, turn, step, [wait], seconds);
  if (kindOf(wait.kind).action !== null) turn.append(...(await requiresAction(tx, turn.id)));
}

function insert(tx: Tx, turn: Turn, step: number, waits: NewWait[], seconds: number | null): void {
  const each = (pick: (wait: NewWait) => unknown): unknown[] => waits.map(pick);
  write(tx, INSERT, [
    ...[turn.id, turn.sessionId, step, seconds === null ? null : turn.at, seconds],
    ...[each(({ id = newId('wait') }) => id), each(({ index }) => index), each(({ toolUseId }) => toolUseId)],
    ...[each(({ kind }) => kind), each(({ ask = {} }) => storableJson(JSON.stringify(ask)))],
    each(({ kind }) => kindOf(kind).takenBy === 'call'),
  ]);
}

/** A wait to close: it is closed only while it is open. */
export interface ClosedWait {
  id: string;
  outcome: Outcome;
  /** The position of the event that answers it; null without one. */
  position: number | null;
}

const CLOSE = `
  UPDATE waits w SET state = 'closed', outcome = closed.outcome, answer_position = closed.position, closed_at = $2
  FROM unnest($3::text[], $4::text[], $5::integer[]) AS closed (id, outcome, position)
  WHERE w.turn_id = $1 AND w.id = closed.id AND w.state = 'open'`;

/** Returns how many of them were open. */
export async function closeWaits(tx: Tx, turn: Turn, closed: ClosedWait[]): Promise<number> {
  const each = (pick: (wait: ClosedWait) => unknown): unknown[] => closed.map(pick);
  const [, count] = await tx.query<[unknown, number]>(CLOSE, [
    ...[turn.id, turn.at, each(({ id }) => id), each(({ outcome }) => outcome), each(({ position }) => position)],
  ]);
  return count;
}

/** One statement: it remembers the actions of child turns that the event names, and no other ones. */
const SHOW_ACTIONS = `
  WITH shown AS (
    UPDATE delegations d SET shown_waits = ${openActionsOf('d.child_turn_id')}, shown_at = clock_timestamp()
    FROM turns t WHERE t.id = $1 AND t.has_children AND d.turn_id = t.id AND (d.done_at IS NULL OR d.shown_waits <> '{}'))
  SELECT ${OPEN_ACTIONS}::text AS actions FROM turns t WHERE id = $1`;

/** `agent.requires_action` with everything that is open now, in the turn and in those that its calls have begun; nothing if nothing is. */
export async function requiresAction(tx: Tx, turnId: string): Promise<NewEvent[]> {
  const [row] = await tx.query<[{ actions: string }]>(SHOW_ACTIONS, [turnId]);
  const actions = parseActions(row.actions);
  return actions.length === 0 ? [] : [{ type: 'agent.requires_action', data: { required_actions: actions } }];
}
