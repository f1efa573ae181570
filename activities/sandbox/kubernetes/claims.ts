import { setTimeout as sleep } from 'node:timers/promises';
import { ulid } from 'ulid';
import { ignored } from '../../../src/platform/ignored.js';
import { withCause } from '../../../src/platform/with-cause.js';
import { SandboxFailedError } from '../../../src/workspaces/sandbox.js';
import type { Pod } from './channel.js';
import { ClaimRoom, type ClaimStore, type HeldClaim } from './claim-room.js';
import { ClusterApi, ClusterError, unlessStatus, type ClusterAccess } from './cluster-api.js';

const GROUP = 'extensions.agents.x-k8s.io';
const VERSION = 'v1beta1';
/** Marks what this service has made in a namespace that it may share. */
const OWNER = { 'app.kubernetes.io/managed-by': 'agent-session-service' };
/** Label: the project whose session has the claim. */
const PROJECT = 'agent-session-service/project';
/** Annotation while a sandbox is open in the claim's pod; it names the sandbox. */
const USED_BY = 'agent-session-service/used-by';
const USED_BY_PATH = `/metadata/annotations/${USED_BY.replace('/', '~1')}`;
/** What a ResourceQuota counts. */
const COUNT = `count/sandboxclaims.${GROUP}`;
const QUOTA_INTERVAL_MS = 60_000;
const MIN_POLL_MS = 50;
const MAX_POLL_MS = 1000;
/** How long a claim that was ready before may be without a pod: then another one is made. */
const LOST_TIMEOUT_MS = 5000;
/** The controller deletes a claim at its time; a worker deletes it so much later, if the controller could not. */
const OVERDUE_MS = 120_000;
const MAX_LISTED = 500;

interface Condition {
  type: string;
  status: 'True' | 'False' | 'Unknown';
  reason?: string;
  message?: string;
}

interface Claim {
  metadata: {
    name: string;
    uid: string;
    resourceVersion: string;
    creationTimestamp: string;
    deletionTimestamp?: string;
    labels?: Record<string, string>;
    annotations?: Record<string, string>;
  };
  spec: { lifecycle?: { shutdownTime?: string } };
  status?: { conditions?: Condition[]; sandbox?: { name?: string; podIPs?: string[] } };
}

interface ClaimPage {
  metadata?: { continue?: string };
  items: Claim[];
}

interface ResourceQuota {
  spec?: { hard?: Record<string, string> };
}

interface ClaimSettings {
  sandboxNamespace: string;
  sandboxWarmPool: string;
  sandboxIdleSeconds: number;
}

/** A session's claim, for one sandbox. */
export interface Hold {
  pod: Pod;
  /** Of the claim. */
  uid: string;
  /** Names the sandbox. */
  use: string;
}

/** Whose claim it is. */
export interface ClaimOwner {
  sessionId: string;
  projectId: string;
}

/** The claims of a namespace: one for each session that runs commands, which the controller of agent-sandbox binds to a pod. */
export class Claims {
  readonly #api: ClusterApi;
  readonly #path: string;
  readonly #room = new ClaimRoom();
  #quota: { limit: number | null; until: number } | null = null;

  constructor(
    access: ClusterAccess,
    private readonly settings: ClaimSettings,
  ) {
    this.#api = new ClusterApi(access);
    this.#path = `/apis/${GROUP}/${VERSION}/namespaces/${settings.sandboxNamespace}`;
  }

