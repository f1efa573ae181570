import type { Db } from '../db/db.js';
import { rawSql, runSql, sql } from '../db/sql.js';
import { configurationOfTurn, MODEL_ID } from '../sessions/configured.js';
import type { ModelFailure } from './model-call.js';

/** Why the turn's last call failed; null if it succeeded, even after failed attempts. */
export async function lastModelFailure(db: Db, turnId: string): Promise<ModelFailure | null> {
  const [row] = await runSql<{ error: ModelFailure | null }>(
    db,
    sql`SELECT error FROM model_calls WHERE turn_id = ${turnId} ORDER BY started_at DESC LIMIT 1`,
  );
  return row?.error ?? null;
}

/** The model that the turn asks for; null if the turn does not exist. */
export async function modelOfTurn(db: Db, turnId: string): Promise<string | null> {
  const [row] = await runSql<{ model_id: string }>(
    db,
    sql`SELECT coalesce(turns.model_id, ${rawSql(MODEL_ID)}) AS model_id
        FROM turns ${rawSql(configurationOfTurn('turns'))} WHERE turns.id = ${turnId}`,
  );
  return row?.model_id ?? null;
}
