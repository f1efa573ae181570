import { AsyncLocalStorage } from 'node:async_hooks';
import pg from 'pg';
import { FairQueue } from '../platform/fair-queue.js';

type Connected = (
  error: Error | undefined,
  client: pg.PoolClient | undefined,
  release: (error?: unknown) => void,
) => void;

const projects = new AsyncLocalStorage<string | null>();

/** Runs work of a project: the connections that it takes, whatever it calls, count in the share of the project. */
export function asProject<T>(projectId: string, work: () => T): T {
  return projects.run(projectId, work);
}

/** Runs work that a project began and that serves others too. */
export function asProcess<T>(work: () => T): T {
  return projects.run(null, work);
}

/** All connections of the project's share stayed in use by its own work, while those of others moved. */
export class ProjectShareError extends Error {
  override readonly name = 'ProjectShareError';
  constructor() {
    super('Other work of the project holds its share of the connections to Postgres');
  }
}

/**
 * A pool of which one project holds at most half. Its further work waits in a line of its own, and the lines take turns. The work of
 * the process itself takes any connection.
 */
export class ProjectPool extends pg.Pool {
  readonly #perProject: number;
  readonly #places: FairQueue;
  /** Connections that projects have given back. */
  #givenBack = 0;

  constructor(
    config: pg.PoolConfig,
    private readonly shareTimeoutMs = config.connectionTimeoutMillis,
  ) {
    super(config);
    const total = this.options.max;
    this.#perProject = Math.max(1, Math.floor(total / 2));
    this.#places = new FairQueue({ total, perProject: this.#perProject });
  }

  /** Those that wait for the share of their project, before they wait for a connection. */
  get waitingForShare(): number {
    return this.#places.waiting;
  }

  override connect(): Promise<pg.PoolClient>;
  override connect(callback: Connected): void;
  override connect(callback?: Connected): Promise<pg.PoolClient> | void {
    const projectId = projects.getStore() ?? null;
    if (projectId === null) return callback === undefined ? super.connect() : super.connect(callback);
    const connected = this.#connectAs(projectId);
    if (callback === undefined) return connected;
    connected.then(
      (client) => callback(undefined, client, (error) => client.release(error as Error)),
      (error: unknown) => callback(error as Error, undefined, () => undefined),
    );
  }

  async #connectAs(projectId: string): Promise<pg.PoolClient> {
    if (!this.#places.tryTake(projectId)) await this.#wait(projectId);
    let client: pg.PoolClient;
    try {
      client = await super.connect();
    } catch (error) {
      this.#places.free(projectId);
      throw error;
    }
    const release = client.release.bind(client);
    // The pool sets it each time that it gives the connection away. It throws if it is called twice.
    client.release = (error) => {
      release(error);
      this.#givenBack += 1;
      this.#places.free(projectId);
    };
    return client;
  }

  /** @throws ProjectShareError; the pool's own error if it gives no connections to anybody */
  async #wait(projectId: string): Promise<void> {
    const before = this.#givenBack;
    const stop = new AbortController();
    const timer = setTimeout(() => {
      const holdsShare = this.#places.usedBy(projectId) >= this.#perProject;
      // If nobody gave one back, it is Postgres that does not answer.
      const isOwn = holdsShare && this.#givenBack > before;
      stop.abort(isOwn ? new ProjectShareError() : new Error('timeout exceeded when trying to connect'));
    }, this.shareTimeoutMs);
    try {
      await this.#places.take(projectId, stop.signal);
    } finally {
      clearTimeout(timer);
    }
  }
}