  /**
   * Asks for what every call needs, and makes nothing. A quota that is used up is no fault: calls wait then.
   * @throws ClusterError, TypeError if the server cannot be reached
   */
  async check(): Promise<{ isFull: boolean; hasQuota: boolean }> {
    await this.#api.get(`${this.#path}/sandboxwarmpools/${this.settings.sandboxWarmPool}`);
    const claim = this.#claim({ sessionId: 'check', projectId: 'check' });
    const isFull = (await unlessFull(this.#api.post(`${this.#path}/sandboxclaims?dryRun=All`, claim))) === 'full';
    return { isFull, hasQuota: (await this.#quotaOfNamespace()) !== null };
  }

  /**
   * The pod of a session for one sandbox, which stays for the idle time from now on. Makes a claim if there is none, and waits if the
   * quota has no room for it.
   * @param bindTimeoutMs how long a new claim may wait for its pod
   * @throws SandboxFailedError if no pod is bound in time or the cluster refuses; the signal's reason
   */
  async hold(owner: ClaimOwner, bindTimeoutMs: number, signal: AbortSignal): Promise<Hold> {
    const name = claimName(owner.sessionId);
    const use = ulid();
    try {
      for (;;) {
        const known = await this.#take(owner, use);
        const claim = known ?? (await this.#room.make(owner.projectId, this.#storeFor(owner, use), signal));
        // Another worker has made it meanwhile, or it is being deleted.
        if (claim === null) {
          await sleep(MIN_POLL_MS, undefined, { signal });
          continue;
        }
        // Another worker may wait for it, too.
        const age = known === null ? 0 : Date.now() - Date.parse(known.metadata.creationTimestamp);
        const { pod, why } = await this.#bound(claim, Math.max(bindTimeoutMs - age, LOST_TIMEOUT_MS), signal);
        const { uid } = claim.metadata;
        if (pod !== null) return { pod, uid, use };
        await this.#delete(name, { uid });
        if (known === null) throw new UnboundError(`a claim got no pod in ${bindTimeoutMs / 1000} s: ${why}`);
      }
    } catch (error) {
      this.rest(owner.sessionId, use).catch(ignored('a claim that is not renewed counts as idle'));
      signal.throwIfAborted();
      if (error instanceof SandboxFailedError) throw error;
      throw new SandboxFailedError(`a claim for a sandbox failed: ${withCause(error)}`, { cause: error });
    }
  }

  /** Keeps a session's pod for the idle time from now on. @throws ClusterError */
  async renew(sessionId: string): Promise<void> {
    const patch = { merge: { spec: { lifecycle: this.#lifecycle() } } };
    await unlessStatus([404], this.#api.patch(this.#pathOf(claimName(sessionId)), patch));
  }

  /** The sandbox has ended: the pod stays for the idle time from now on, or until another session needs its room. @throws ClusterError */
  async rest(sessionId: string, use: string): Promise<void> {
    const operations = [
      // A newer sandbox may have the claim.
      { op: 'test', path: USED_BY_PATH, value: use },
      { op: 'remove', path: USED_BY_PATH },
      { op: 'add', path: '/spec/lifecycle', value: this.#lifecycle() },
    ];
    await unlessStatus([404, 422], this.#api.patch(this.#pathOf(claimName(sessionId)), { operations }));
  }

  /**
   * Gives the pod of a session back.
   * @param uid of the claim that is meant: another worker may have made a new one; null: whichever the session has
   * @throws ClusterError
   */
  async release(sessionId: string, uid: string | null): Promise<void> {
    await this.#delete(claimName(sessionId), uid === null ? null : { uid });
  }

  /** Deletes claims whose time has passed long ago. @throws ClusterError */
  async removeOverdue(): Promise<number> {
    const overdue = (await this.#list(null)).filter(
      ({ spec }) => Date.parse(spec.lifecycle?.shutdownTime ?? '') < Date.now() - OVERDUE_MS,
    );
    for (const { metadata } of overdue) await this.#delete(metadata.name, { uid: metadata.uid });
    return overdue.length;
  }

  async close(): Promise<void> {
    await this.#api.close();
  }

  #claim({ sessionId, projectId }: ClaimOwner, use?: string): object {
    const labels = { ...OWNER, [PROJECT]: projectId };
    const annotations = use === undefined ? {} : { [USED_BY]: use };
    return {
      ...{ apiVersion: `${GROUP}/${VERSION}`, kind: 'SandboxClaim' },
      metadata: { name: claimName(sessionId), labels, annotations },
      spec: { warmPoolRef: { name: this.settings.sandboxWarmPool }, lifecycle: this.#lifecycle() },
    };
  }

  #lifecycle(): object {
    // RFC 3339 to the second, as metav1.Time.
    const time = new Date(Date.now() + this.settings.sandboxIdleSeconds * 1000).toISOString();
    return { shutdownTime: time.replace(/\.\d+/, ''), shutdownPolicy: 'Delete' };
  }

  #pathOf(name: string): string {
    return `${this.#path}/sandboxclaims/${name}`;
  }

  /** Takes the session's claim for a sandbox. Null if there is no such claim, or no longer. */
  async #take({ sessionId, projectId }: ClaimOwner, use: string): Promise<Claim | null> {
    const merge = {
      metadata: { labels: { [PROJECT]: projectId }, annotations: { [USED_BY]: use } },
      spec: { lifecycle: this.#lifecycle() },
    };
    const taken = await unlessStatus([404], this.#api.patch<Claim>(this.#pathOf(claimName(sessionId)), { merge }));
    return taken?.metadata.deletionTimestamp === undefined ? taken : null;
  }

  #storeFor(owner: ClaimOwner, use: string): ClaimStore<Claim> {
    return {
      quota: () => this.#quotaOfNamespace(),
      list: async (projectId) => (await this.#list(projectId)).map((claim) => this.#held(claim)),
      create: () =>
        unlessFull(unlessStatus([409], this.#api.post<Claim>(`${this.#path}/sandboxclaims`, this.#claim(owner, use)))),
      giveBack: ({ name, resourceVersion }) => this.#delete(name, { resourceVersion }),
      delete: async ({ metadata: { name, uid } }) => void (await this.#delete(name, { uid })),
    };
  }

  async #quotaOfNamespace(): Promise<number | null> {
    if (this.#quota === null || this.#quota.until < performance.now()) {
      const limit = await this.#readQuota();
      this.#quota = { limit, until: performance.now() + QUOTA_INTERVAL_MS };
    }
    return this.#quota.limit;
  }

  /** Null if the namespace has no quota of claims, or if the worker may not read it. */
  async #readQuota(): Promise<number | null> {
    const path = `/api/v1/namespaces/${this.settings.sandboxNamespace}/resourcequotas`;
    const quotas = await unlessStatus([403, 404], this.#api.get<{ items: ResourceQuota[] }>(path));
    const limits = (quotas?.items ?? []).map(({ spec }) => Number(spec?.hard?.[COUNT])).filter(Number.isInteger);
    return limits.length === 0 ? null : Math.min(...limits);
  }

  /** Claims of this service that have not been deleted, of one project or of all. */
  async #list(projectId: string | null): Promise<Claim[]> {
    const labels = { ...OWNER, ...(projectId !== null && { [PROJECT]: projectId }) };
    const selector = Object.entries(labels).map((pair) => pair.join('=')).join(); // oxfmt-ignore
    const claims: Claim[] = [];
    for (let more: string | undefined = ''; more !== undefined;) {
      const query = new URLSearchParams({ labelSelector: selector, limit: String(MAX_LISTED) });
      if (more !== '') query.set('continue', more);
      const page: ClaimPage = await this.#api.get(`${this.#path}/sandboxclaims?${query}`);
      claims.push(...page.items);
      more = page.metadata?.continue || undefined;
    }
    return claims.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  }

  /** A worker renews the claims that it uses each third of the idle time: one that was not is used by nobody. */
  #held({ metadata: { name, resourceVersion, labels, annotations }, spec }: Claim): HeldClaim {
    const endsAt = Date.parse(spec.lifecycle?.shutdownTime ?? '') || 0;
    const projectId = labels?.[PROJECT] ?? null;
    const isMarked = projectId === null || annotations?.[USED_BY] !== undefined;
    const isRenewed = endsAt - Date.now() > (this.settings.sandboxIdleSeconds * 1000) / 2;
    return { name, projectId, resourceVersion, endsAt, isIdle: !(isMarked && isRenewed) };
  }

  /** Returns false if the claim is no longer as it is meant. */
  async #delete(name: string, preconditions: { uid: string } | { resourceVersion: string } | null): Promise<boolean> {
    const options = { propagationPolicy: 'Background', ...(preconditions !== null && { preconditions }) };
    return (await unlessStatus([404, 409], this.#api.delete(this.#pathOf(name), options))) !== null;
  }

  /** Waits for the claim's pod. */
  async #bound(
    { metadata: { name, uid }, status }: Claim,
    timeoutMs: number,
    signal: AbortSignal,
  ): Promise<{ pod: Pod | null; why: string }> {
    const end = performance.now() + timeoutMs;
    let why = 'its controller has not answered';
    for (let now = status, pause = MIN_POLL_MS; ; pause = Math.min(pause * 2, MAX_POLL_MS)) {
      const ready = now?.conditions?.find(({ type }) => type === 'Ready');
      const [address] = now?.sandbox?.podIPs ?? [];
      const pod = now?.sandbox?.name;
      if (ready?.status === 'True' && address !== undefined && pod) return { pod: { name: pod, address }, why };
      if (ready !== undefined) why = [ready.reason, ready.message].filter(Boolean).join(', ').slice(0, 300);
      const isOver = now?.conditions?.some(({ type, status: is }) => type === 'Finished' && is === 'True');
      if (isOver === true || performance.now() > end) return { pod: null, why };
      await sleep(pause, undefined, { signal });
      const next = await unlessStatus([404], this.#api.get<Claim>(this.#pathOf(name)));
      if (next?.metadata.uid !== uid) return { pod: null, why: 'the claim is gone' };
      now = next.status;
    }
  }
}

/** A claim got no pod in its time: the pool is empty and no node has room, or the controller is away. */
export class UnboundError extends SandboxFailedError {}

/** The name of a session's claim: ids are ULIDs, which mean the same in small letters. */
function claimName(sessionId: string): string {
  return `workspace-${sessionId.toLowerCase().replaceAll(/[^a-z0-9]/g, '-')}`;
}

/** 'full' if the quota has no room for what the request makes. @throws what the request throws else */
async function unlessFull<T>(request: Promise<T>): Promise<T | 'full'> {
  try {
    return await request;
  } catch (error) {
    if (error instanceof ClusterError && error.isQuotaUsedUp) return 'full';
    throw error;
  }
}
