import type { DataSource } from 'typeorm';
import { transaction } from '../db/transaction.js';
import { isSealedWithNewest, seal, unseal } from './credentials.js';

const BATCH = 100;

/**
 * Seals every credential again that an older key of the list still opens, so that the older keys can be dropped. Runs
 * beside a working service: rows are locked while they are rewritten, and a change of credential only makes it newer.
 * @returns how many were sealed again
 * @throws UnsealError when a credential opens with no key of the list; what was done until then stays done
 */
export async function reencryptCredentials(db: DataSource, keys: readonly Buffer[]): Promise<number> {
  let count = 0;
  for (let after = ''; ;) {
    const batch = await transaction(db, async (tx) => {
      const rows = await tx.query<{ id: string; credential: string }[]>(
        `SELECT id, credential FROM mcp_servers WHERE credential IS NOT NULL AND id > $1
         ORDER BY id LIMIT ${BATCH} FOR UPDATE`,
        [after],
      );
      const outdated = rows.filter(({ credential }) => !isSealedWithNewest(keys, credential));
      for (const { id, credential } of outdated) {
        const sealed = seal(keys, id, unseal(keys, id, credential));
        await tx.query('UPDATE mcp_servers SET credential = $2 WHERE id = $1', [id, sealed]);
      }
      return { last: rows.at(-1)?.id, outdated: outdated.length };
    });
    count += batch.outdated;
    if (batch.last === undefined) return count;
    after = batch.last;
  }
}
