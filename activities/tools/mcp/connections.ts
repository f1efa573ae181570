import { ErrorCode, McpError } from '@modelcontextprotocol/sdk/types.js';
import type { DroppedCredential, TurnServerRow, UserCredential } from '../../../src/mcp/user-credentials.js';
import { FairQueue } from '../../../src/platform/fair-queue.js';
import type { Config } from '../../../src/platform/config.js';
import { unlessAborted } from '../../../src/platform/limited-wait.js';
import { McpConnection, type ConnectionOptions, type McpSession } from '../../../src/mcp/client.js';
import { refuseQuestion, type QuestionHandler } from '../../../src/mcp/questions.js';
import type { GuardedNetwork } from '../../../src/network/network.js';
import { withDeadline } from '../../../src/mcp/deadline.js';
import { withLargeAnswer } from '../../../src/mcp/large-answer.js';
import { keepTools, listTools, type KeptTools } from '../../../src/mcp/tools.js';
import type { OauthAccess } from '../../../src/mcp/oauth/tokens.js';
import { requestAuthOf, type AuthorizedServer, type RequestAuth } from '../../../src/mcp/request-auth.js';
import type { MemoryShare } from '../../../src/platform/memory-share.js';
import { MAX_LIST_VALUES } from '../../../src/mcp/transport/answer-body.js';
import { Pacer } from '../../../src/mcp/transport/pacer.js';
import { Cleaner } from '../../../src/mcp/cleaner.js';
import { UserConnections } from './user-connections.js';
import { ignored } from '../../../src/platform/ignored.js';

/** decisions.md "Resources", "Tools of a turn": one attempt to connect. */
const CONNECT_SECONDS = 8;
/** Messages that the servers of a project may send unasked, such as progress: at once, and per second after that. */
const UNASKED_BURST = 1000;
const UNASKED_PER_SECOND = 500;
const IDLE_MS = 60_000;
/** Connections one project may open in parallel, so that host names that do not resolve cannot delay other projects. */
const MAX_OPENING_PER_PROJECT = 16;
/** Tool lists that a project reads in parallel: many turns of pinned servers may begin together. */
const MAX_READING_PER_PROJECT = 16;

/** `mayAsk`: the session lets the server ask. Every connection offers that: a server may have other tools for such clients. */
export type ConnectTarget = Pick<TurnServerRow, 'id' | 'project_id' | 'url' | 'pin_tools' | 'allowed_tools'> &
  AuthorizedServer & { mayAsk?: boolean };

interface SharedConnection {
  connection: Promise<McpConnection>;
  /** The credential of a user that it was made with. */
  credential: UserCredential | null | undefined;
  users: number;
  /** True if no new call may use it; it closes after its last user is done. */
  retired: boolean;
  idle?: NodeJS.Timeout;
}

/** A worker's pool of MCP connections, which its turns share (`keyOf`). A connection closes after one idle minute. */
export class McpConnections {
  readonly #entries = new Map<string, SharedConnection>();
  readonly #ofUsers = new UserConnections();
  readonly #closing = new AbortController();
  readonly #pacers = new Map<string, Pacer>();
  readonly #opening = new FairQueue({ perProject: MAX_OPENING_PER_PROJECT });
  readonly #reading = new FairQueue({ perProject: MAX_READING_PER_PROJECT });

  constructor(
    private readonly network: GuardedNetwork,
    private readonly config: Pick<Config, 'encryptionKeys'>,
    private readonly oauth: OauthAccess,
    private readonly memory: MemoryShare,
    private readonly idleMs = IDLE_MS,
  ) {}

  get size(): number {
    return this.#entries.size;
  }

  /**
   * Checks that the server answers, in one attempt of 8 s: pings a pooled connection and replaces it if it is lost.
   * Returns the current tools of a pinned server, null for other servers.
   */
  async verify(server: ConnectTarget, signal: AbortSignal): Promise<KeptTools | null> {
    return withDeadline(CONNECT_SECONDS, signal, async (bounded) => {
      const kept = this.#entries.has(keyOf(server));
      const alive = await this.use(server, bounded, async (connection, retire) => {
        if (!kept || (await answers(connection, bounded))) return true;
        retire();
        return false;
      });
      bounded.throwIfAborted();
      if (server.pin_tools) return this.#readTools(server, bounded);
      if (!alive) await this.use(server, bounded, async () => undefined);
      return null;
    });
  }

