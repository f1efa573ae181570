import type { Db, Tx } from '../db/db.js';
import { write } from '../db/transaction.js';
import type { TurnState } from '../db/turn-states.js';

/** A row of `turns`, as its columns are. Times are ISO text with microseconds, money is decimal text. */
export interface TurnRow {
  readonly id: string;
  readonly session_id: string;
  readonly project_id: string;
  readonly number: number;
  readonly model_id: string | null;
  readonly agent_id: string | null;
  readonly agent_version: number | null;
  readonly queued_at: string;
  /** The turn that has a call on which this one works; null for others. */
  readonly parent_turn_id: string | null;
  state: TurnState;
  position: number;
  fallback_model_id: string | null;
  has_waiting: boolean;
  end_reason: string | null;
  started_at: string | null;
  ended_at: string | null;
  transition_at: string;
  cancel_requested_at: string | null;
  progress_at: string;
  connected_at: string | null;
  connect_ms: number | null;
  first_token_at: string | null;
  model_calls: number;
  cost: string;
  currency: string | null;
  is_unpriced: boolean;
  /** It has begun turns by calls. What those cost, written at its end. */
  has_children: boolean;
  delegated_cost: string;
  is_delegated_unpriced: boolean;
}

/**
 * The lock keeps every other change of the turn out until the transaction ends. `now` is read after the lock was waited for:
 * Postgres reads a row again that has changed meanwhile.
 */
const LOCK_TURN = `
  SELECT id, session_id, project_id, number, model_id, agent_id, agent_version, queued_at, state, position, fallback_model_id, has_waiting, end_reason,
    started_at, ended_at, transition_at, cancel_requested_at, progress_at, connected_at, connect_ms, first_token_at,
    model_calls, cost, currency, is_unpriced, parent_turn_id, has_children, delegated_cost, is_delegated_unpriced, clock_timestamp() AS now
  FROM turns WHERE id = $1 FOR NO KEY UPDATE`;

export async function lockTurnRow(tx: Db, id: string): Promise<(TurnRow & { now: string }) | undefined> {
  const [row] = await tx.query<(TurnRow & { now: string })[]>(LOCK_TURN, [id]);
  return row;
}

/** It names its columns: those of a newer version keep their values. */
const UPDATE_TURN = `
  UPDATE turns SET state = $2, position = $3, fallback_model_id = $4, has_waiting = $5, end_reason = $6, started_at = $7,
    ended_at = $8, transition_at = $9, cancel_requested_at = $10, progress_at = $11, connected_at = $12, connect_ms = $13,
    first_token_at = $14, model_calls = $15, cost = $16, currency = $17, is_unpriced = $18, has_children = $19, delegated_cost = $20,
    is_delegated_unpriced = $21
  WHERE id = $1`;

export function updateTurnRow(tx: Tx, row: TurnRow): void {
  write(tx, UPDATE_TURN, [
    ...[row.id, row.state, row.position, row.fallback_model_id, row.has_waiting, row.end_reason, row.started_at],
    ...[row.ended_at, row.transition_at, row.cancel_requested_at, row.progress_at, row.connected_at, row.connect_ms],
    ...[row.first_token_at, row.model_calls, row.cost, row.currency, row.is_unpriced, row.has_children],
    ...[row.delegated_cost, row.is_delegated_unpriced],
  ]);
}
