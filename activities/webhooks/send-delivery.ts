import { Context } from '@temporalio/activity';
import { ApplicationFailure, CancelledFailure, TemporalFailure } from '@temporalio/common';
import pRetry from 'p-retry';
import type { Database } from '../../src/db/db.js';
import { isDatabaseAway } from '../../src/db/transaction.js';
import type { GuardedNetwork } from '../../src/network/network.js';
import type { Logger } from '../../src/platform/logger.js';
import { unseal, UnsealError } from '../../src/platform/sealed.js';
import { failDelivery, loadDelivery, storeAttempt, type LoadedDelivery } from '../../src/webhooks/attempts.js';
import { webhookAttempts, webhookAttemptSeconds } from '../../src/webhooks/metrics.js';
import { signatureHeaders } from '../../src/webhooks/sign.js';
import type { FairQueue } from '../../src/platform/fair-queue.js';
import { limitReached } from '../limit-reached.js';
import type { DeliveryActivities, DeliveryProgress } from './delivery-activities.js';
import { postWebhook, type PostResult } from './post.js';

export interface DeliveryDeps {
  config: { encryptionKeys: readonly Buffer[]; webhookRetrySeconds: readonly number[] };
  db: Database;
  log: Logger;
  network: GuardedNetwork;
  places: FairQueue;
}

const BEAT_MS = 2000;
/** An attempt due within this time is made immediately. */
const EARLY_MS = 500;
/** How long to retry storing an attempt's outcome while Postgres is unreachable. After this the attempt is repeated. */
const STORE_RETRY_MS = 25_000;

export function createDeliveryActivities(deps: DeliveryDeps): DeliveryActivities {
  return {
    sendDelivery: ({ deliveryId, force }) =>
      withHeartbeats(deps, deliveryId, (signal) => send(deps, deliveryId, force, signal)),
    abandonDelivery: ({ deliveryId }) => failDelivery(deps.db, deliveryId),
  };
}

async function send(deps: DeliveryDeps, id: string, force: boolean, signal: AbortSignal): Promise<DeliveryProgress> {
  const delivery = await loadDelivery(deps.db, id);
  if (delivery === null) {
    // The row of a deleted webhook would stay pending, and count as under way for its project.
    await failDelivery(deps.db, id);
    return { state: 'gone', nextAfterMs: null };
  }
  if (!force && delivery.state !== 'pending') return { state: delivery.state, nextAfterMs: null };
  if (!force && delivery.due_ms !== null && delivery.due_ms > EARLY_MS) {
    return { state: 'pending', nextAfterMs: Math.ceil(delivery.due_ms) };
  }
  if (!delivery.enabled) {
    await failDelivery(deps.db, id);
    return { state: 'not sent: the webhook is disabled', nextAfterMs: null };
  }
  return deps.places.tryWithin(delivery.project_id, () => attempt(deps, delivery, signal)) ?? limitReached();
}

async function attempt(deps: DeliveryDeps, delivery: LoadedDelivery, signal: AbortSignal): Promise<DeliveryProgress> {
  const began = performance.now();
  const { outcome, ...result } = await post(deps, delivery, signal);
  const ms = Math.round(performance.now() - began);
  webhookAttempts.inc({ outcome });
  webhookAttemptSeconds.observe(ms / 1000);
  deps.log.info(
    { delivery_id: delivery.id, webhook_id: delivery.webhook_id, outcome, status: result.status, ms },
    'webhook attempt',
  );
  const nextAfterSeconds = await pRetry(
    () =>
      storeAttempt(deps.db, deps.config.webhookRetrySeconds, delivery, {
        ...result,
        at: delivery.now,
        duration_ms: ms,
      }),
    {
      retries: 100,
      minTimeout: 200,
      maxTimeout: 2000,
      maxRetryTime: STORE_RETRY_MS,
      signal,
      shouldRetry: ({ error }) => isDatabaseAway(error),
    },
  );
  return { state: outcome, nextAfterMs: nextAfterSeconds === null ? null : Math.ceil(nextAfterSeconds * 1000) };
}

async function post(
  { config, network }: DeliveryDeps,
  delivery: LoadedDelivery,
  signal: AbortSignal,
): Promise<PostResult> {
  const body = bodyOf(delivery);
  try {
    const keys = config.encryptionKeys;
    const secrets = [unseal(keys, 'webhooks.secret', delivery.webhook_id, delivery.secret)];
    if (delivery.previous_secret !== null) {
      secrets.push(unseal(keys, 'webhooks.previous_secret', delivery.webhook_id, delivery.previous_secret));
    }
    const headers = {
      'content-type': 'application/json',
      'user-agent': 'agent-session-service',
      ...signatureHeaders(secrets, delivery.id, new Date(), body),
    };
    return await postWebhook(network, delivery.url, { headers, body }, signal);
  } catch (error) {
    if (!(error instanceof UnsealError)) throw error;
    const text = 'The stored secret cannot be opened. Rotate it.';
    return { outcome: 'no_secret', status: null, error: text, retryAfterSeconds: null };
  }
}

/** Every attempt sends the same bytes: those that `payloadSchema` (src/webhooks/payload) describes. */
function bodyOf({ event_type, event_id, session_id, turn_id, metadata, created_at }: LoadedDelivery): string {
  const data = { session_id, turn_id, event_id, metadata };
  return JSON.stringify({ type: event_type, timestamp: created_at, data });
}

/** Sends heartbeats while `work` runs and converts its errors to failures for Temporal. */
async function withHeartbeats<T>(
  { log }: DeliveryDeps,
  deliveryId: string,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const context = Context.current();
  const beat = setInterval(() => context.heartbeat(), BEAT_MS);
  try {
    return await work(context.cancellationSignal);
  } catch (error) {
    if (context.cancellationSignal.aborted) {
      throw context.cancellationDetails?.cancelRequested === true
        ? new CancelledFailure('cancelled')
        : ApplicationFailure.retryable('The worker shuts down.', 'HandedOver');
    }
    if (error instanceof TemporalFailure) throw error;
    if (isDatabaseAway(error)) throw ApplicationFailure.retryable('Postgres is unreachable.', 'DatabaseAway');
    log.error({ err: error, delivery_id: deliveryId }, 'a delivery failed unexpectedly');
    throw ApplicationFailure.retryable('The worker’s log has the reason under the delivery’s id.', 'InternalError');
  } finally {
    clearInterval(beat);
  }
}
