import type { DataSource } from 'typeorm';
import { isSealedWithNewest, seal, SEALED_COLUMNS, unseal, type SealedColumn } from '../platform/sealed.js';
import { transaction } from './transaction.js';

const BATCH = 100;

/**
 * Seals every secret again that is sealed with an older key, so that the older keys can be removed. It can run beside a
 * working service: rows are locked while they are rewritten.
 * @returns the number of secrets that were sealed again
 * @throws UnsealError if no key opens a secret; rows rewritten before that stay rewritten
 */
export async function reencryptSecrets(db: DataSource, keys: readonly Buffer[]): Promise<number> {
  let count = 0;
  for (const column of SEALED_COLUMNS) count += await reencryptColumn(db, keys, column);
  return count;
}

async function reencryptColumn(db: DataSource, keys: readonly Buffer[], name: SealedColumn): Promise<number> {
  const [table, column] = name.split('.');
  let count = 0;
  for (let after = ''; ;) {
    const batch = await transaction(db, async (tx) => {
      const rows = await tx.query<{ id: string; sealed: string }[]>(
        `SELECT id, ${column} AS sealed FROM ${table} WHERE ${column} IS NOT NULL AND id > $1
         ORDER BY id LIMIT ${BATCH} FOR UPDATE`,
        [after],
      );
      const outdated = rows.filter(({ sealed }) => !isSealedWithNewest(keys, sealed));
      for (const { id, sealed } of outdated) {
        const again = seal(keys, name, id, unseal(keys, name, id, sealed));
        await tx.query(`UPDATE ${table} SET ${column} = $2 WHERE id = $1`, [id, again]);
      }
      return { last: rows.at(-1)?.id, outdated: outdated.length };
    });
    count += batch.outdated;
    if (batch.last === undefined) return count;
    after = batch.last;
  }
}
