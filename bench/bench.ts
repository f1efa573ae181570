import { startFaultSystem, type FaultSystem, type FaultSystemOptions } from '../test/support/fault-system.js';
import { startPostgres, type TestPostgres } from '../test/support/postgres.js';
import { mochaGlobalSetup, mochaGlobalTeardown } from '../test/support/services.js';
import { startTurnService, type TurnService, type TurnServiceOptions } from '../test/support/turns.js';

/** What a scenario measures: servers that end with it. */
export class Bench {
  readonly #closers: (() => unknown)[] = [];
  #hasServers = false;

  /** Runs `close` at the end, however the scenario ends; the last one first. */
  atEnd(close: () => unknown): void {
    this.#closers.push(close);
  }

  async close(): Promise<void> {
    for (const close of this.#closers.splice(0).reverse()) await close();
  }

  /** API, worker and scripted model in this process. */
  async service(options: TurnServiceOptions): Promise<TurnService> {
    await this.#startServers();
    const service = await startTurnService({ own: 'a bench', ...options });
    this.atEnd(() => service.close());
    return service;
  }

  /** The service as processes of their own. A scenario may close it before its end. */
  async system(options: FaultSystemOptions = {}): Promise<FaultSystem> {
    await this.#startServers();
    const system = await startFaultSystem(options);
    const close = system.close.bind(system);
    let closed: Promise<void> | undefined;
    system.close = () => (closed ??= close());
    this.atEnd(() => system.close());
    return system;
  }

  /** A Postgres with flushes to disk and an empty database. */
  async postgres(): Promise<TestPostgres> {
    const postgres = await startPostgres();
    this.atEnd(() => postgres.stop());
    return postgres;
  }

  /** The Postgres and the Temporal of systems without their own, once for all of them. */
  async #startServers(): Promise<void> {
    if (this.#hasServers) return;
    this.#hasServers = true;
    await mochaGlobalSetup();
    this.atEnd(() => mochaGlobalTeardown());
  }
}
