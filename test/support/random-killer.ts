import { setTimeout as sleep } from 'node:timers/promises';
import type { FaultSystem } from './fault-system.js';

export interface Victim {
  kill(): Promise<void>;
  start(): Promise<void>;
}

/** A server of the system, of which another one may take the place. */
export const asVictim = (server: () => { kill(): Promise<void>; restart(): Promise<void> }): Victim => ({
  kill: () => server().kill(),
  start: () => server().restart(),
});

export async function killAndStart(victim: Victim): Promise<void> {
  await victim.kill();
  await victim.start();
}

/** A process may not start: what it needs is away too, and it ends or does not answer. */
const START_PAUSE_MS = 500;
const MAX_STARTS = 60;

/**
 * Kills processes, one after the other, of those that run. Each is started again beside what happens next, so that several
 * are away at a time.
 */
export class RandomKiller {
  readonly #up: Set<Victim>;
  readonly #starting = new Set<Promise<void>>();
  kills = 0;

  /** @param victims with a weight each: how often it is killed, relative to the others */
  constructor(private readonly victims: Map<Victim, number>) {
    this.#up = new Set(victims.keys());
  }

  /** Of everything that a system has, also after a failover has replaced its Postgres. @param serverWeight how often Temporal or Postgres is killed, relative to a process of the service */
  static of(system: FaultSystem, serverWeight: number): RandomKiller {
    const servers = [asVictim(() => system.temporal!), asVictim(() => system.postgres!)];
    return new RandomKiller(
      new Map([
        ...[...system.apis, ...system.workers].map((each): [Victim, number] => [each, 1]),
        ...servers.map((each): [Victim, number] => [each, serverWeight]),
      ]),
    );
  }

  /**
   * Kills so often while all that `begin` begins goes on, each time when `progress` has changed since the last kill, or after
   * `maxSilenceMs`, and a pause at random. Then the work ends, each piece of it when it has asked whether it goes on.
   */
  async killDuring(
    kills: number,
    begin: (goesOn: () => boolean) => Promise<unknown>[],
    { progress, maxSilenceMs = 0, maxPauseMs }: { progress?: () => number; maxSilenceMs?: number; maxPauseMs: number },
  ): Promise<void> {
    let isKilling = true;
    const work = begin(() => isKilling);
    try {
      while (this.kills < kills) {
        const before = progress?.();
        await this.kill();
        const until = performance.now() + maxSilenceMs;
        while (progress?.() === before && performance.now() < until) await sleep(100);
        await sleep(Math.random() * maxPauseMs);
      }
      await this.allStarted();
    } finally {
      isKilling = false;
    }
    await Promise.all(work);
  }

  async kill(): Promise<void> {
    while (this.#up.size === 0) await Promise.race(this.#starting);
    const victim = this.#pick();
    this.#up.delete(victim);
    await victim.kill();
    this.kills += 1;
    const starting = startAgain(victim).then(() => {
      this.#up.add(victim);
      this.#starting.delete(starting);
    });
    // `allStarted` reports it.
    starting.catch(() => undefined);
    this.#starting.add(starting);
  }

  async allStarted(): Promise<void> {
    await Promise.all(this.#starting);
  }

  #pick(): Victim {
    const weights = [...this.#up].map((victim) => [victim, this.victims.get(victim)!] as const);
    let left = Math.random() * weights.reduce((sum, [, weight]) => sum + weight, 0);
    return (weights.find(([, weight]) => (left -= weight) < 0) ?? weights[0]!)[0];
  }
}

/** Starts it, again and again while what it needs is away or the machine is busy. */
export async function startAgain(victim: Victim): Promise<void> {
  for (let starts = 1; ; starts += 1) {
    try {
      return await victim.start();
    } catch (error) {
      if (starts === MAX_STARTS) throw error;
      await victim.kill();
      await sleep(START_PAUSE_MS);
    }
  }
}
