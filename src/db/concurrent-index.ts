import type { QueryRunner } from 'typeorm';

/**
 * Builds an index without blocking writers of the table. The migration must set `transaction = false`: Postgres refuses
 * CONCURRENTLY inside a transaction. An invalid index from an interrupted build is dropped first; a valid one stays.
 * @param definition the text after the index' name: `ON turns (id) WHERE …`
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
