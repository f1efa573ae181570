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
] as const;

export type Scope = (typeof SCOPES)[number];

export function isScope(name: string): name is Scope {
  return (SCOPES as readonly string[]).includes(name);
}

/** @throws ServiceError `insufficient_scope` naming the permission that the key lacks (contract.md §1) */
export function requireScope(caller: { scopes: ReadonlySet<string> }, scope: Scope): void {
  if (caller.scopes.has(scope)) return;
  throw new ServiceError('insufficient_scope', `This request needs a key with the permission ${scope}.`, {
    required: scope,
  });
}
