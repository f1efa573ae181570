import { setTimeout as sleep } from 'node:timers/promises';
import { FairQueue } from '../../../src/platform/fair-queue.js';
import { workspaceCallsWaiting } from '../../../src/platform/metrics.js';

const MIN_POLL_MS = 50;
const MAX_POLL_MS = 1000;
/** How long the quota may take to notice that a claim was deleted: until then no further one is given back for the same call. */
const GIVE_BACK_TIMEOUT_MS = 5000;

/** A claim of the namespace that has not been deleted. */
export interface HeldClaim {
  name: string;
  /** Null of a claim that a version without projects has made. */
  projectId: string | null;
  /** Changes with each change of the claim. */
  resourceVersion: string;
  /** No sandbox is open in its pod. */
  isIdle: boolean;
  /** The time at which its controller deletes it: the one that was used last has the latest. */
  endsAt: number;
}

/** What a room needs of the cluster. */
export interface ClaimStore<Claim> {
  /** The claims that the quota allows in the namespace; null if it is not known. */
  quota(): Promise<number | null>;
  /** Those of a project, or of all. */
  list(projectId: string | null): Promise<HeldClaim[]>;
  /** 'full': the quota is used up. Null: there is one of this name. */
  create(): Promise<Claim | 'full' | null>;
  /** Deletes a claim if it is still idle. */
  giveBack(claim: HeldClaim): Promise<boolean>;
  delete(claim: Claim): Promise<void>;
}

/**
 * Room for the claims of a namespace, which its quota limits for all workers and projects. One project has at most half of them. If
 * there is no room, a project gives its own idle claims back first, the oldest before the others; then those of the project that has
 * most. Where commands run in all of them, the calls of a project wait in a line, and each project has one of its own.
 */
export class ClaimRoom {
  readonly #lines = new FairQueue({ perProject: 1 });

  /** Makes a claim when there is room for it. Null: there is one of this name. @throws ClusterError; the signal's reason */
  async make<Claim extends object>(
    projectId: string,
    store: ClaimStore<Claim>,
    signal: AbortSignal,
  ): Promise<Claim | null> {
    return this.#lines.within(projectId, () => this.#make(projectId, store, signal), signal);
  }

  async #make<Claim extends object>(
    projectId: string,
    store: ClaimStore<Claim>,
    signal: AbortSignal,
  ): Promise<Claim | null> {
    const attempt = new Attempt(projectId, store);
    const first = await attempt.run();
    if (first !== 'full') return first;
    workspaceCallsWaiting.inc();
    try {
      for (let pause = MIN_POLL_MS; ; pause = Math.min(pause * 2, MAX_POLL_MS)) {
        // Two workers that took their claims back for each other try again at different times.
        await sleep(pause * (0.5 + Math.random() / 2), undefined, { signal });
        const made = await attempt.run();
        if (made !== 'full') return made;
      }
    } finally {
      workspaceCallsWaiting.dec();
    }
  }
}

/** One call's attempts at a claim. */
class Attempt<Claim extends object> {
  #gaveBackAt = -Infinity;

  constructor(
    private readonly projectId: string,
    private readonly store: ClaimStore<Claim>,
  ) {}

  async run(): Promise<Claim | 'full' | null> {
    const { store, projectId } = this;
    const quota = await store.quota();
    const share = quota === null ? Infinity : Math.max(1, Math.floor(quota / 2));
    const own = await store.list(projectId);
    if (own.length >= share && !(await this.#giveOneBack(own))) return 'full';
    const made = await store.create();
    if (made === 'full') {
      await this.#makeRoom(own);
      return 'full';
    }
    // Another worker may have made one in the same moment. The later of the two sees both: no more than the share are left.
    if (made !== null && share !== Infinity && (await store.list(projectId)).length > share) {
      await store.delete(made);
      return 'full';
    }
    return made;
  }

  async #makeRoom(own: HeldClaim[]): Promise<void> {
    if (performance.now() - this.#gaveBackAt < GIVE_BACK_TIMEOUT_MS) return;
    if (!(await this.#giveOneBack(own)) && !(await this.#giveBackOfOthers())) return;
    this.#gaveBackAt = performance.now();
  }

  async #giveBackOfOthers(): Promise<boolean> {
    const holders = new Map<string | null, HeldClaim[]>();
    for (const claim of await this.store.list(null)) {
      const held = holders.get(claim.projectId);
      if (held === undefined) holders.set(claim.projectId, [claim]);
      else held.push(claim);
    }
    const largestFirst = [...holders.values()].sort((a, b) => b.length - a.length);
    for (const claims of largestFirst) if (await this.#giveOneBack(claims)) return true;
    return false;
  }

  /** Gives back the claim that has been idle for longest. */
  async #giveOneBack(claims: HeldClaim[]): Promise<boolean> {
    const idle = claims.filter(({ isIdle }) => isIdle).sort((a, b) => a.endsAt - b.endsAt);
    for (const claim of idle) if (await this.store.giveBack(claim)) return true;
    return false;
  }
}
