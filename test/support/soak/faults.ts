import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { copyLive, takeBackup } from '../backup.js';
import type { FaultSystem } from '../fault-system.js';
import type { TestPostgres } from '../postgres.js';
import { RandomKiller, startAgain } from '../random-killer.js';
import { THIS_BUILD, type RoleProcess } from '../role-process.js';
import { forgetStandby, startStandby, untilInSync, type Standby } from '../standby.js';
import { makeStateDir } from '../state-dir.js';
import type { WebhookReceiver } from '../webhook-receiver.js';
import type { Restore } from './ledger.js';

const SERVER_WEIGHT = 0.5;
const TEMPORAL_AWAY_MS = 25_000;
const RECEIVER_AWAY_MS = 20_000;
/** Below the five minutes for which a receiver accepts a signature. */
const MAX_CLOCK_ERROR_MS = 120_000;
const CLOCK_WRONG_MS = 30_000;
/** How long the address already leads to the standby while it still refuses writes. */
const READ_ONLY_MS = 2_000;

/** What happens to a system. */
export class Faults {
  readonly killer: RandomKiller;
  /** How often each happened. */
  readonly counts: Record<string, number> = {};
  #standby!: Standby;
  #builds: [string, string];

  private constructor(
    private readonly system: FaultSystem,
    private readonly receiver: WebhookReceiver,
    private readonly clocks: Map<RoleProcess, string>,
    otherBuild: string,
  ) {
    this.killer = RandomKiller.of(system, SERVER_WEIGHT);
    this.#builds = [otherBuild, THIS_BUILD];
  }

  /** @param clocks the file of each process that says how wrong its clock is; `otherBuild` the checkout that deploys alternate with */
  static async prepare(
    system: FaultSystem,
    receiver: WebhookReceiver,
    clocks: Map<RoleProcess, string>,
    otherBuild: string,
  ): Promise<Faults> {
    const faults = new Faults(system, receiver, clocks, otherBuild);
    faults.#standby = await startStandby(system.postgres!);
    return faults;
  }

  /** All but the kills and the restore. */
  get all(): Record<string, () => Promise<void>> {
    return {
      failover: () => this.failover(),
      'clock step': () => this.stepClock(),
      deploy: () => this.deploy(),
      'Temporal away': () => this.temporalAway(),
      'clock step of another': () => this.stepClock(),
      'receiver away': () => this.receiverAway(),
    };
  }

  async kill(): Promise<void> {
    this.count('kill');
    await this.killer.kill();
  }

  /** The clock of one process jumps, and later jumps back. */
  async stepClock(): Promise<void> {
    const files = [...this.clocks.values()];
    const file = files[Math.floor(Math.random() * files.length)]!;
    writeFileSync(file, String(Math.round((2 * Math.random() - 1) * MAX_CLOCK_ERROR_MS)));
    this.count('clock step');
    await sleep(CLOCK_WRONG_MS);
    writeFileSync(file, '0');
  }

  /** One process after the other is replaced by one of the other build. */
  async deploy(): Promise<void> {
    await this.killer.allStarted();
    const [next] = this.#builds.reverse().slice(1);
    for (const process of [...this.system.workers, ...this.system.apis]) {
      process.build = next!;
      await process.stop();
      await startAgain(process);
    }
    this.count('deploy');
  }

  async temporalAway(): Promise<void> {
    await this.killer.allStarted();
    await this.system.temporal!.kill();
    await sleep(TEMPORAL_AWAY_MS);
    await this.system.temporal!.restart();
    this.count('Temporal away');
  }

  async receiverAway(): Promise<void> {
    await this.receiver.leave();
    await sleep(RECEIVER_AWAY_MS);
    await this.receiver.comeBack();
    this.count('receiver away');
  }

  /** The primary dies, its standby takes over, and gets a standby of its own. */
  async failover(): Promise<void> {
    await this.killer.allStarted();
    const primary = this.system.postgres!;
    await untilInSync(primary);
    await primary.kill();
    this.takeOver(this.#standby);
    await sleep(READ_ONLY_MS);
    await this.#standby.promote();
    await primary.stop();
    this.#standby = await startStandby(this.system.postgres!);
    this.count('failover');
  }

  /** Backs up the system while it works, and some time later restores it into a new database: docs/operations/backup.md. */
  async restore(backupAt: () => void, workOn: () => Promise<void>): Promise<Pick<Restore, 'restoredAt'>> {
    const { system } = this;
    await this.killer.allStarted();
    const processes = [...system.apis, ...system.workers];
    const { DATA_DIR: dataDir } = processes[0]!.env as { DATA_DIR: string };
    backupAt();
    const backup = await takeBackup(system.postgres!);
    const savedFiles = makeStateDir();
    await copyLive(join(dataDir, 'files'), savedFiles);

    await workOn();
    await this.killer.allStarted();
    await Promise.all(processes.map((each) => each.kill()));
    await Promise.all([system.postgres!.stop(), this.#standby.stop()]);
    rmSync(join(dataDir, 'files'), { recursive: true });
    await copyLive(join(savedFiles, 'files'), dataDir);
    const restored = await backup.restore();
    await forgetStandby(restored);
    this.takeOver(restored);
    await Promise.all(processes.map(startAgain));
    this.#standby = await startStandby(restored);
    this.count('restore');
    console.log(`${backup.how} in ${backup.ms} ms, restored in ${restored.ms} ms`);
    return { restoredAt: performance.now() };
  }

  /** Everything runs again. */
  async end(): Promise<void> {
    await this.killer.allStarted();
  }

  async close(): Promise<void> {
    await this.#standby.stop();
  }

  private takeOver(next: TestPostgres): void {
    const { hostname, port } = new URL(next.url);
    this.system.postgres = next;
    this.system.proxies!.postgres.retarget({ host: hostname, port: Number(port) });
    this.system.proxies!.postgres.cut();
  }

  private count(what: string): void {
    this.counts[what] = (this.counts[what] ?? 0) + 1;
  }
}
