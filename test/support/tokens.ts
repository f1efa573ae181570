import { expect } from 'chai';
import { TOKEN_SCOPE_NAMES, type TokenScope } from '../../src/projects/permissions.js';
import { SessionTokens, type SessionToken } from '../../src/projects/session-token.js';
import type { ApiCall } from './client.js';
import type { TestService } from './service.js';

interface TokenBody {
  scopes?: readonly string[];
  expires_in?: number;
  actor?: string | null;
}

/** A token of the session, made by the API; every scope unless given. */
export async function newToken(
  { api }: { api: ApiCall },
  sessionId: string,
  { scopes = TOKEN_SCOPE_NAMES, ...more }: TokenBody = {},
): Promise<string> {
  const { status, body } = await api('POST', `/v1/sessions/${sessionId}/tokens`, { scopes, ...more });
  expect(status, JSON.stringify(body)).to.equal(201);
  return body.token as string;
}

/** Makes a token as the service does, with what the API would refuse: another lifetime, another key of the service. */
export async function signToken(
  { config, db, key }: Pick<TestService, 'config' | 'db' | 'key'>,
  sessionId: string,
  claims: Partial<Omit<SessionToken, 'scopes'>> & { scopes?: TokenScope[] } = {},
): Promise<string> {
  const { scopes = TOKEN_SCOPE_NAMES, ...more } = claims;
  const keyId = more.keyId ?? (await keyIdOf(db, key));
  const token = {
    ...{ keyId, sessionId, familyId: sessionId, actor: null },
    ...{ approverGroups: new Set<string>(), expiresAt: Date.now() + 900_000 },
    ...more,
    scopes: new Set(scopes),
  };
  return new SessionTokens(config.encryptionKeys).sign(token);
}

export async function keyIdOf(db: TestService['db'], key: string): Promise<string> {
  const [row] = await db.query<[{ id: string }]>(
    `SELECT id FROM api_keys WHERE key_hash = sha256(convert_to($1, 'UTF8'))`,
    [key],
  );
  return row.id;
}
