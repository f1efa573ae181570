import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { Agent, fetch, type Dispatcher } from 'undici';
import { withCause } from '../../../src/platform/with-cause.js';
import { SandboxFailedError } from '../../../src/workspaces/sandbox.js';
import type { Pod } from './channel.js';

const ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount';
const GROUP = 'extensions.agents.x-k8s.io';
const VERSION = 'v1beta1';
/** Marks what this service has made in a namespace that it may share. */
const OWNER = { 'app.kubernetes.io/managed-by': 'agent-session-service' };
const REQUEST_TIMEOUT_MS = 10_000;
const MIN_POLL_MS = 50;
const MAX_POLL_MS = 1000;
/** How long a claim that was ready before may be without a pod: then another one is made. */
const LOST_TIMEOUT_MS = 5000;
/** The controller deletes a claim at its time; a worker deletes it so much later, if the controller could not. */
const OVERDUE_MS = 120_000;
const MAX_LISTED = 500;

/** How to reach the API server of a cluster. */
export interface ClusterAccess {
  url: string;
  /** PEM of the authority that signs the server's certificate; null for plain HTTP. */
  ca: string | null;
  token(): Promise<string>;
}

/** With the service account of the pod that this process runs in; null if it runs in none. */
export async function accessOfPod(env: NodeJS.ProcessEnv): Promise<ClusterAccess | null> {
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port = '443' } = env;
  const ca = await readFile(`${ACCOUNT}/ca.crt`, 'utf8').catch(() => null);
  if (host === undefined || ca === null) return null;
  const address = host.includes(':') ? `[${host}]` : host;
  // The kubelet writes a new token each hour.
  return { url: `https://${address}:${port}`, ca, token: () => readFile(`${ACCOUNT}/token`, 'utf8') };
}

/** The API server has answered with an error. */
export class ClusterError extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
    this.name = 'ClusterError';
  }
}

interface Condition {
  type: string;
  status: 'True' | 'False' | 'Unknown';
  reason?: string;
  message?: string;
}

interface Claim {
  metadata: { name: string; uid: string; creationTimestamp: string; deletionTimestamp?: string };
  spec: { lifecycle?: { shutdownTime?: string } };
  status?: { conditions?: Condition[]; sandbox?: { name?: string; podIPs?: string[] } };
}

interface ClaimSettings {
  sandboxNamespace: string;
  sandboxWarmPool: string;
  sandboxIdleSeconds: number;
}

/** The claims of a namespace: one for each session that runs commands, which the controller of agent-sandbox binds to a pod. */
export class Claims {
  readonly #dispatcher: Dispatcher;
  readonly #path: string;

  constructor(
    private readonly access: ClusterAccess,
    private readonly settings: ClaimSettings,
  ) {
    this.#dispatcher = new Agent({ connect: access.ca === null ? {} : { ca: access.ca }, connections: 32 });
    this.#path = `/apis/${GROUP}/${VERSION}/namespaces/${settings.sandboxNamespace}`;
  }

  /** Asks for what every call needs, and makes nothing. @throws ClusterError, TypeError if the server cannot be reached */
  async check(): Promise<void> {
    await this.#request('GET', `/sandboxwarmpools/${this.settings.sandboxWarmPool}`);
    await this.#request('POST', '/sandboxclaims?dryRun=All', this.#claim('workspace-check'));
  }

  /**
   * The pod of a session, which stays for the idle time from now on. Makes a claim if there is none.
   * @param bindTimeoutMs how long a new claim may wait for its pod
   * @throws SandboxFailedError if no pod is bound in time or the cluster refuses; the signal's reason
   */
  async hold(sessionId: string, bindTimeoutMs: number, signal: AbortSignal): Promise<{ pod: Pod; uid: string }> {
    const name = claimName(sessionId);
    try {
      for (;;) {
        const known = await this.#renew(name);
        const claim = known ?? (await this.#create(name));
        // Another worker has made it meanwhile, or it is being deleted.
        if (claim === null) {
          await sleep(MIN_POLL_MS, undefined, { signal });
          continue;
        }
        // Another worker may wait for it, too.
        const age = known === null ? 0 : Date.now() - Date.parse(known.metadata.creationTimestamp);
        const { pod, why } = await this.#bound(claim, Math.max(bindTimeoutMs - age, LOST_TIMEOUT_MS), signal);
        const { uid } = claim.metadata;
        if (pod !== null) return { pod, uid };
        await this.#delete(name, uid);
        if (known === null) throw new UnboundError(`a claim got no pod in ${bindTimeoutMs / 1000} s: ${why}`);
      }
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof SandboxFailedError) throw error;
      throw new SandboxFailedError(`a claim for a sandbox failed: ${withCause(error)}`, { cause: error });
    }
  }

