import { setTimeout } from 'node:timers/promises';
import pLimit from 'p-limit';
import { FairQueue } from '../../platform/fair-queue.js';
import { AuthorizationRequiredError, OauthUnavailableError } from './failure.js';
import { openGrant, readGrant, type Grant, type StoredGrant } from './grants.js';
import { refreshTokens, type RefreshDeps } from './refresh.js';
import { RememberedTokens, type OauthServer } from './remembered.js';
import { ignored } from '../../platform/ignored.js';

/** A token is refreshed this long before it expires, or in the last fifth of a shorter lifetime. */
const REFRESH_MARGIN_MS = 60_000;
/** Limits of parallel refreshes (docs/decisions.md "Limits of work"). */
const MAX_REFRESHES_PER_PROJECT = 2;
const MAX_REFRESHES = 16;
/** How long to wait for the refresh of another process: longer than the claim of one that died. */
const RENEW_TIMEOUT_MS = 15_000;
const CLAIM_POLL_INTERVAL_MS = 200;

export interface AccessToken {
  token: string;
  /** True if it was issued for this request: a server that rejects it would reject the next one, too. */
  isNew: boolean;
}

/**
 * The access tokens of all OAuth servers, for this process. One process at a time refreshes a server's tokens: it has the
 * claim of their row. Parallel calls in a process share a refresh.
 */
export class OauthAccess {
  readonly #remembered = new RememberedTokens();
  readonly #renewing = new Map<string, Promise<AccessToken>>();
  readonly #ofProject = new FairQueue({ perProject: MAX_REFRESHES_PER_PROJECT });
  readonly #ofProcess = pLimit(MAX_REFRESHES);

  constructor(private readonly deps: RefreshDeps) {}

  /**
   * Returns a token for a request. `rejected` is a token that the server answered with 401.
   * @throws AuthorizationRequiredError, OauthUnavailableError, UnsealError
   */
  async token(server: OauthServer, rejected?: AccessToken): Promise<AccessToken> {
    const known = this.#remembered.get(server);
    if (known === undefined || known.token === rejected?.token || known.expiresAt <= Date.now()) {
      return this.#renew(server, rejected?.token);
    }
    // A token that is still valid need not wait for its refresh.
    if (known.refreshAt <= Date.now()) void this.#renew(server, known.token).catch(ignored('the token is still valid'));
    return { token: known.token, isNew: false };
  }

  secretsOf(id: string): readonly string[] {
    return this.#remembered.secretsOf(id);
  }

  forget(id: string): void {
    this.#remembered.forget(id);
  }

  /** Waits for the refreshes under way, which may have made the stored tokens void already. */
  async close(): Promise<void> {
    await Promise.allSettled(this.#renewing.values());
  }

  /** Returns another token than `replaced`. Joins a call under way in this process, unless that one gives `replaced`. */
  async #renew(server: OauthServer, replaced: string | undefined): Promise<AccessToken> {
    const key = `${server.id}/${server.credential_version}`;
    const running = this.#renewing.get(key);
    if (running !== undefined) {
      const access = await running;
      if (access.token !== replaced) return access;
    }
    const next =
      this.#renewing.get(key) ?? this.#readOrRefresh(server, replaced).finally(() => this.#renewing.delete(key));
    this.#renewing.set(key, next);
    return next;
  }

  /** Another process may have refreshed the tokens, so the row is read first. Only a refresh needs a slot. */
  async #readOrRefresh(server: OauthServer, replaced: string | undefined): Promise<AccessToken> {
    const until = Date.now() + RENEW_TIMEOUT_MS;
    for (;;) {
      const { sealed, grant } = await this.#read(server.id);
      const expiresAt = sealed.tokens_expire_at === null ? Infinity : Date.parse(sealed.tokens_expire_at);
      const token = this.#remember(server, grant, expiresAt);
      if (token !== replaced && Date.now() < expiresAt) return { token, isNew: false };
      const refreshed = await this.#ofProject.within(server.project_id, () =>
        this.#ofProcess(() => (Date.now() > until ? null : this.#refresh(sealed, grant))),
      );
      if (refreshed !== null) {
        const { expires_in = Infinity } = refreshed.tokens;
        return { token: this.#remember(server, refreshed, Date.now() + expires_in * 1000), isNew: true };
      }
      if (Date.now() > until) throw new OauthUnavailableError('other refreshes have not ended in time');
      await setTimeout(CLAIM_POLL_INTERVAL_MS);
    }
  }

  async #read(id: string): Promise<{ sealed: StoredGrant; grant: Grant }> {
    const sealed = await readGrant(this.deps.db, id);
    if (sealed === null) this.#remembered.forget(id);
    const grant = sealed === null ? null : openGrant(this.deps.config.encryptionKeys, sealed);
    if (sealed !== null && grant !== null) return { sealed, grant };
    this.#remembered.expire(id);
    throw new AuthorizationRequiredError();
  }

  async #refresh(sealed: StoredGrant, grant: Grant): Promise<Grant | null> {
    try {
      return await refreshTokens(this.deps, sealed, grant);
    } catch (error) {
      if (error instanceof AuthorizationRequiredError) this.#remembered.expire(sealed.id);
      throw error;
    }
  }

  #remember(server: OauthServer, { tokens, client }: Grant, expiresAt: number): string {
    const { access_token: token, refresh_token, expires_in = 0 } = tokens;
    const margin = Math.min(REFRESH_MARGIN_MS, expires_in * 200);
    const refreshAt = refresh_token === undefined ? Infinity : expiresAt - margin;
    const secrets = [client.client_secret, refresh_token, token].filter((secret) => secret !== undefined);
    this.#remembered.set(server, { token, expiresAt, refreshAt }, secrets);
    return token;
  }
}
