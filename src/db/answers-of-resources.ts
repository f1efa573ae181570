import type { Db } from './db.js';

/**
 * Empties the answers about deleted resources. The records stay until their end, so that a late repeat of a request does
 * not make again what was deleted. Run it in the transaction of the deletion, after the lock of the resource's row: each
 * answer about the resource is then committed, or its request finds the resource deleted.
 */
export async function emptyAnswers(db: Db, resourceIds: readonly string[]): Promise<void> {
  await db.query(
    'UPDATE idempotency_records SET response = NULL WHERE resource_id = ANY($1) AND response IS NOT NULL',
    [resourceIds],
  );
}

/** Removes the records about resources, those of requests that never ended included. */
export async function deleteRecords(db: Db, resourceIds: readonly string[]): Promise<void> {
  await db.query('DELETE FROM idempotency_records WHERE resource_id = ANY($1)', [resourceIds]);
}