  /** Keeps a session's pod for the idle time from now on. @throws ClusterError */
  async renew(sessionId: string): Promise<void> {
    await this.#renew(claimName(sessionId));
  }

  /**
   * Gives the pod of a session back.
   * @param uid of the claim that is meant: another worker may have made a new one; null: whichever the session has
   * @throws ClusterError
   */
  async release(sessionId: string, uid: string | null): Promise<void> {
    await this.#delete(claimName(sessionId), uid);
  }

  /** Deletes claims whose time has passed long ago. @throws ClusterError */
  async removeOverdue(): Promise<number> {
    const selector = encodeURIComponent(Object.entries(OWNER).map((pair) => pair.join('=')).join()); // oxfmt-ignore
    const { items } = await this.#request<{ items: Claim[] }>(
      'GET',
      `/sandboxclaims?labelSelector=${selector}&limit=${MAX_LISTED}`,
    );
    const overdue = items.filter(({ metadata, spec }) => {
      const time = Date.parse(spec.lifecycle?.shutdownTime ?? '');
      return metadata.deletionTimestamp === undefined && time < Date.now() - OVERDUE_MS;
    });
    for (const { metadata } of overdue) await this.#delete(metadata.name, metadata.uid);
    return overdue.length;
  }

  async close(): Promise<void> {
    await this.#dispatcher.close();
  }

  #claim(name: string): object {
    return {
      ...{ apiVersion: `${GROUP}/${VERSION}`, kind: 'SandboxClaim', metadata: { name, labels: OWNER } },
      spec: { warmPoolRef: { name: this.settings.sandboxWarmPool }, lifecycle: this.#lifecycle() },
    };
  }

  #lifecycle(): object {
    // RFC 3339 to the second, as metav1.Time.
    const time = new Date(Date.now() + this.settings.sandboxIdleSeconds * 1000).toISOString();
    return { shutdownTime: time.replace(/\.\d+/, ''), shutdownPolicy: 'Delete' };
  }

  /** Null if there is no such claim, or no longer. */
  async #renew(name: string): Promise<Claim | null> {
    const patched = await this.#unless404(() =>
      this.#request<Claim>('PATCH', `/sandboxclaims/${name}`, { spec: { lifecycle: this.#lifecycle() } }),
    );
    return patched?.metadata.deletionTimestamp === undefined ? patched : null;
  }

  async #create(name: string): Promise<Claim | null> {
    try {
      return await this.#request<Claim>('POST', '/sandboxclaims', this.#claim(name));
    } catch (error) {
      if (error instanceof ClusterError && error.status === 409) return null;
      throw error;
    }
  }

  async #delete(name: string, uid: string | null): Promise<void> {
    const options = { propagationPolicy: 'Background', ...(uid === null ? {} : { preconditions: { uid } }) };
    try {
      await this.#unless404(() => this.#request('DELETE', `/sandboxclaims/${name}`, options));
    } catch (error) {
      // Another one has the name by now.
      if (!(error instanceof ClusterError && error.status === 409)) throw error;
    }
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
      const next = await this.#unless404(() => this.#request<Claim>('GET', `/sandboxclaims/${name}`));
      if (next?.metadata.uid !== uid) return { pod: null, why: 'the claim is gone' };
      now = next.status;
    }
  }

  async #unless404<T>(request: () => Promise<T>): Promise<T | null> {
    try {
      return await request();
    } catch (error) {
      if (error instanceof ClusterError && error.status === 404) return null;
      throw error;
    }
  }

  async #request<T>(method: string, path: string, body?: object): Promise<T> {
    const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
    const response = await fetch(`${this.access.url}${this.#path}${path}`, {
      ...{ method, dispatcher: this.#dispatcher, signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS), redirect: 'error' },
      headers: { authorization: `Bearer ${await this.access.token()}`, 'content-type': type },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new ClusterError(response.status, `${response.status}: ${statusMessage(text)}`);
    return JSON.parse(text) as T;
  }
}

/** A claim got no pod in its time: the pool is empty and no node has room, or the controller is away. */
export class UnboundError extends SandboxFailedError {}

/** The name of a session's claim: ids are ULIDs, which mean the same in small letters. */
function claimName(sessionId: string): string {
  return `workspace-${sessionId.toLowerCase().replaceAll(/[^a-z0-9]/g, '-')}`;
}

/** The server's own words: it answers with a Status. */
function statusMessage(text: string): string {
  try {
    return String((JSON.parse(text) as { message?: unknown }).message).slice(0, 500);
  } catch {
    return text.slice(0, 200);
  }
}