  #readTools(server: ConnectTarget, signal: AbortSignal): Promise<KeptTools> {
    const { project_id: projectId } = server;
    const share = { memory: this.memory, projectId, signal, maxValues: MAX_LIST_VALUES };
    return this.#reading.within(projectId, () =>
      withLargeAnswer(share, async (onLarge) => {
        const listed = await this.use(server, signal, (connection) => listTools(connection, signal, onLarge));
        return keepTools(listed, this.cleanerOf(server), server.allowed_tools);
      }),
    );
  }

  /**
   * Runs `work` on a connection to the server, shared with other calls. `work` calls `retire` if the server has lost the
   * MCP session; the next use then opens a new connection.
   */
  async use<T>(
    server: ConnectTarget,
    signal: AbortSignal,
    work: (connection: McpConnection, retire: () => void) => Promise<T>,
  ): Promise<T> {
    signal.throwIfAborted();
    const key = keyOf(server);
    const entry = this.#entries.get(key) ?? this.#open(key, server);
    clearTimeout(entry.idle);
    entry.users += 1;
    try {
      return await work(await unlessAborted(entry.connection, signal), () => this.#forget(key, entry));
    } finally {
      entry.users -= 1;
      if (entry.users === 0) this.#rest(key, entry);
    }
  }

  /** Opens a connection of the caller's own, with a new MCP session. The caller closes or detaches it. */
  async openOwn(server: ConnectTarget, signal: AbortSignal, onQuestion?: QuestionHandler): Promise<McpConnection> {
    // The time limit is the server's: waiting for the project's other connections does not count.
    const connection = await this.#opening.within(server.project_id, () =>
      withDeadline(CONNECT_SECONDS, signal, (bounded) =>
        McpConnection.open(this.#optionsOf(server, true, onQuestion), bounded),
      ),
    );
    return this.#ofUsers.keep(server.user_credential, connection);
  }

  /** Goes on with an MCP session that this or another worker has opened. */
  async resume(server: ConnectTarget, session: McpSession, onQuestion?: QuestionHandler): Promise<McpConnection> {
    const connection = await McpConnection.resume(this.#optionsOf(server, false, onQuestion), session);
    return this.#ofUsers.keep(server.user_credential, connection);
  }

  /**
   * Closes every connection that was made with the credential of a user, even those in use. A credential that was replaced keeps those
   * of its new version: a call may use it before the workers hear of the old one.
   */
  async closeOf(dropped: DroppedCredential): Promise<void> {
    const { id, before } = dropped;
    for (const [key, entry] of this.#entries) {
      const { credential } = entry;
      if (credential?.id === id && (before === null || credential.credential_version < before))
        this.#forget(key, entry);
    }
    await this.#ofUsers.closeOf(dropped);
    this.oauth.forget(id);
  }

  /** Closes all connections, even those in use, and the network, when the worker shuts down. */
  async closeAll(): Promise<void> {
    this.#closing.abort(new Error('the worker shuts down'));
    const entries = [...this.#entries];
    for (const [key, entry] of entries) this.#forget(key, entry);
    await Promise.all(entries.map(([, entry]) => close(entry)));
    await this.oauth.close();
    await this.network.close();
  }

  /** Removes the server's secrets from its answers, also secrets that a refresh replaces later. */
  cleanerOf(server: ConnectTarget): Cleaner {
    const auth = this.#authOf(server);
    return new Cleaner(() => auth.secrets());
  }

  /** @throws UnsealError */
  #authOf(server: ConnectTarget): RequestAuth {
    return requestAuthOf(this.config.encryptionKeys, this.oauth, server);
  }

  #open(key: string, server: ConnectTarget): SharedConnection {
    // Not bound to the first caller's signal, because other calls may wait for the same connection.
    const connection = this.openOwn(server, this.#closing.signal);
    const entry: SharedConnection = { connection, credential: server.user_credential, users: 0, retired: false };
    this.#entries.set(key, entry);
    connection.catch(() => this.#forget(key, entry));
    return entry;
  }

  #optionsOf(server: ConnectTarget, listen: boolean, given?: QuestionHandler): ConnectionOptions {
    const pacer = this.#pacers.get(server.project_id) ?? new Pacer(UNASKED_BURST, UNASKED_PER_SECOND);
    this.#pacers.set(server.project_id, pacer);
    const onQuestion = given ?? (server.mayAsk === true ? refuseQuestion : undefined);
    return { url: new URL(server.url), auth: this.#authOf(server), network: this.network, listen, pacer, onQuestion };
  }

  #rest(key: string, entry: SharedConnection): void {
    if (entry.retired) return void close(entry);
    entry.idle = setTimeout(() => {
      this.#forget(key, entry);
      void close(entry);
    }, this.idleMs).unref();
  }

  #forget(key: string, entry: SharedConnection): void {
    entry.retired = true;
    clearTimeout(entry.idle);
    if (this.#entries.get(key) === entry) this.#entries.delete(key);
  }
}

/** Some servers do not know `ping`: that error is an answer, too. */
async function answers(connection: McpConnection, signal: AbortSignal): Promise<boolean> {
  return connection.ping(signal).then(
    () => true,
    (error: unknown) => error instanceof McpError && error.code === (ErrorCode.MethodNotFound as number),
  );
}

async function close(entry: SharedConnection): Promise<void> {
  const connection = await entry.connection.catch(() => null);
  await connection?.close().catch(ignored('the server may be gone'));
}

/** One connection for each server, user, url and credential version, and one that offers to be asked. */
function keyOf({ id, credential_version, url, user_credential: own, mayAsk = false }: ConnectTarget): string {
  const owner = own == null ? [id, credential_version] : [id, credential_version, own.id, own.credential_version];
  return JSON.stringify([...owner, url, mayAsk]);
}
