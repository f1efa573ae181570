import type Koa from 'koa';
import type { Tx } from '../../../src/db/db.js';
import type { ErrorType } from '../../../src/platform/errors.js';
import type { Logger } from '../../../src/platform/logger.js';
import type { LiveKey } from '../../../src/projects/api-keys.js';
import type { Scope, TokenScope } from '../../../src/projects/permissions.js';
import type { SessionToken } from '../../../src/projects/session-token.js';
import type { ApiDeps } from '../../deps.js';
import type { AuditTrail, Recorded } from './audit.js';

export type JsonSchema = Record<string, unknown>;

/** Who sends the request: its API key, already checked. */
export interface Caller extends LiveKey {
  /** The session token that was sent instead of the key that made it; null for a key. `scopes` are then those it stands for. */
  token: SessionToken | null;
  /** The person for whom the request is made: that of the token, or of the header `X-Actor`; null without. */
  actor: string | null;
}

/** One request of an operation. Everything is validated except the operation's own rules. */
export interface Call<Body = unknown, Resource = unknown> {
  deps: ApiDeps;
  caller: Caller;
  requestId: string;
  log: Logger;
  /** Path parameters, percent-decoded. */
  params: Record<string, string>;
  /** Query parameters by name. If one is repeated, the last counts. */
  query: Record<string, string>;
  resource: Resource;
  /** The body, validated by the operation's schema (undefined without a schema). */
  body: Body;
  /**
   * Stores the response in the request's idempotency record and the entry in the audit log, in the transaction that has the effect
   * (decisions.md "HTTP", "Keys, approvers, audit log"). Each does nothing where the request has no `Idempotency-Key`, or leaves no
   * entry (`api/routes.ts`). Every operation that writes calls it, in the last of its transactions.
   */
  record: (tx: Tx, response?: unknown) => Promise<void>;
  /** The entries of the request, for an operation that writes them itself. */
  audit: AuditTrail;
  /**
   * Only for uploads, whose content is known after reading: runs `work` under the request's `Idempotency-Key`, or
   * returns the response of an earlier request with the same content.
   */
  once: <T>(contentHash: Buffer, work: () => Promise<T>, replay?: (recorded: unknown) => T | Promise<T>) => Promise<T>;
  /** For operations that write the response themselves (streams, redirects, uploads). */
  ctx: Koa.Context;
}

/**
 * An operation of the API: one file each, starting with its schema. The order of checks is that of decisions.md "HTTP": key,
 * permission, rate limit, `resource` (from the path), body, idempotency, `handle` (api/http/core/serve).
 */
// oxlint-disable-next-line typescript/no-explicit-any -- a table holds many types; operation() keeps each together
export interface Operation<Body = any, Resource = any> {
  /** operationId, one-line summary and description of the OpenAPI document: what it does, and when to use it. */
  id: string;
  summary: string;
  description: string;
  /** JSON Schema (an object) of the query parameters except `limit` and `cursor`. Their values are strings. */
  query?: JsonSchema;
  /** The operation answers a page: it accepts `limit` and `cursor` (api/http/core/page reads them). */
  paged?: true;
  /** Strict JSON Schema of the JSON body (`additionalProperties: false`), with examples. If absent, the body is ignored. */
  body?: JsonSchema;
  /** A request without a body is one with the body {}. */
  optionalBody?: true;
  /** Limit of the JSON values in the body, if it is not the usual one (docs/decisions.md "Limits of work"). */
  maxBodyValues?: number;
  /** `ctx.state.exactBody` has the body with all digits of its numbers (src/platform/exact-json). */
  exactNumbers?: true;
  /** The operation reads the body itself, as a stream (multipart). */
  multipart?: true;
  /** Id of the operation whose rate limit this one shares; if absent, it has its own. */
  rateLimit?: string;
  idempotent?: true;
  /** False: a request without an answer may have had its effect, and must not be sent again by itself. */
  repeatable?: false;
  /** Additional request headers of this operation, for the OpenAPI document. */
  headers?: Record<string, string>;
  /** Requests that the service sends because of this operation, as OpenAPI's callbacks. */
  callbacks?: JsonSchema;
  success: Success;
  /** Another success, of a request that finds what an earlier one has made: `handle` sets `ctx.state.isRepeat`. */
  repeated?: Pick<Success, 'status' | 'description' | 'schema'>;
  /** Error types in addition to the common ones. */
  errors: ErrorType[];
  /** An error that the operation answers in a form of its own, for browsers: it takes the place of the envelope. */
  failure?: Pick<Success, 'status' | 'description' | 'mediaType'>;
  /** Loads the resource in the path, or throws its 404. Runs before the body is read. */
  resource?: (call: Omit<Call<undefined, undefined>, 'body' | 'resource' | 'audit' | 'record'>) => Promise<Resource>;
  /** Builds the response from a recorded one; if absent, the record is the response. */
  replay?: (call: Call<Body, Resource>, recorded: unknown) => unknown;
  /**
   * Checks of the body beyond its schema, and of permissions for resources in the body. They run before an idempotent
   * replay, whose response may contain data that this key must not see.
   */
  check?: (call: Pick<Call<Body>, 'deps' | 'body' | 'caller'>) => void | Promise<void>;
  /** Returns the body of the success response (undefined: no body, or the response is written to `ctx`). */
  handle: (call: Call<Body, Resource>) => Promise<unknown>;
}

interface Success {
  status: number;
  description: string;
  /** A schema with `$id` becomes a named component of the OpenAPI document. */
  schema?: JsonSchema;
  /** An example of the body; if absent, the first one of the schema. */
  example?: unknown;
  /** JSON when absent. */
  mediaType?: string;
  /** Additional response headers of this operation: name → description. */
  headers?: Record<string, string>;
}

export function operation<Body = undefined, Resource = undefined>(
  definition: Operation<Body, Resource>,
): Operation<Body, Resource> {
  return definition;
}

export type Route = readonly [
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE',
  /** As in the OpenAPI document: `/v1/sessions/{session_id}`. */
  path: string,
  /** The required permission of the key; null: no key is required (outside of /v1 only). */
  permission: Scope | null,
  limited: boolean,
  operation: Operation,
  /** The scope with which a session token may do this in its own session; null: no token may. */
  tokenScope: TokenScope | null,
  /** What a success leaves in the audit log; null for reads and for what conversations are made of. */
  records: Recorded | null,
];

/** Reads that answer with JSON, which can be large. Streams and downloads have limits of their own. */
export function isBoundedRead([method, , permission, , { success }]: Route): boolean {
  return method === 'GET' && permission !== null && success.schema !== undefined && success.mediaType === undefined;
}
