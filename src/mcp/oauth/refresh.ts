import pRetry from 'p-retry';
import type { Database } from '../../db/db.js';
import { isDatabaseAway } from '../../db/transaction.js';
import type { GuardedNetwork } from '../../network/network.js';
import type { Config } from '../../platform/config.js';
import type { Logger } from '../../platform/logger.js';
import { AuthorizationRequiredError, OauthRefusedError, OauthUnavailableError } from './failure.js';
import {
  claimRefresh,
  deleteRefused,
  isSameParty,
  openGrant,
  readGrant,
  releaseClaim,
  storeRefreshed,
  type Grant,
  type SealedGrant,
} from './grants.js';
import { requestTokens } from './request-tokens.js';
import { tryRevoke } from './revoke.js';

export interface RefreshDeps {
  db: Database;
  mcpNetwork: GuardedNetwork;
  config: Pick<Config, 'encryptionKeys'>;
  log: Logger;
}

/**
 * Refreshes and stores tokens. Null if another process refreshes them, or has changed them meanwhile: read them again.
 * No connection to the database is held while the authorization server is asked.
 * @throws AuthorizationRequiredError if the authorization server refuses, OauthUnavailableError
 */
export async function refreshTokens(deps: RefreshDeps, sealed: SealedGrant, grant: Grant): Promise<Grant | null> {
  const { db, mcpNetwork } = deps;
  const claim = await claimRefresh(db, sealed);
  if (claim === null) return null;
  const answer = await request(mcpNetwork, grant).catch(async (error: unknown) => {
    await releaseClaim(db, sealed.id, claim);
    throw error;
  });
  if ('tokens' in answer) return store(deps, sealed.id, claim, answer);
  if (await deleteRefused(db, sealed.id, claim)) throw new AuthorizationRequiredError(answer.refusal);
  return null;
}

/** The refreshed grant, or why there is none: the authorization server refuses, or there is no refresh token. */
async function request(network: GuardedNetwork, grant: Grant): Promise<Grant | { refusal: string | undefined }> {
  const { tokens, client, server, resource } = grant;
  const { refresh_token } = tokens;
  if (refresh_token === undefined) return { refusal: undefined };
  const form = { grant_type: 'refresh_token', refresh_token, resource };
  try {
    const refreshed = await requestTokens(network, { client, server }, form);
    // RFC 6749 §6: without a new one, the refresh token stays.
    return { ...grant, client: refreshed.client, tokens: { refresh_token, ...refreshed.tokens } };
  } catch (error) {
    if (error instanceof OauthRefusedError) return { refusal: error.message };
    throw error instanceof OauthUnavailableError
      ? error
      : new OauthUnavailableError('the authorization server answered a refresh with something else than tokens');
  }
}

/** The old tokens may be void by now, so the new ones are stored also if Postgres is away for a minute. */
async function store(deps: RefreshDeps, id: string, claim: string, refreshed: Grant): Promise<Grant | null> {
  const { db, config } = deps;
  const isStored = await pRetry(() => storeRefreshed(db, config.encryptionKeys, id, claim, refreshed), {
    retries: 60,
    minTimeout: 100,
    maxTimeout: 1000,
    shouldRetry: ({ error }) => isDatabaseAway(error),
  });
  if (isStored) return refreshed;
  const sealed = await readGrant(db, id);
  const current = sealed === null ? null : openGrant(config.encryptionKeys, sealed);
  // The confirmation of an UPDATE may have been lost.
  if (current?.tokens.access_token === refreshed.tokens.access_token) return refreshed;
  if (current === null || !isSameParty(current, refreshed)) await tryRevoke(deps, id, () => refreshed);
  return null;
}
