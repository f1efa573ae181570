import type { Context, Middleware } from 'koa';
import { jsonHash } from '../../../src/platform/json-hash.js';
import { refuseToken, requireScope, requireTokenScope, type TokenScope } from '../../../src/projects/permissions.js';
import { findSessionState } from '../../../src/sessions/store.js';
import { jsonText } from '../../../src/platform/json-text.js';
import { isStorableText } from '../../../src/platform/text.js';
import type { Logger } from '../../../src/platform/logger.js';
import { ServiceError } from '../../../src/platform/errors.js';
import { auditEntries } from '../../../src/platform/metrics.js';
import type { ApiDeps } from '../../deps.js';
import { AuditTrail, entryOf } from './audit.js';
import { idempotencyOf, withoutKey } from './idempotency.js';
import { readJson } from './json-body.js';
import { isBoundedRead, type Call, type Caller, type Operation, type Route } from './operation.js';
import { applyRateLimit, applyTokenLimit } from './rate-limit.js';
import { sendBytes } from './send-bytes.js';
import { sessionNotFound } from './session-of-path.js';
import { bodyCheck, queryCheck } from './validate.js';

/** Limit of docs/decisions.md "Limits of work". The largest request of a client, 50 answers, has 300 values. */
const MAX_BODY_VALUES = 10_000;

/** Runs one operation with the common steps, in the order of decisions.md "HTTP". */
export function serve(route: Route, deps: ApiDeps): Middleware {
  const [, path, permission, limited, operation, , records] = route;
  const isRead = isBoundedRead(route);
  const checkBody = operation.body && bodyCheck(operation.body);
  const checkQuery = operation.query && queryCheck(operation.query);

  return (ctx) => withRefusals(ctx, run(ctx));

  async function run(ctx: Context): Promise<void> {
    ctx.state.route = path;
    const caller = ctx.state.caller as Caller;
    if (permission !== null) checkPermission(caller, route);
    if (permission !== null && caller.token !== null)
      await applyTokenLimit(ctx, deps.tokenLimiter, caller.token, route);
    if (limited) await applyRateLimit(ctx, deps.rateLimiter, caller, operation.rateLimit ?? operation.id);
    const read = isRead ? await deps.reads.enter(caller.projectId, ctx.res) : null;

    const request = requestOf(ctx, deps, caller);
    if (permission !== null) await checkSessionOfToken(request, route);
    const resource: unknown = await operation.resource?.({ ...request, once: withoutKey.once });
    if (checkQuery) checkQuery(request.query);
    if (ctx.method === 'HEAD' && operation.success.mediaType === 'text/event-stream') return headOf(ctx, operation);

    const body = checkBody && checkBody(await bodyOf(ctx, deps, caller, operation));
    await operation.check?.({ deps, body, caller });
    const idempotency = operation.idempotent ? idempotencyOf(ctx, deps, caller, operation.success.status) : withoutKey;
    const audit = new AuditTrail(route, { ...request, body });
    const record: Call['record'] = async (tx, response) => {
      audit.record(tx, response);
      await idempotency.record(tx, response);
    };
    const call: Call = { ...request, once: idempotency.once, record, audit, resource, body };
    const handle = async (): Promise<unknown> => {
      const answer = await operation.handle(call);
      if (audit.written > 0) auditEntries.inc({ outcome: 'ok' }, audit.written);
      else if (audit.isDue && ctx.state.isRepeat !== true)
        request.log.error({ route: path }, 'an operation left no entry in the audit log');
      return answer;
    };
    const replay = operation.replay && ((recorded: unknown) => operation.replay!(call, recorded));
    // An upload calls `once` itself: its content is known after reading.
    const answer = operation.multipart ? await handle() : await idempotency.once(jsonHash(body), handle, replay);
    const bytes = respond(ctx, operation, answer);
    read?.answer(bytes);
  }

  /** Of an operation that is recorded, what a key lacks is an entry, too. */
  async function withRefusals(ctx: Context, served: Promise<void>): Promise<void> {
    try {
      await served;
    } catch (error) {
      const { caller, requestId } = ctx.state as { caller?: Caller; requestId: string };
      const isRecorded = records !== null && caller !== undefined && caller.token === null;
      if (isRecorded && error instanceof ServiceError && error.status === 403) {
        const params = storableParams(ctx.params as Record<string, string>);
        const entry = entryOf(route, { caller, requestId, params });
        await deps.refusals.write({ ...entry, keyId: caller.keyId, details: lackingOf(error) });
      }
      throw error;
    }
  }
}

