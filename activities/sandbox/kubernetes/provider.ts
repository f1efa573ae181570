import { ulid } from 'ulid';
import type { Logger } from '../../../src/platform/logger.js';
import { MIB } from '../../../src/platform/units.js';
import type { ContentReader } from '../../../src/workspaces/packs.js';
import {
  SandboxFailedError,
  type Sandbox,
  type SandboxAt,
  type SandboxLimits,
  type SandboxProblem,
  type SandboxProvider,
} from '../../../src/workspaces/sandbox.js';
import { Claims, UnboundError, type ClaimOwner, type Hold } from './claims.js';
import { ClusterError, type ClusterAccess } from './cluster-api.js';
import { BadPodError, openInPod } from './remote.js';

interface KubernetesSettings {
  sandboxNamespace: string;
  sandboxWarmPool: string;
  /** How long a pod stays after a command. */
  sandboxIdleSeconds: number;
  sandboxDiskMb: number;
}

/** A new node with gVisor takes one to two minutes. */
const BIND_TIMEOUT_MS = 120_000;
const UNBOUND_TIMEOUT_MS = 5000;
/** How long a check waits for a claim and its pod, while claims get none. */
const CHECK_TIMEOUT_MS = 30_000;
/** Pods that a call tries: the first one may have been lost since the command before. */
const MAX_PODS = 2;
const NO_CLUSTER: SandboxProblem = {
  reason: 'This process runs in no pod of Kubernetes that has a service account.',
  remedy: 'Run it with deploy/kubernetes/worker.yaml, or set SANDBOX_PROVIDER to bubblewrap or off.',
};

/** Commands in pods of agent-sandbox, each session in one of its own (docs/operations/kubernetes-sandbox.md). */
export class KubernetesProvider implements SandboxProvider {
  /** Trees are in the pods. */
  readonly cacheBytes = 0;
  readonly limits: SandboxLimits = { memory: 'pod', processes: 'pod', cpu: 'pod', disk: 'pod' };
  readonly #claims: Claims | null;
  /** The last claim got no pod. */
  #isUnbound = false;

  constructor(
    private readonly settings: KubernetesSettings,
    access: ClusterAccess | null,
    private readonly readerOf: () => ContentReader,
    private readonly log: Logger,
    private readonly bindTimeoutMs = BIND_TIMEOUT_MS,
  ) {
    this.#claims = access === null ? null : new Claims(access, settings);
  }

  async check(): Promise<SandboxProblem | null> {
    if (this.#claims === null) return NO_CLUSTER;
    let isFull: boolean;
    try {
      const { hasQuota, ...state } = await this.#claims.check();
      isFull = state.isFull;
      if (isFull) this.log.warn('the quota of claims is used up: commands of sessions without a pod wait for room');
      if (!hasQuota) this.log.warn('no quota of claims can be read: one project may take all sandboxes');
      const removed = await this.#claims.removeOverdue();
      if (removed > 0) this.log.warn({ removed }, 'claims were deleted that the controller of agent-sandbox has left');
    } catch (error) {
      return this.#problemOf(error as Error);
    }
    // Without room for a claim nothing can be found out, and those that are there have pods.
    return this.#isUnbound && !isFull ? await this.#tryClaim(this.#claims) : null;
  }

  /** Finds out whether claims get pods again. */
  async #tryClaim(claims: Claims): Promise<SandboxProblem | null> {
    const name = `check-${ulid()}`;
    try {
      await this.#hold(claims, { sessionId: name, projectId: 'check' }, AbortSignal.timeout(CHECK_TIMEOUT_MS));
      return null;
    } catch (error) {
      const remedy = 'See "A claim gets no pod" in docs/operations/kubernetes-sandbox.md.';
      return { reason: `Sandboxes get no pods: ${(error as Error).message}.`, remedy };
    } finally {
      await this.dispose(name);
    }
  }

