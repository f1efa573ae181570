import type { Context, Middleware } from 'koa';
import { asProject } from '../../../src/db/project-pool.js';
import { ServiceError } from '../../../src/platform/errors.js';
import type { KeyLookup } from '../../../src/projects/key-cache.js';
import { unauthenticated } from '../../../src/projects/unauthenticated.js';
import { groupsOf, permissionsOf, TOKEN_PREFIX, type SessionTokens } from '../../../src/projects/session-token.js';
import type { Caller } from './operation.js';

/** Finds who sends a request: `Authorization` has a key, or a session token where `tokens` verifies them. */
export function authenticate(keys: KeyLookup, tokens?: SessionTokens): Middleware {
  return async (ctx, next) => {
    const [, presented] = /^Bearer +(\S+) *$/i.exec(ctx.get('Authorization')) ?? [];
    const caller = presented === undefined ? null : await findCaller(presented, keys, tokens);
    if (caller === null) throw unauthenticated();
    ctx.state.caller = caller.token === null ? { ...caller, actor: actorOfHeader(ctx) } : caller;
    await asProject(caller.projectId, next);
  };
}

async function findCaller(presented: string, keys: KeyLookup, tokens?: SessionTokens): Promise<Caller | null> {
  if (!presented.startsWith(TOKEN_PREFIX)) {
    const key = await keys.presented(presented);
    return key && { ...key, token: null, actor: null };
  }
  const token = tokens?.verify(presented) ?? null;
  const key = token && (await keys.byId(token.keyId));
  if (token === null || key === null) return null;
  return {
    ...key,
    scopes: permissionsOf(token, key),
    approverGroups: groupsOf(token, key),
    token,
    actor: token.actor,
  };
}

/**
 * The person for whom a back end sends a request with its key: the header `X-Actor`; null without it.
 * @throws ServiceError `bad_request`
 */
function actorOfHeader({ req }: Context): string | null {
  const actor = req.headers['x-actor'];
  if (actor === undefined) return null;
  if (typeof actor === 'string' && /^[\x20-\x7e]{1,128}$/.test(actor)) return actor;
  throw new ServiceError('bad_request', 'X-Actor must be 1 to 128 printable ASCII characters.');
}
