import type { Middleware } from 'koa';
import { asProject } from '../../../src/db/project-pool.js';
import { ServiceError } from '../../../src/platform/errors.js';
import type { KeyLookup } from '../../../src/projects/key-cache.js';
import { permissionsOf, TOKEN_PREFIX, type SessionTokens } from '../../../src/projects/session-token.js';
import type { Caller } from './operation.js';

/** Finds who sends a request: `Authorization` has a key, or a session token where `tokens` verifies them. */
export function authenticate(keys: KeyLookup, tokens?: SessionTokens): Middleware {
  return async (ctx, next) => {
    const [, presented] = /^Bearer +(\S+) *$/i.exec(ctx.get('Authorization')) ?? [];
    const caller = presented === undefined ? null : await findCaller(presented, keys, tokens);
    if (caller === null) {
      throw new ServiceError(
        'authentication_error',
        'This needs a valid API key: send it as "Authorization: Bearer <API_KEY>".',
        undefined,
        { 'WWW-Authenticate': 'Bearer' },
      );
    }
    ctx.state.caller = caller;
    await asProject(caller.projectId, next);
  };
}

async function findCaller(presented: string, keys: KeyLookup, tokens?: SessionTokens): Promise<Caller | null> {
  if (!presented.startsWith(TOKEN_PREFIX)) {
    const key = await keys.presented(presented);
    return key && { ...key, token: null };
  }
  const token = tokens?.verify(presented) ?? null;
  const key = token && (await keys.byId(token.keyId));
  return key && { ...key, scopes: permissionsOf(token, key), token };
}
