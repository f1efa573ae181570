import type { Context } from 'koa';
import type { Db, Tx } from '../../../src/db/db.js';
import { transaction } from '../../../src/db/transaction.js';
import { ServiceError } from '../../../src/platform/errors.js';
import type { Logger } from '../../../src/platform/logger.js';
import {
  beginIdempotent,
  releaseClaim,
  renewClaim,
  storeAnswer,
  type IdempotencyKey,
  type RequestClaim,
} from '../../../src/projects/idempotency.js';
import type { ApiDeps } from '../../deps.js';
import type { Call, Caller } from './operation.js';

/** A third of the time of a claim, so that one late renewal does not lose it. */
const RENEW_MS = 10_000;

interface Idempotency extends Pick<Call, 'once'> {
  /** Stores the answer in the transaction that has the effect. */
  record(tx: Db, response: unknown): Promise<void>;
}

/** For a request without the header: runs the work and records nothing. */
export const withoutKey: Idempotency = {
  once: (_hash, work) => work(),
  record: async () => undefined,
};

/**
 * Reads the request's `Idempotency-Key` (decisions.md "HTTP").
 * @throws ServiceError `bad_request` if the key is malformed
 */
export function idempotencyOf(ctx: Context, deps: ApiDeps, { projectId, token }: Caller, status: number): Idempotency {
  const key = ctx.headers['idempotency-key'];
  if (key === undefined) return withoutKey;
  if (typeof key !== 'string' || !/^[\x20-\x7e]{1,255}$/.test(key)) {
    throw new ServiceError('bad_request', 'Idempotency-Key must be 1 to 255 printable ASCII characters.');
  }
  // A session token must not find the record of an upload that others made: it would show them the file.
  const path = token === null || ctx.path.includes(token.sessionId) ? ctx.path : `${ctx.path}?${token.sessionId}`;
  const [resourceId = null] = Object.values(ctx.params as Record<string, string>);
  return idempotent(ctx, deps, { projectId, path, key, resourceId }, status);
}

function idempotent(ctx: Context, { db, log }: ApiDeps, key: IdempotencyKey, status: number): Idempotency {
  let claim: RequestClaim | undefined;
  let recorded = false;
  const store = async (target: Db, response: unknown): Promise<void> => {
    await storeAnswer(target, claim!, { status, response, resourceId: resourceMade(response, key.resourceId) });
    recorded = true;
  };
  return {
    record: (tx, response) => store(tx, response),
    once: async <T>(
      hash: Buffer,
      work: () => Promise<T>,
      replay: (recorded: unknown) => T | Promise<T> = (recorded) => recorded as T,
    ): Promise<T> => {
      const begun = await beginIdempotent(db, key, hash);
      if ('response' in begun) {
        const answer = await replay(begun.response);
        ctx.set('Idempotency-Replayed', 'true');
        return answer;
      }
      claim = begun;
      const stopRenewing = keepClaim(db, begun, log);
      try {
        const answer = await work();
        if (!recorded) await store(db, answer);
        return answer;
      } catch (error) {
        await releaseClaim(db, begun).catch((err: unknown) =>
          log.warn({ err }, 'a claim was not released; it expires'),
        );
        throw error;
      } finally {
        stopRenewing();
      }
    },
  };
}

/** Runs `work` in a transaction that also records the answer, so that both are committed or neither is. */
export function answerInTransaction<Answer>(
  { deps, record }: Pick<Call, 'deps' | 'record'>,
  work: (tx: Tx) => Promise<Answer>,
): Promise<Answer> {
  return transaction(deps.db, async (tx) => {
    const answer = await work(tx);
    await record(tx, answer);
    return answer;
  });
}

/**
 * The id of what the request made, if it is a resource of its own: nothing of the path is, or it is a fork. What is made below
 * a session (an event, a turn) goes with the session.
 */
function resourceMade(response: unknown, ofPath: string | null): string | undefined {
  const id = (response as { id?: unknown } | null)?.id;
  return typeof id === 'string' && (ofPath === null || id.startsWith('ses_')) ? id : undefined;
}

function keepClaim(db: ApiDeps['db'], claim: RequestClaim, log: Logger): () => void {
  const timer = setInterval(() => {
    renewClaim(db, claim).catch((err: unknown) => log.warn({ err }, 'a claim could not be renewed'));
  }, RENEW_MS);
  return () => clearInterval(timer);
}
