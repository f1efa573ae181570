import type { Db } from '../db/db.js';
import { runSql, sql } from '../db/sql.js';
import type { MediaSource } from '../models/media.js';
import type { TurnContext } from './context.js';

/** What a model's API does not take: objects of the file storage, or all images or all documents. */
export interface RefusedMedia {
  keys: string[];
  kinds: MediaSource['kind'][];
}

/** What the API of a turn's model has refused in the session. It is stored with the calls that failed, and a fork copies them. */
export class MediaRefusals {
  readonly #refused: ReadonlySet<string>;

  /** @param ofTurn the number of refused calls of the turn */
  constructor(
    refusals: readonly RefusedMedia[],
    readonly ofTurn: number,
  ) {
    this.#refused = new Set(refusals.flatMap(({ keys, kinds }) => [...keys, ...kinds]));
  }

  has({ type, storage_key }: { type: MediaSource['kind']; storage_key: string }): boolean {
    return this.#refused.has(type) || this.#refused.has(storage_key);
  }
}

export async function loadMediaRefusals(
  db: Db,
  { id, sessionId, modelId }: Pick<TurnContext, 'id' | 'sessionId' | 'modelId'>,
): Promise<MediaRefusals> {
  const [row] = await runSql<{ refusals: RefusedMedia[]; ofTurn: number }>(
    db,
    sql`SELECT coalesce(json_agg(error->'refusedMedia'), '[]') AS refusals,
          (count(*) FILTER (WHERE turn_id = ${id}))::integer AS "ofTurn"
        FROM turns JOIN model_calls a ON a.turn_id = turns.id
        WHERE turns.session_id = ${sessionId} AND a.model_id = ${modelId}
          AND error IS NOT NULL AND error->'refusedMedia' IS NOT NULL`,
  );
  return new MediaRefusals(row!.refusals, row!.ofTurn);
}
