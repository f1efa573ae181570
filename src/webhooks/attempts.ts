import type { Database, Tx } from '../db/db.js';
import { transaction } from '../db/transaction.js';
import type { DeliveryAttempt, DeliveryState } from './deliveries.js';
import { webhooksDisabled } from './metrics.js';
import { nextAttempt } from './schedule.js';

/** A webhook is disabled if every attempt failed for this long (decisions.md "Webhooks"). */
const MAX_FAILING = "interval '72 hours'";
const DISABLED_BY_FAILURES = 'Every attempt failed for 72 hours.';
const DISABLED_BY_410 = 'The receiver answered 410 (Gone).';
/** Limit of attempts listed per delivery: each retry request adds one. */
const MAX_LISTED_ATTEMPTS = 50;

export interface LoadedDelivery {
  id: string;
  webhook_id: string;
  project_id: string;
  event_type: string;
  event_id: string | null;
  session_id: string | null;
  turn_id: string | null;
  metadata: Record<string, string>;
  created_at: string;
  state: DeliveryState;
  retry_requests: number;
  /** The time of the attempt, by the clock of the row's other times. */
  now: string;
  /** Milliseconds until the next attempt is due; negative when it is overdue. */
  due_ms: number | null;
  url: string;
  enabled: boolean;
  secret: string;
  /** Null if no secret is valid any more. */
  previous_secret: string | null;
}

/** Loads a delivery; null if it, or its webhook, is deleted. */
export async function loadDelivery(db: Database, id: string): Promise<LoadedDelivery | null> {
  const [row] = await db.query<LoadedDelivery[]>(
    `SELECT d.id, webhook_id, d.project_id, event_type, event_id, session_id, turn_id, metadata, d.created_at, state,
       retry_requests, clock_timestamp() AS now, (extract(epoch FROM next_attempt_at - clock_timestamp()) * 1000)::double precision AS due_ms,
       url, enabled, secret,
       CASE WHEN previous_secret_until > clock_timestamp() THEN previous_secret END AS previous_secret
     FROM webhook_deliveries d JOIN webhooks w ON w.id = webhook_id AND w.deleted_at IS NULL WHERE d.id = $1`,
    [id],
  );
  return row ?? null;
}

export interface AttemptResult extends DeliveryAttempt {
  retryAfterSeconds: number | null;
}

interface LockedDelivery {
  state: DeliveryState;
  attempts: DeliveryAttempt[];
  attempt_count: number;
  pauses: number;
  retry_requests: number;
}

/**
 * Stores an attempt and its consequences. Returns the seconds until the next attempt, or null if there is none. A retry
 * requested during the attempt is due at once.
 */
export async function storeAttempt(
  db: Database,
  schedule: readonly number[],
  delivery: LoadedDelivery,
  { retryAfterSeconds, ...attempt }: AttemptResult,
): Promise<number | null> {
  return transaction(db, async (tx) => {
    const [row] = await tx.query<LockedDelivery[]>(
      `SELECT state, attempts, attempt_count, pauses, retry_requests FROM webhook_deliveries WHERE id = $1 FOR UPDATE`,
      [delivery.id],
    );
    if (row === undefined) return null;
    const succeeded = attempt.error === null;
    const stays = succeeded
      ? await recordSuccess(tx, delivery.webhook_id)
      : await recordFailure(tx, delivery.webhook_id, attempt.status === 410);
    const attempts = row.attempt_count + 1;
    const isRequested = row.retry_requests !== delivery.retry_requests;
    const next =
      isRequested || succeeded || !stays || row.state !== 'pending'
        ? null
        : nextAttempt(schedule, { attempts, pauses: row.pauses }, retryAfterSeconds);
    const afterSeconds = isRequested ? 0 : (next?.afterSeconds ?? null);
    const state = afterSeconds !== null ? 'pending' : succeeded ? 'delivered' : closed(row.state);
    await tx.query(
      `UPDATE webhook_deliveries SET state = $2, attempts = $3, attempt_count = $4, pauses = $5,
         next_attempt_at = now + make_interval(secs => $6), wake_at = coalesce(now + make_interval(secs => $6), wake_at)
       FROM clock_timestamp() AS now WHERE id = $1`,
      [
        delivery.id,
        state,
        JSON.stringify([...row.attempts, attempt].slice(-MAX_LISTED_ATTEMPTS)),
        attempts,
        next?.pauses ?? row.pauses,
        afterSeconds,
      ],
    );
    return afterSeconds;
  });
}

/** A failed attempt ends a pending delivery. A delivery that already has an outcome keeps it. */
function closed(state: DeliveryState): DeliveryState {
  return state === 'pending' ? 'failed' : state;
}

async function recordSuccess(tx: Tx, webhookId: string): Promise<true> {
  await tx.query('UPDATE webhooks SET failing_since = NULL WHERE id = $1 AND failing_since IS NOT NULL', [webhookId]);
  return true;
}

/** Records the failure and disables the webhook if the limit is reached. Returns whether it is still enabled. */
async function recordFailure(tx: Tx, webhookId: string, isGone: boolean): Promise<boolean> {
  await tx.query('UPDATE webhooks SET failing_since = clock_timestamp() WHERE id = $1 AND failing_since IS NULL', [
    webhookId,
  ]);
  const [, disabled] = await tx.query<[unknown[], number]>(
    `UPDATE webhooks SET enabled = false, updated_at = clock_timestamp(),
       disabled_reason = CASE WHEN $2 THEN '${DISABLED_BY_410}' ELSE '${DISABLED_BY_FAILURES}' END
     WHERE id = $1 AND enabled AND ($2 OR failing_since <= clock_timestamp() - ${MAX_FAILING})`,
    [webhookId, isGone],
  );
  if (disabled > 0) webhooksDisabled.inc({ reason: isGone ? 'gone' : 'failures' });
  return disabled === 0;
}

/** Ends a pending delivery without a request: its webhook is disabled or deleted, or an operator cancelled its workflow. */
export async function failDelivery(db: Database, id: string): Promise<void> {
  await db.query(
    `UPDATE webhook_deliveries SET state = 'failed', next_attempt_at = NULL WHERE id = $1 AND state = 'pending'`,
    [id],
  );
}
