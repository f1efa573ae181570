import { unlessLate } from './limited-wait.js';

/** Longest wait for a token. A metadata server that does not answer must not hold a call. */
const TOKEN_TIMEOUT_MS = 10_000;
/** A failure is the answer to further requests for this long: the call after it fails at once instead of waiting again. */
const FAILURE_KEPT_MS = 1000;
/** Earlier tokens that are still redacted: a server may echo one that was replaced meanwhile. */
const MAX_REMEMBERED_TOKENS = 4;

/** No token for a request. The message names no secret and may be shown to clients. */
export class CredentialsError extends Error {
  constructor(issuer: string, cause: unknown) {
    super(`The service got no access token from ${issuer}.`, { cause });
    this.name = 'CredentialsError';
  }
}

/** Returns a token that is valid now. It keeps the token and replaces it before it ends, or at once with `renew`. */
type TokenSource = (renew: boolean) => Promise<string>;

/** Short-lived tokens of one issuer, for requests to a model or to Postgres. */
export class BearerTokens {
  #pending: Promise<string> | null = null;
  #failure: { error: CredentialsError; until: number } | null = null;
  #renew = false;
  #remembered: string[] = [];

  /** `issuer` names where tokens come from, for messages. */
  constructor(
    private readonly issuer: string,
    private readonly source: TokenSource,
  ) {}

  /** The newest tokens, to be redacted. */
  get remembered(): readonly string[] {
    return this.#remembered;
  }

  /** @throws CredentialsError */
  get(): Promise<string> {
    if (this.#failure !== null && performance.now() < this.#failure.until) return Promise.reject(this.#failure.error);
    this.#pending ??= this.#load().finally(() => (this.#pending = null));
    return this.#pending;
  }

  /** A server refused the token: the next request gets a new one. */
  renew(refused: string): void {
    this.#renew ||= this.#remembered[0] === refused;
  }

  async #load(): Promise<string> {
    try {
      const token = await withTimeout(this.source(this.#renew));
      this.#renew = false;
      this.#failure = null;
      if (this.#remembered[0] !== token)
        this.#remembered = [token, ...this.#remembered].slice(0, MAX_REMEMBERED_TOKENS);
      return token;
    } catch (cause) {
      const error = new CredentialsError(this.issuer, cause);
      this.#failure = { error, until: performance.now() + FAILURE_KEPT_MS };
      throw error;
    }
  }
}

function withTimeout(token: Promise<string>): Promise<string> {
  return unlessLate(token, TOKEN_TIMEOUT_MS, () => {
    throw new Error(`no answer within ${TOKEN_TIMEOUT_MS / 1000} s`);
  });
}