/** What a refused request lacked. */
function lackingOf({ details = {} }: ServiceError): object {
  const names = ['required', 'approvers', 'approver_groups'].filter((name) => name in details);
  return Object.fromEntries(names.map((name) => [name, details[name]]));
}

async function bodyOf(ctx: Context, { bodies }: ApiDeps, caller: Caller, operation: Operation): Promise<unknown> {
  if (operation.optionalBody && hasNoBody(ctx)) return {};
  await bodies.enter(ctx, caller.projectId);
  return readJson(ctx, operation.maxBodyValues ?? MAX_BODY_VALUES, operation.exactNumbers);
}

function hasNoBody({ req }: Context): boolean {
  return req.headers['transfer-encoding'] === undefined && Number(req.headers['content-length'] ?? 0) === 0;
}

/** A key needs the operation's permission, a session token its scope (docs/decisions.md "Session tokens"). */
function checkPermission({ token, scopes }: Caller, [, , permission, , , tokenScope]: Route): void {
  if (token === null) requireScope({ scopes }, permission!);
  else if (tokenScope === null) refuseToken(permission!);
  else requireTokenScope(token, tokenScope);
}

/** What a token may do in its own session only: a copy of a child would have no budget, and its workspace is that of another agent. */
const NOT_IN_CHILDREN: readonly (TokenScope | null)[] = ['fork', 'workspace'];

/** A session token is valid for its own session and the children of that, and no longer than it exists. @throws ServiceError `session_not_found` */
async function checkSessionOfToken(
  { deps, caller, params }: Pick<Call, 'deps' | 'caller' | 'params'>,
  [, , , , , tokenScope]: Route,
): Promise<void> {
  if (caller.token === null) return;
  const { sessionId } = caller.token;
  if (params.session_id !== undefined) {
    // The operation finds the session, or not.
    if (params.session_id === sessionId) return;
    if (NOT_IN_CHILDREN.includes(tokenScope)) sessionNotFound();
    const child = await findSessionState(deps.db, caller.projectId, params.session_id);
    if (child?.parent_session_id !== sessionId) sessionNotFound();
  } else if ((await findSessionState(deps.db, caller.projectId, sessionId)) === null) sessionNotFound();
}

function requestOf(
  ctx: Context,
  deps: ApiDeps,
  caller: Caller,
): Omit<Call, 'resource' | 'body' | 'once' | 'record' | 'audit'> {
  return {
    deps,
    caller,
    requestId: ctx.state.requestId as string,
    log: ctx.state.log as Logger,
    params: storableParams(ctx.params as Record<string, string>),
    query: lastOfEach(ctx.query),
    ctx,
  };
}

/** Replaces an id that Postgres cannot accept by the empty id, which no resource has. */
function storableParams(params: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(params).map(([name, value]) => [name, isStorableText(value) ? value : '']));
}

function lastOfEach(query: Context['query']): Record<string, string> {
  const values = Object.entries(query).map(([name, value]) => [name, Array.isArray(value) ? value.at(-1)! : value!]);
  return Object.fromEntries(values) as Record<string, string>;
}

function headOf(ctx: Context, { success }: Operation): void {
  ctx.status = success.status;
  ctx.set('Content-Type', success.mediaType!);
  ctx.body = '';
}

/** Returns the bytes of the body. They stay in memory until the client has read them. */
function respond(ctx: Context, { success, repeated }: Operation, answer: unknown): number {
  if (answer === undefined) {
    if (success.status === 204) ctx.status = 204;
    return 0;
  }
  ctx.status = repeated !== undefined && ctx.state.isRepeat === true ? repeated.status : success.status;
  ctx.set('Content-Type', 'application/json');
  ctx.set('Cache-Control', 'no-store');
  return sendBytes(ctx, Buffer.from(jsonText(answer)));
}
