import type pg from 'pg';
import { clientConfig } from './client-config.js';
import { ConnectingClient } from './connecting-client.js';
import type { Logger } from '../platform/logger.js';
import { ignored } from '../platform/ignored.js';

const BACKOFF_MS = [50, 100, 250, 500, 1000, 2000];
const PROBE_INTERVAL_MS = 10_000;

interface ListenHandlers {
  onPayload: (payload: string, channel: string) => void;
  /** Runs after every (re)connection. Earlier notifications are lost: read the tables. */
  onConnect: () => void;
}

/**
 * The LISTEN connection of a process. It is a direct connection (LISTEN breaks behind transaction pooling) and
 * reconnects automatically. Channels can be added and removed at any time.
 */
export class Listener {
  readonly #channels = new Map<string, { users: number; listening: Promise<void> }>();
  /** Unused channels that Postgres still listens on. */
  #dropped = new Set<string>();
  #client: pg.Client | null = null;
  #statements: Promise<unknown> = Promise.resolve();
  #isConnected = false;
  #isClosed = false;
  #failures = 0;
  #timer: NodeJS.Timeout | undefined;
  #probe = setInterval(() => this.#check(), PROBE_INTERVAL_MS);

  constructor(
    private readonly databaseUrl: string,
    private readonly handlers: ListenHandlers,
    private readonly log: Logger,
  ) {
    void this.#connect();
  }

  get isConnected(): boolean {
    return this.#isConnected;
  }

  /** Number of channels. */
  get size(): number {
    return this.#channels.size;
  }

  /**
   * Resolves when notifications of the channel arrive, or at once while there is no connection. Who adds a channel removes it
   * when done; others may use it too.
   */
  add(channel: string): Promise<void> {
    let used = this.#channels.get(channel);
    if (used === undefined) {
      const isNew = !this.#dropped.delete(channel) && this.#client !== null && this.#isConnected;
      used = { users: 0, listening: isNew ? this.#listen(this.#client!, channel) : Promise.resolve() };
      this.#channels.set(channel, used);
    }
    used.users += 1;
    return used.listening;
  }

  /** After its last user Postgres drops the channel at the next probe, because it is often needed again soon. */
  remove(channel: string): void {
    const used = this.#channels.get(channel);
    if (used === undefined || (used.users -= 1) > 0) return;
    this.#channels.delete(channel);
    this.#dropped.add(channel);
  }

  async #listen(client: pg.Client, channel: string): Promise<void> {
    // If this fails, the connection is lost, and the next connection listens on the channel.
    await this.#ask(client, `LISTEN ${channel}`).catch(ignored('the next connection listens on the channel'));
  }

  /** Runs statements one after the other: a client cannot run two at a time. */
  #ask(client: pg.Client, statement: string): Promise<unknown> {
    const answer = this.#statements.then(() => client.query(statement));
    this.#statements = answer.catch(ignored('the caller has the error'));
    return answer;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#probe);
    clearTimeout(this.#timer);
    const open = this.#client;
    this.#client = null;
    await open?.end().catch(ignored('the connection may be gone'));
  }

  async #connect(): Promise<void> {
    const client = new ConnectingClient({
      ...clientConfig(this.databaseUrl),
      application_name: 'listen turns',
      keepAlive: true,
      connectionTimeoutMillis: 5000,
    });
    this.#client = client;
    client.on('error', (err) => this.#lose(client, err));
    client.on('end', () => this.#lose(client));
    client.on('notification', ({ payload, channel }) => this.#deliver(payload ?? '', channel));
    try {
      await client.connect();
      this.#dropped.clear();
      // Channels added from now on send their own LISTEN, after this statement.
      this.#isConnected = true;
      const statements = ['SELECT 1', ...[...this.#channels.keys()].map((channel) => `LISTEN ${channel}`)];
      this.#statements = Promise.resolve();
      await this.#ask(client, statements.join('; '));
    } catch (err) {
      this.#lose(client, err as Error);
      return;
    }
    if (this.#client !== client) return;
    this.#failures = 0;
    this.handlers.onConnect();
  }

  /** Any user of the database can send a notification: one that cannot be read must not end the process. */
  #deliver(payload: string, channel: string): void {
    try {
      this.handlers.onPayload(payload, channel);
    } catch {
      // Without the error, which may quote the payload. Readers find what they missed in the tables.
      this.log.warn({}, 'a notification could not be read');
    }
  }

  #lose(client: pg.Client, err?: Error): void {
    if (this.#client !== client) return;
    this.#client = null;
    this.#isConnected = false;
    void client.end().catch(ignored('the connection may be gone'));
    if (this.#isClosed) return;
    // At random: after a failover all processes lose their connections at the same time.
    const delay = Math.round(BACKOFF_MS[Math.min(this.#failures, BACKOFF_MS.length - 1)]! * (0.5 + Math.random()));
    this.#failures += 1;
    this.log.warn({ err, delay }, 'the LISTEN connection is lost, connecting again');
    this.#timer = setTimeout(() => void this.#connect(), delay);
  }

  /** Detects a connection that the network dropped silently, and drops unused channels. */
  #check(): void {
    const client = this.#client;
    if (client === null || !this.#isConnected) return;
    const late = setTimeout(
      () => this.#lose(client, new Error('the LISTEN connection does not answer')),
      PROBE_INTERVAL_MS / 2,
    );
    const statements = ['SELECT 1', ...[...this.#dropped].map((channel) => `UNLISTEN ${channel}`)];
    this.#dropped.clear();
    this.#ask(client, statements.join('; '))
      .catch(ignored('an event of the client reports a lost connection'))
      .finally(() => clearTimeout(late));
  }
}
