import type { Db } from '../db/db.js';
import { ownersBudget } from '../db/money.js';
import { rawSql, runSql, sql } from '../db/sql.js';
import { configurationOfTurn, FALLBACK_MODEL_IDS, MODEL_ID } from '../sessions/configured.js';
import type { EventData } from '../events/schema.js';
import { changeTurn, ifRunning, type TurnDeps } from '../turns/change-turn.js';
import { TurnEndedError } from '../turns/errors.js';

/** The models of a turn (decisions.md "Money and models", "Fallback"). */
interface TurnModels {
  /** The model of its next call. */
  modelId: string;
  /** The fallback model that it uses; null while it uses the one that was asked for. */
  fallbackModelId: string | null;
  /** The fallback models of its session, in order. */
  fallbackModelIds: string[];
}

/** The next fallback model of a turn that the catalogue has; null after the last one. */
export function nextModel(
  { modelId, fallbackModelId, fallbackModelIds }: TurnModels,
  isOffered: (modelId: string) => boolean,
): string | null {
  const used = fallbackModelId === null ? 0 : fallbackModelIds.indexOf(fallbackModelId) + 1;
  return fallbackModelIds.slice(used).find((id) => id !== modelId && isOffered(id)) ?? null;
}

/** @throws TurnEndedError if there is no such turn */
export async function loadTurnModels(db: Db, turnId: string): Promise<TurnModels & { hasBudget: boolean }> {
  const [turn] = await runSql<TurnModels & { hasBudget: boolean }>(
    db,
    sql`SELECT coalesce(turns.fallback_model_id, turns.model_id, ${rawSql(MODEL_ID)}) AS "modelId",
          turns.fallback_model_id AS "fallbackModelId", ${rawSql(FALLBACK_MODEL_IDS)} AS "fallbackModelIds",
          ${rawSql(ownersBudget('sessions'))} IS NOT NULL AS "hasBudget"
        FROM turns ${rawSql(configurationOfTurn('turns'))} JOIN sessions ON sessions.id = turns.session_id
        WHERE turns.id = ${turnId}`,
  );
  if (turn === undefined) throw new TurnEndedError(turnId);
  return turn;
}

/** Lets a running turn go on with a fallback model, unless another attempt has changed its model. */
export async function changeModel(
  deps: TurnDeps,
  turnId: string,
  { fallbackModelId }: Pick<TurnModels, 'fallbackModelId'>,
  change: EventData['agent.model_changed'],
): Promise<void> {
  await changeTurn(deps, turnId, ifRunning, (turn) => {
    if (turn.fallbackModelId !== fallbackModelId) return turn.stayStill();
    turn.fallBackTo(change.to);
    turn.append({ type: 'agent.model_changed', data: change });
  });
}
