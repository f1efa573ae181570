import { refreshAuthorization } from '@modelcontextprotocol/sdk/client/auth.js';
import { OAuthError } from '@modelcontextprotocol/sdk/server/auth/errors.js';
import pLimit from 'p-limit';
import type { DataSource, EntityManager } from 'typeorm';
import { McpOauthEntity, type McpOauthRow } from '../../db/entities/mcp-oauth.js';
import type { McpServerRow } from '../../db/entities/mcp-servers.js';
import { transaction } from '../../db/transaction.js';
import type { Config } from '../../platform/config.js';
import type { McpNetwork } from '../../network/network.js';
import { checkTokens } from './check-tokens.js';
import { AuthorizationRequiredError, OauthUnavailableError } from './failure.js';
import { oauthFetch, REQUEST_TIMEOUT_MS } from './oauth-fetch.js';
import { clearTokens, openClient, openTokens, storeTokens, type OauthClient, type OauthTokens } from './store.js';

/** A token is refreshed this long before it expires, or in the last fifth of a shorter lifetime. */
const REFRESH_MARGIN_MS = 60_000;
/** Limit of parallel refreshes: each holds a database connection while the authorization server answers. */
const MAX_REFRESHES = 4;
/** Limit of secrets kept per server, to redact them in the server's text. */
const MAX_SECRETS = 16;

/** An access token with the version of its token set. */
export interface AccessToken {
  token: string;
  version: number;
  /** When to refresh, in milliseconds of Date.now(). */
  refreshAt: number;
}

/** A server of type OAUTH. Its version rejects tokens of an earlier `auth`. */
type OauthServer = Pick<McpServerRow, 'id' | 'credential_version'>;

interface OpenedTokens {
  row: McpOauthRow;
  tokens: OauthTokens;
  client: OauthClient;
}

/**
 * The access tokens of all OAuth servers, for this process. One process at a time refreshes a server's tokens, while it
 * locks their row. Parallel calls in a process share a refresh.
 */
export class OauthAccess {
  readonly #current = new Map<string, AccessToken>();
  readonly #refreshing = new Map<string, Promise<AccessToken>>();
  readonly #secrets = new Map<string, string[]>();
  readonly #limit = pLimit(MAX_REFRESHES);

  constructor(
    private readonly deps: {
      db: DataSource;
      mcpNetwork: McpNetwork;
      config: Pick<Config, 'encryptionKeys'>;
    },
  ) {}

  /**
   * Returns a token for a request. `rejected` is a token that the server answered with 401.
   * @throws AuthorizationRequiredError, OauthUnavailableError, UnsealError
   */
  async token(server: OauthServer, rejected?: AccessToken): Promise<AccessToken> {
    const key = `${server.id}/${server.credential_version}`;
    const known = this.#current.get(key);
    if (known !== undefined && known.version !== rejected?.version && Date.now() < known.refreshAt) return known;
    const running = this.#refreshing.get(key);
    if (running !== undefined) return running;
    const refreshing = this.#limit(() => this.#renew(server.id, rejected))
      .then((access) => {
        this.#current.set(key, access);
        return access;
      })
      .finally(() => this.#refreshing.delete(key));
    this.#refreshing.set(key, refreshing);
    return refreshing;
  }

  /** The recent secrets of a server in this process. */
  secretsOf(id: string): readonly string[] {
    return this.#secrets.get(id) ?? [];
  }

  /** Reads the row first: another process may have refreshed the tokens already. */
  async #renew(id: string, rejected: AccessToken | undefined): Promise<AccessToken> {
    const row = await this.deps.db.getRepository<McpOauthRow>(McpOauthEntity).findOneBy({ id });
    const stored = this.#accessToken(this.#open(row));
    const isRejected = stored.version === rejected?.version;
    if (!isRejected && Date.now() < stored.refreshAt) return stored;
    try {
      return await this.#refresh(id, stored.version);
    } catch (error) {
      const isStillValid = !isRejected && Date.now() < expiryOf(row!);
      if (!(error instanceof OauthUnavailableError) || !isStillValid) throw error;
      return stored;
    }
  }

  async #refresh(id: string, version: number): Promise<AccessToken> {
    const opened = await transaction(this.deps.db, async (tx) => {
      // Another process may hold the lock while it waits for the authorization server.
      await tx.query(`SET LOCAL lock_timeout = ${REQUEST_TIMEOUT_MS + 1500}`);
      const opened = this.#open(await lockRow(tx, id));
      if (opened.row.tokens_version !== version) return opened;
      const tokens = await this.#requestTokens(opened);
      if (tokens === null) {
        await clearTokens(tx, id);
        return null;
      }
      await storeTokens(tx, this.deps.config.encryptionKeys, id, tokens);
      return this.#open(await lockRow(tx, id));
    });
    if (opened === null) throw new AuthorizationRequiredError();
    return this.#accessToken(opened);
  }

  /** Requests new tokens; null if the authorization server refuses, or there is no refresh token. */
  async #requestTokens({ row, tokens, client }: OpenedTokens): Promise<OauthTokens | null> {
    if (tokens.refresh_token === undefined) return null;
    const { server, resource } = row.discovery;
    try {
      return checkTokens(
        await refreshAuthorization(server.issuer, {
          metadata: server,
          clientInformation: client,
          refreshToken: tokens.refresh_token,
          resource,
          fetchFn: oauthFetch(this.deps.mcpNetwork),
        }),
      );
    } catch (error) {
      // oauthFetch throws OauthUnavailableError for 5xx, so a protocol error is a refusal.
      if (error instanceof OAuthError) return null;
      throw error instanceof OauthUnavailableError
        ? error
        : new OauthUnavailableError('the authorization server answered a refresh with something else than tokens');
    }
  }

  #open(row: McpOauthRow | null): OpenedTokens {
    const keys = this.deps.config.encryptionKeys;
    const tokens = row === null ? null : openTokens(keys, row);
    if (row === null || tokens === null) throw new AuthorizationRequiredError();
    const client = openClient(keys, row);
    this.#remember(row.id, [tokens.access_token, tokens.refresh_token, client.client_secret]);
    return { row, tokens, client };
  }

  #accessToken({ row, tokens }: OpenedTokens): AccessToken {
    const margin = Math.min(REFRESH_MARGIN_MS, (tokens.expires_in ?? 0) * 200);
    return { token: tokens.access_token, version: row.tokens_version, refreshAt: expiryOf(row) - margin };
  }

  #remember(id: string, secrets: (string | undefined)[]): void {
    const known = this.#secrets.get(id) ?? [];
    const added = secrets.filter((secret): secret is string => secret !== undefined && !known.includes(secret));
    this.#secrets.set(id, [...known, ...added].slice(-MAX_SECRETS));
  }
}

async function lockRow(tx: EntityManager, id: string): Promise<McpOauthRow | null> {
  return tx
    .getRepository<McpOauthRow>(McpOauthEntity)
    .createQueryBuilder('oauth')
    .where('oauth.id = :id', { id })
    .setLock('pessimistic_write')
    .getOne();
}

/** Tokens without a lifetime are used until the server rejects them. */
function expiryOf({ tokens_expire_at }: McpOauthRow): number {
  return tokens_expire_at === null ? Infinity : Date.parse(tokens_expire_at);
}
