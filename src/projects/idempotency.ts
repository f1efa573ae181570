import { randomUUID } from 'node:crypto';
import type { Db } from '../db/db.js';
import { ServiceError } from '../platform/errors.js';
import { jsonText } from '../platform/json-text.js';

/** The key of an idempotency record. Its scope is project and path (decisions.md "HTTP", "Idempotency-Key"). */
export interface IdempotencyKey {
  projectId: string;
  path: string;
  key: string;
  /** The resource that the answer is about, as far as the path names it. Its answers go with it. */
  resourceId: string | null;
}

/** The claim of a request under way on its key. Only its holder may store the answer. */
export interface RequestClaim extends IdempotencyKey {
  claimId: string;
}

interface StoredAnswer {
  status: number;
  response: unknown;
}

interface NewAnswer extends StoredAnswer {
  /** The resource that the answer shows, if the path does not name it. */
  resourceId?: string;
}

interface StoredRecord {
  request_hash: Buffer;
  /** Null while the request is under way. */
  status: number | null;
  response: unknown;
  /** The resource of the answer is deleted. */
  is_empty: boolean;
}

const CLAIM_TIME = "interval '30 seconds'";
const KEPT = "interval '24 hours'";
const ROW = 'project_id = $1 AND path = $2 AND key = $3';
const HELD = `${ROW} AND lease_id = $4 AND status IS NULL`;
const row = ({ projectId, path, key }: Omit<IdempotencyKey, 'resourceId'>): unknown[] => [projectId, path, key];
const held = (claim: RequestClaim): unknown[] => [...row(claim), claim.claimId];

/**
 * Takes the claim for `key`, or returns the stored answer of an earlier request with the same content. The commit is
 * asynchronous: an answer is stored by a later commit, and only while there is a claim.
 * @throws ServiceError `idempotency_key_reused` for other content, and when the resource of the answer is deleted;
 * `idempotency_key_in_use` while the first request runs
 */
export async function beginIdempotent(db: Db, key: IdempotencyKey, hash: Buffer): Promise<RequestClaim | StoredAnswer> {
  const claimId = randomUUID();
  const [taken] = await db.query<unknown[]>(
    `WITH setting AS MATERIALIZED (SELECT set_config('synchronous_commit', 'off', true))
     INSERT INTO idempotency_records AS r (project_id, path, key, lease_id, request_hash, resource_id, lease_until)
     SELECT $1, $2, $3, $4, $5::bytea, $6, clock_timestamp() + ${CLAIM_TIME} FROM setting
     ON CONFLICT (project_id, path, key) DO UPDATE
       SET lease_id = excluded.lease_id, request_hash = excluded.request_hash, lease_until = excluded.lease_until,
           resource_id = excluded.resource_id, created_at = clock_timestamp(), status = NULL, response = NULL
       WHERE r.created_at < clock_timestamp() - ${KEPT} OR (r.status IS NULL AND r.lease_until < clock_timestamp())
     RETURNING 1`,
    [...row(key), claimId, hash, key.resourceId],
  );
  if (taken !== undefined) return { ...key, claimId };

  const [record] = await db.query<StoredRecord[]>(
    `SELECT request_hash, status, response, response IS NULL AS is_empty FROM idempotency_records WHERE ${ROW}`,
    row(key),
  );
  if (record !== undefined && !record.request_hash.equals(hash)) {
    throw new ServiceError(
      'idempotency_key_reused',
      'The Idempotency-Key was used with other content. Use a new key for a new request.',
    );
  }
  // The record is gone: its holder failed at this moment. The client's retry can take the key.
  if (record === undefined || record.status === null) throw inUse();
  if (record.is_empty) {
    throw new ServiceError(
      'idempotency_key_reused',
      'What the first request with this Idempotency-Key made is deleted. Use a new key to make it again.',
    );
  }
  return { status: record.status, response: record.response };
}

/**
 * Stores the answer in the transaction that has the effect, so that both are committed or neither is.
 * @throws ServiceError `idempotency_key_in_use` if the claim expired and another request took it: the transaction rolls
 * back
 */
export async function storeAnswer(
  db: Db,
  claim: RequestClaim,
  { status, response, resourceId }: NewAnswer,
): Promise<void> {
  const [, count] = await db.query<[unknown[], number]>(
    `UPDATE idempotency_records SET status = $5, response = $6, resource_id = coalesce($7, resource_id), lease_until = NULL WHERE ${HELD}`,
    [...held(claim), status, jsonText(response), resourceId],
  );
  if (count === 0) throw inUse();
}

export async function renewClaim(db: Db, claim: RequestClaim): Promise<void> {
  await db.query(
    `UPDATE idempotency_records SET lease_until = clock_timestamp() + ${CLAIM_TIME} WHERE ${HELD}`,
    held(claim),
  );
}

/** Releases the claim of a failed request, so that a retry can run. A stored answer stays. */
export async function releaseClaim(db: Db, claim: RequestClaim): Promise<void> {
  await db.query(`DELETE FROM idempotency_records WHERE ${HELD}`, held(claim));
}

/** Removes at most `limit` records older than a day; returns their number. */
export async function forgetOldAnswers(db: Db, limit: number): Promise<number> {
  const [, count] = await db.query<[unknown[], number]>(
    `DELETE FROM idempotency_records WHERE ctid = ANY(ARRAY(
       SELECT ctid FROM idempotency_records WHERE created_at < statement_timestamp() - ${KEPT}
       LIMIT $1 FOR UPDATE SKIP LOCKED))`,
    [limit],
  );
  return count;
}

function inUse(): ServiceError {
  return new ServiceError('idempotency_key_in_use', 'A request with this Idempotency-Key is under way. Try again.');
}
