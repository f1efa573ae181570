import type Koa from 'koa';
import type { Db } from '../../src/db/transaction.js';
import type { ErrorType } from '../../src/platform/errors.js';
import type { Logger } from '../../src/platform/logger.js';
import type { Scope } from '../../src/projects/permissions.js';
import type { ApiDeps } from '../deps.js';

export type JsonSchema = Record<string, unknown>;

/** Who asks: the API key of the request, already checked. */
export interface Caller {
  keyId: string;
  projectId: string;
  scopes: ReadonlySet<string>;
}

/** One request of an operation: everything in it is checked but what the operation itself must decide. */
export interface Call<Body = unknown, Resource = unknown> {
  deps: ApiDeps;
  caller: Caller;
  requestId: string;
  log: Logger;
  /** Path parameters, percent-decoded. */
  params: Record<string, string>;
  /** Query parameters by name; of a repeated one, the last. */
  query: Record<string, string>;
  /** What `resource` of the operation returned. */
  resource: Resource;
  /** The body, valid by the operation's schema (undefined where it has none). */
  body: Body;
  /**
   * Writes the answer into the request's idempotency record, inside the transaction that has the effect
   * (contract.md §1). Without an `Idempotency-Key` it does nothing. Every POST that creates calls it.
   */
  record: (tx: Db, response: unknown) => Promise<void>;
  /** The request has an `Idempotency-Key`: `record` writes. */
  hasKey: boolean;
  /**
   * For uploads, whose content is known only once it was read (others need not call it): runs `work` under the
   * request's `Idempotency-Key`, or returns the answer that an earlier request with the same content got.
   */
  once: <T>(contentHash: Buffer, work: () => Promise<T>, replay?: (recorded: unknown) => T) => Promise<T>;
  /** For the few operations that answer by themselves (streams, redirects, uploads). */
  ctx: Koa.Context;
}

/**
 * An operation of the API: one file each, its schema on top. Checks run in the order of contract.md §1: key,
 * permission, rate limit, `resource` (the path's), body, idempotency, `handle` (api/http/serve).
 */
// eslint-disable-next-line @typescript-eslint/no-explicit-any -- a table holds many types; operation() keeps each together
export interface Operation<Body = any, Resource = any> {
  /** operationId and one-line summary of the OpenAPI document. */
  id: string;
  summary: string;
  /** JSON Schema (an object) of the query parameters beyond limit and cursor; their values are strings. */
  query?: JsonSchema;
  /** Answers a page: takes `limit` and `cursor` (api/http/page reads them). */
  paged?: true;
  /** JSON Schema of the JSON body, strict (`additionalProperties: false`); absent: the body is ignored. */
  body?: JsonSchema;
  /** Reads its body itself, by streaming (multipart). */
  multipart?: true;
  /** Id of the operation with which this one shares its rate limit; absent: it has its own. */
  rateLimit?: string;
  /** Honours `Idempotency-Key`. */
  idempotent?: true;
  /** Request headers that only this operation takes, for the OpenAPI document. */
  headers?: Record<string, string>;
  /** Success: status and body. */
  success: Success;
  /** Error types beyond those every operation has. */
  errors: ErrorType[];
  /** Loads what the path names, or throws its 404; runs before the body is read. */
  resource?: (call: Omit<Call<undefined, undefined>, 'body' | 'resource'>) => Promise<Resource>;
  /** Makes the response of a recorded answer; absent: the record is the response. */
  replay?: (call: Call<Body, Resource>, recorded: unknown) => unknown;
  /**
   * Checks of the body beyond its schema, and the permissions that what it names needs: they come before an idempotent
   * replay, whose answer may hold what the key must not see.
   */
  check?: (call: Pick<Call<Body>, 'body' | 'caller'>) => void | Promise<void>;
  /** Returns the body of the success response (undefined: none, or `ctx` has been answered). */
  handle: (call: Call<Body, Resource>) => Promise<unknown>;
}

export interface Success {
  status: number;
  description: string;
  /** A schema with `$id` becomes a named component of the OpenAPI document. */
  schema?: JsonSchema;
  /** JSON when absent. */
  mediaType?: string;
  /** Response headers that only this operation sends: name → what it says. */
  headers?: Record<string, string>;
}

/** Keeps the types of an operation's body and resource together. */
export function operation<Body = undefined, Resource = undefined>(
  definition: Operation<Body, Resource>,
): Operation<Body, Resource> {
  return definition;
}

/** A row of the routes table. */
export type Route = readonly [
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE',
  /** As the specification writes it: `/v1/sessions/{session_id}`. */
  path: string,
  /** What the key must hold; null: no key is asked for (outside of /v1 only). */
  permission: Scope | null,
  limited: boolean,
  operation: Operation,
];
