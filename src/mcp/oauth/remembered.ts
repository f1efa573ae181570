import type { McpServerRow } from '../../db/entities/mcp-servers.js';
import { MIB } from '../../platform/units.js';

/** A server of type OAUTH. Its version tells its authorizations apart: `auth` may be set anew. */
export type OauthServer = Pick<McpServerRow, 'id' | 'project_id' | 'credential_version'>;

/** The current access token of a server. Times are milliseconds of Date.now(). */
interface CurrentToken {
  token: string;
  expiresAt: number;
  /** From then on it is refreshed, while it is still used. */
  refreshAt: number;
}

interface ServerTokens {
  projectId: string;
  credentialVersion: number;
  current: CurrentToken | undefined;
  secrets: string[];
  usedAt: number;
}

/** Limits of the secrets remembered for one server, and for all servers of a project. */
const MAX_SECRETS = 16;
const MAX_SERVER_LENGTH = 64 * 1024;
const MAX_PROJECT_LENGTH = 8 * MIB;
/** Longer than a turn: an answer may echo the token that its request was sent with. */
const IDLE_MS = 2 * 3600 * 1000;

/**
 * The current token and the recent secrets of servers in this process, for their requests and to redact their answers.
 * A project pushes out only its own servers.
 */
export class RememberedTokens {
  /** By server id, least recently used first. */
  readonly #entries = new Map<string, ServerTokens>();
  readonly #lengths = new Map<string, number>();

  get({ id, credential_version }: OauthServer): CurrentToken | undefined {
    const entry = this.#use(id);
    return entry?.credentialVersion === credential_version ? entry.current : undefined;
  }

  secretsOf(id: string): readonly string[] {
    return this.#use(id)?.secrets ?? [];
  }

  set(server: OauthServer, current: CurrentToken, secrets: readonly string[]): void {
    const entry = this.#entries.get(server.id);
    // A request that began before `auth` was set anew must not replace what belongs to the new one.
    if (entry !== undefined && entry.credentialVersion > server.credential_version) return;
    const known = entry?.credentialVersion === server.credential_version ? entry.secrets : [];
    const all = [...known.filter((secret) => !secrets.includes(secret)), ...secrets].slice(-MAX_SECRETS);
    while (lengthOf(all) > MAX_SERVER_LENGTH) all.shift();
    this.forget(server.id);
    const { project_id: projectId, credential_version: credentialVersion } = server;
    this.#entries.set(server.id, { projectId, credentialVersion, current, secrets: all, usedAt: Date.now() });
    this.#count(projectId, lengthOf(all));
    this.#evict(projectId);
  }

  /** The current token is no longer used. The secrets stay: answers under way may echo them. */
  expire(id: string): void {
    const entry = this.#entries.get(id);
    if (entry !== undefined) entry.current = undefined;
  }

  /** Forgets a server that was deleted or has a new credential. */
  forget(id: string): void {
    const entry = this.#entries.get(id);
    if (entry === undefined) return;
    this.#entries.delete(id);
    this.#count(entry.projectId, -lengthOf(entry.secrets));
  }

  #use(id: string): ServerTokens | undefined {
    const entry = this.#entries.get(id);
    if (entry === undefined) return undefined;
    entry.usedAt = Date.now();
    this.#entries.delete(id);
    this.#entries.set(id, entry);
    return entry;
  }

  #evict(projectId: string): void {
    for (const [id, entry] of this.#entries) {
      const isIdle = entry.usedAt + IDLE_MS < Date.now();
      if (!isIdle && this.#lengths.get(projectId)! <= MAX_PROJECT_LENGTH) return;
      if (isIdle || entry.projectId === projectId) this.forget(id);
    }
  }

  #count(projectId: string, length: number): void {
    const total = (this.#lengths.get(projectId) ?? 0) + length;
    if (total === 0) this.#lengths.delete(projectId);
    else this.#lengths.set(projectId, total);
  }
}

function lengthOf(secrets: readonly string[]): number {
  return secrets.reduce((total, { length }) => total + length, 0);
}
