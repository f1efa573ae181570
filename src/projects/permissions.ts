import { ServiceError } from '../platform/errors.js';

export const SCOPES = [
  'skills:write',
  'skills:read',
  'mcp_servers:write',
  'mcp_servers:read',
  'sessions:write',
  'sessions:read',
  'approvals:write',
  'files:write',
  'files:read',
  'webhooks:write',
  'webhooks:read',
  'agents:write',
  'agents:read',
  'keys:write',
  'keys:read',
  'audit:read',
  'memories:write',
  'memories:read',
  'users:erase',
] as const;

export type Scope = (typeof SCOPES)[number];

/** What `all` stands for: a key that makes keys is asked for by name. */
export const ALL_SCOPES: readonly Scope[] = SCOPES.filter((scope) => scope !== 'keys:write');

export function isScope(name: string): name is Scope {
  return (SCOPES as readonly string[]).includes(name);
}

/**
 * What a session token may do in its session, and the permissions that the key which makes it needs, in the order in which
 * they are checked (docs/decisions.md "Session tokens").
 */
export const TOKEN_SCOPES = {
  read: ['sessions:read'],
  send: ['sessions:write'],
  cancel: ['sessions:write'],
  answer: ['sessions:write'],
  files: ['files:read', 'files:write'],
  workspace: ['files:read'],
  fork: ['sessions:write'],
} as const satisfies Record<string, readonly Scope[]>;

export type TokenScope = keyof typeof TOKEN_SCOPES;

export const TOKEN_SCOPE_NAMES = Object.keys(TOKEN_SCOPES) as TokenScope[];

/** @throws ServiceError `insufficient_scope` naming the permission that the key lacks (decisions.md "HTTP") */
export function requireScope(caller: { scopes: ReadonlySet<string> }, scope: Scope): void {
  if (caller.scopes.has(scope)) return;
  throw new ServiceError('insufficient_scope', `This request needs a key with the permission ${scope}.`, {
    required: scope,
  });
}

/** @throws ServiceError `insufficient_scope` naming the scope that the session token lacks (docs/decisions.md "Session tokens") */
export function requireTokenScope(token: { scopes: ReadonlySet<TokenScope> }, scope: TokenScope): void {
  if (token.scopes.has(scope)) return;
  throw new ServiceError('insufficient_scope', `This request needs a session token with the scope ${scope}.`, {
    required: scope,
  });
}

/** Refuses a request that no session token may make, whatever its scopes: it needs a key with this permission. */
export function refuseToken(permission: Scope): never {
  throw new ServiceError(
    'insufficient_scope',
    `A session token cannot do this. Send the request from your back end, with a key that has the permission ${permission}.`,
    { required: permission },
  );
}