  /** While claims get no pods, calls end soon: each holds one of the worker's few commands. */
  get #bindTimeout(): number {
    return this.#isUnbound ? Math.min(this.bindTimeoutMs, UNBOUND_TIMEOUT_MS) : this.bindTimeoutMs;
  }

  async open(at: SandboxAt, signal: AbortSignal): Promise<Sandbox> {
    const claims = this.#claims;
    if (claims === null) throw new SandboxFailedError(NO_CLUSTER.reason);
    for (let tries = 1; ; tries += 1) {
      const hold = await this.#hold(claims, at, signal);
      const options = { reader: this.readerOf(), maxBytes: this.settings.sandboxDiskMb * MIB, signal };
      try {
        return this.#kept(await openInPod(hold.pod, at, options), at.sessionId, hold, claims);
      } catch (error) {
        if (!(error instanceof BadPodError)) {
          this.#rest(claims, at.sessionId, hold);
          throw error;
        }
        await this.#release(claims, at.sessionId, hold.uid);
        if (tries === MAX_PODS) throw error;
      }
    }
  }

  async #hold(claims: Claims, owner: ClaimOwner, signal: AbortSignal): Promise<Hold> {
    try {
      const held = await claims.hold(owner, this.#bindTimeout, signal);
      this.#isUnbound = false;
      return held;
    } catch (error) {
      if (error instanceof UnboundError) this.#isUnbound = true;
      throw error;
    }
  }

  async dispose(sessionId: string): Promise<void> {
    if (this.#claims !== null) await this.#release(this.#claims, sessionId, null);
  }

  async #release(claims: Claims, sessionId: string, uid: string | null): Promise<void> {
    await claims.release(sessionId, uid).catch((err: unknown) => {
      this.log.warn(
        { err, session_id: sessionId },
        'the claim of a session could not be deleted; its time will end it',
      );
    });
  }

  close(): void {
    void this.#claims?.close();
  }

  #rest(claims: Claims, sessionId: string, { use }: Hold): void {
    claims.rest(sessionId, use).catch((err: unknown) => {
      this.log.warn({ err, session_id: sessionId }, 'the claim of a session could not be marked as idle');
    });
  }

  /** The pod stays while the sandbox is open, and for the idle time afterwards. */
  #kept(sandbox: Sandbox, sessionId: string, hold: Hold, claims: Claims): Sandbox {
    const renew = (): void => {
      claims.renew(sessionId).catch((err: unknown) => {
        this.log.warn({ err, session_id: sessionId }, 'the claim of a session could not be renewed');
      });
    };
    const timer = setInterval(renew, (this.settings.sandboxIdleSeconds * 1000) / 3).unref();
    return {
      run: (argv, io) =>
        sandbox.run(argv, io).catch(async (error: unknown) => {
          if (error instanceof BadPodError) await this.#release(claims, sessionId, hold.uid);
          throw error;
        }),
      close: async (store) => {
        try {
          return await sandbox.close(store);
        } finally {
          clearInterval(timer);
          this.#rest(claims, sessionId, hold);
        }
      },
    };
  }

  #problemOf(error: Error): SandboxProblem {
    const { sandboxNamespace: namespace, sandboxWarmPool: pool } = this.settings;
    if (!(error instanceof ClusterError)) {
      const { cause } = error;
      const why = cause instanceof Error ? cause.message : error.message;
      return {
        reason: `The API server of Kubernetes cannot be reached: ${why}.`,
        remedy: 'The network policy of the workers must let them reach it.',
      };
    }
    if (error.status === 404) {
      return {
        reason: `There is no warm pool ${pool} in the namespace ${namespace}, or no agent-sandbox in the cluster.`,
        remedy:
          'Install agent-sandbox, apply deploy/kubernetes/sandbox.yaml, and check SANDBOX_NAMESPACE and SANDBOX_WARM_POOL.',
      };
    }
    return {
      reason: `The API server of Kubernetes refuses a claim in the namespace ${namespace} (${error.message}).`,
      remedy: 'Apply deploy/kubernetes/sandbox.yaml: it has the rights of the workers and the quota of claims.',
    };
  }
}
