import type { QueryRunner } from 'typeorm';

/**
 * Builds an index on a table that is in use, without blocking its writers. The migration must set
 * `transaction = false`: Postgres refuses CONCURRENTLY inside a transaction. An invalid index, which an interrupted build
 * leaves behind, is dropped first; a valid one stays.
 * @param definition what follows the index' name: `ON turns (id) WHERE …`
 */
export async function createIndexConcurrently(
  runner: QueryRunner,
  name: string,
  definition: string,
  { unique = false } = {},
): Promise<void> {
  const [index] = (await runner.query(
    'SELECT indisvalid AS valid FROM pg_index WHERE indexrelid = to_regclass($1::text)',
    [name],
  )) as { valid: boolean }[];
  if (index?.valid === true) return;
  if (index !== undefined) await runner.query(`DROP INDEX CONCURRENTLY ${name}`);
  await runner.query(`CREATE ${unique ? 'UNIQUE ' : ''}INDEX CONCURRENTLY ${name} ${definition}`);
}
