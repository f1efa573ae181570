import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';
import { isApprover } from './approver-groups.js';
import { TOKEN_SCOPES, type Scope, type TokenScope } from './permissions.js';

export const TOKEN_PREFIX = 'sst_';
/** The longest token that `sign` makes has about 3,200 characters: an actor of 128 characters in JSON, and 20 groups. */
const MAX_TOKEN_LENGTH = 4096;

/** What a session token says: a page that has it acts for one session, with these scopes (docs/decisions.md "Session tokens"). */
export interface SessionToken {
  /** The key that made it: the token belongs to the key's project, and ends with the key. */
  keyId: string;
  sessionId: string;
  /** The first session, if this one is a copy that a token made, else this one: all of them have the limits of one (src/sessions/families). */
  familyId: string;
  scopes: ReadonlySet<TokenScope>;
  /** Who answers with it: stored in each answer. */
  actor: string | null;
  /** The groups in which it approves calls, as far as its key is in them at the request. */
  approverGroups: ReadonlySet<string>;
  /** Milliseconds since 1970. */
  expiresAt: number;
}

/** Tokens of earlier versions have no groups and no `familyId`: they are of no copies. */
type Claims = [
  keyId: string,
  sessionId: string,
  scopes: TokenScope[],
  actor: string | null,
  expiresAt: number,
  approverGroups?: string[],
  /** Of a copy only. */
  familyId?: string,
];

/**
 * Makes and verifies session tokens. They are signed and not stored, so every process verifies them without a query. The newest
 * key of ENCRYPTION_KEY signs; all of its keys are accepted, so that tokens survive a rotation.
 */
export class SessionTokens {
  readonly #signingKeys: Buffer[];

  constructor(encryptionKeys: Buffer[]) {
    // Derived keys, as for download links: a flaw in one use must not endanger the others.
    this.#signingKeys = encryptionKeys.map((key) => Buffer.from(hkdfSync('sha256', key, '', 'session-token', 32)));
  }

  sign({ keyId, sessionId, familyId, scopes, actor, expiresAt, approverGroups }: SessionToken): string {
    const claims: Claims = [keyId, sessionId, [...scopes], actor, expiresAt, [...approverGroups]];
    if (familyId !== sessionId) claims.push(familyId);
    const payload = Buffer.from(JSON.stringify(claims)).toString('base64url');
    return `${TOKEN_PREFIX}${payload}.${signature(payload, this.#signingKeys[0]!)}`;
  }

  /** Reads a token; null if it is malformed, altered or expired. Its key can be revoked: the caller looks it up. */
  verify(token: string, now = Date.now()): SessionToken | null {
    if (token.length > MAX_TOKEN_LENGTH) return null;
    const [, payload, given] = /^sst_([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]{43})$/.exec(token) ?? [];
    if (payload === undefined || given === undefined) return null;
    // The text is compared, not its bytes: the last character of base64 has bits that decoding ignores.
    if (!this.#signingKeys.some((key) => isSameText(given, signature(payload, key)))) return null;
    const claims = JSON.parse(Buffer.from(payload, 'base64url').toString()) as Claims;
    const [keyId, sessionId, scopes, actor, expiresAt, groups = [], familyId = sessionId] = claims;
    if (expiresAt <= now) return null;
    const approverGroups = new Set(groups);
    return { keyId, sessionId, familyId, scopes: new Set(scopes), actor, approverGroups, expiresAt };
  }
}

/** What a scope gives beyond the permissions that it needs, if the key has them: only who may approve calls can pass that on. */
const PASSED_ON: Partial<Record<TokenScope, readonly Scope[]>> = { answer: ['approvals:write'] };

/** The permissions of the key that a token carries on: those that its scopes stand for, as far as the key has them. */
export function permissionsOf(token: SessionToken, key: { scopes: ReadonlySet<string> }): Set<string> {
  const named = [...token.scopes].flatMap<string>((scope) => [...TOKEN_SCOPES[scope], ...(PASSED_ON[scope] ?? [])]);
  return new Set(named.filter((permission) => key.scopes.has(permission)));
}

/** The groups of a token that its key has. */
export function groupsOf(token: SessionToken, key: { approverGroups: ReadonlySet<string> }): Set<string> {
  return new Set([...token.approverGroups].filter((group) => isApprover(key.approverGroups, [group])));
}

function signature(payload: string, key: Buffer): string {
  return createHmac('sha256', key).update(payload).digest('base64url');
}

function isSameText(a: string, b: string): boolean {
  return timingSafeEqual(Buffer.from(a), Buffer.from(b));
}
