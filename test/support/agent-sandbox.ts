import { mkdtempSync } from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { ulid } from 'ulid';
import type { ClusterAccess } from '../../activities/sandbox/kubernetes/cluster-api.js';
import type { Pod } from '../../activities/sandbox/kubernetes/channel.js';
import { startDaemon } from '../../activities/sandbox/kubernetes/daemon.js';
import { KubernetesProvider } from '../../activities/sandbox/kubernetes/provider.js';
import { PackReader } from '../../src/workspaces/packs.js';
import { listen } from './listen.js';
import { testLogger } from './log.js';
import { removeWritable, SANDBOX_SETTINGS, type ProviderSettings } from './sandbox.js';
import { openTestStorage } from './storage.js';

type Daemon = Awaited<ReturnType<typeof startDaemon>>;

export const NAMESPACE = 'agent-sandboxes';
export const POOL = 'workspace';
const PATH = `/apis/extensions.agents.x-k8s.io/v1beta1/namespaces/${NAMESPACE}`;

interface ClaimObject {
  metadata: {
    name: string;
    uid: string;
    resourceVersion: string;
    creationTimestamp: string;
    labels?: Record<string, string>;
    annotations?: Record<string, string>;
  };
  spec: { warmPoolRef: { name: string }; lifecycle: { shutdownTime: string; shutdownPolicy: string } };
  status?: object;
}

/** Pods of this machine, each at an address of its own on the loopback interface. */
let lastAddress = process.pid % 60_000;
function nextAddress(): string {
  lastAddress += 1;
  return `127.${70 + ((lastAddress >> 16) & 63)}.${(lastAddress >> 8) & 255}.${lastAddress & 255}`;
}

/** Starts a daemon at the next free address: another test file, in another process, may have its pods at these addresses too. */
async function startPod(settings: Parameters<typeof startDaemon>[1]): Promise<{ pod: Pod; daemon: Daemon }> {
  for (;;) {
    const pod = { name: `${POOL}-${ulid().toLowerCase()}`, address: nextAddress() };
    try {
      return { pod, daemon: await startDaemon(pod, settings, testLogger()) };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    }
  }
}

/** Plays the controller of agent-sandbox and the pods: binds claims, as the API server shows them, to real daemons in this process. */
export class TestController {
  /** Does nothing, as a controller that is away. */
  isAway = false;
  readonly #pods = new Map<string, { uid: string; pod: Pod; close: () => Promise<void> }>();
  #loop: Promise<void> | null = null;
  #isClosed = false;

  constructor(
    private readonly access: ClusterAccess,
    private readonly settings: Partial<ProviderSettings> = {},
  ) {}

  start(): this {
    this.#loop = this.#run();
    return this;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#loop;
    for (const name of this.#pods.keys()) await this.#end(name);
  }

  /** Ends the pod of a claim, whose claim stays: a node is gone. */
  async losePod(name: string): Promise<void> {
    await this.#pods.get(name)!.close();
  }

  async request(method: string, path: string, body?: object): Promise<unknown> {
    const response = await fetch(`${this.access.url}${PATH}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${await this.access.token()}`,
        'content-type': method === 'PATCH' ? 'application/merge-patch+json' : 'application/json',
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const answer: unknown = await response.json();
    if (!response.ok && response.status !== 404) throw new Error(JSON.stringify(answer));
    return answer;
  }

  async #run(): Promise<void> {
    for (; !this.#isClosed; await sleep(20)) {
      if (this.isAway) continue;
      const { items } = (await this.request('GET', '/sandboxclaims')) as { items: ClaimObject[] };
      for (const claim of items) await this.#reconcile(claim);
      for (const [name, { uid }] of this.#pods)
        if (!items.some(({ metadata }) => metadata.uid === uid)) await this.#end(name);
    }
  }

  async #reconcile({ metadata: { name, uid }, spec }: ClaimObject): Promise<void> {
    if (Date.parse(spec.lifecycle.shutdownTime) < Date.now()) {
      await this.request('DELETE', `/sandboxclaims/${name}`);
      return;
    }
    if (this.#pods.get(name)?.uid === uid) return;
    if (this.#pods.has(name)) await this.#end(name);
    const dir = mkdtempSync(join(tmpdir(), 'sandbox-pod-'));
    const settings = { ...SANDBOX_SETTINGS, dataDir: dir, sandboxDir: dir, ...this.settings };
    const { pod, daemon } = await startPod(settings);
    const close = async (): Promise<void> => {
      await daemon.close();
      removeWritable(dir);
    };
    this.#pods.set(name, { uid, pod, close });
    const ready = {
      ...{ type: 'Ready', status: 'True', reason: 'DependenciesReady', message: '' },
      lastTransitionTime: new Date().toISOString().replace(/\.\d+/, ''),
    };
    const status = { conditions: [ready], sandbox: { name: pod.name, podIPs: [pod.address] } };
    await this.request('PATCH', `/sandboxclaims/${name}/status`, { status });
  }

  async #end(name: string): Promise<void> {
    const ended = this.#pods.get(name);
    this.#pods.delete(name);
    await ended?.close();
  }
}

/** What the controller writes when a claim has its pod. */
const READY = {
  conditions: [{ type: 'Ready', status: 'True', reason: 'DependenciesReady', message: '' }],
  sandbox: { name: 'a-pod', podIPs: ['127.0.0.1'] },
};

type Operation = { op: 'test' | 'remove' | 'add'; path: string; value?: unknown };
type Body = Partial<ClaimObject> & { preconditions?: { uid?: string; resourceVersion?: string } };

/** RFC 6902, as far as a worker uses it. Returns false, and changes nothing, if a test fails. */
function applyOperations(claim: ClaimObject, operations: Operation[]): boolean {
  const placeOf = (path: string): [Record<string, unknown> | undefined, string] => {
    const names = path.slice(1).split('/').map((name) => name.replaceAll('~1', '/')); // oxfmt-ignore
    const last = names.pop()!;
    const parent = names.reduce<unknown>((at, name) => (at as Record<string, unknown> | undefined)?.[name], claim);
    return [parent as Record<string, unknown> | undefined, last];
  };
  const isSame = operations.every(({ op, path, value }) => {
    const [parent, name] = placeOf(path);
    return op !== 'test' || parent?.[name] === value;
  });
  if (!isSame) return false;
  for (const { op, path, value } of operations) {
    const [parent, name] = placeOf(path);
    if (op === 'remove') delete parent![name];
    if (op === 'add') parent![name] = value;
  }
  return true;
}

/**
 * The few requests of a worker, answered as an API server of Kubernetes does. `requests` has the method and path of each. `state.quota`
 * limits the claims, if it is set; a deleted one counts until `quotaLagMs` later, as the quota controller notices it. With
 * `state.bindsAtOnce` each claim has a pod, in which nothing runs.
 */
export async function startTestApiServer() {
  const claims = new Map<string, ClaimObject>();
  const requests: string[] = [];
  const problem: { status: number; message: string }[] = [];
  const state = { quota: null as number | null, quotaLagMs: 0, deleted: 0, bindsAtOnce: false };
  let version = 0;
  const newVersion = (): string => String((version += 1));
  const fail = (code: number, message: string) => ({ code, answer: { kind: 'Status', message, code } });
  const isSelected = ({ metadata }: ClaimObject, selector: string | null): boolean =>
    (selector ?? '').split(',').every((pair) => {
      const [name = '', value] = pair.split('=');
      return name === '' || metadata.labels?.[name] === value;
    });
  const list = (query: URLSearchParams) => {
    const items = [...claims.values()].filter((claim) => isSelected(claim, query.get('labelSelector')));
    const from = Number(query.get('continue') ?? 0);
    const to = from + Number(query.get('limit') ?? Infinity);
    return { items: items.slice(from, to), metadata: to < items.length ? { continue: String(to) } : {} };
  };
  const create = (made: ClaimObject, isDryRun: boolean) => {
    if (claims.has(made.metadata.name)) return fail(409, `${made.metadata.name} already exists`);
    const used = claims.size + state.deleted;
    if (state.quota !== null && used >= state.quota) {
      const count = 'count/sandboxclaims.extensions.agents.x-k8s.io';
      const why = `exceeded quota: sandboxes, requested: ${count}=1, used: ${count}=${used}, limited: ${count}=${state.quota}`;
      return fail(403, `sandboxclaims.extensions.agents.x-k8s.io "${made.metadata.name}" is forbidden: ${why}`);
    }
    const fields = { uid: ulid(), resourceVersion: newVersion(), creationTimestamp: new Date().toISOString() };
    const claim = { ...made, metadata: { ...made.metadata, ...fields } };
    if (state.bindsAtOnce) claim.status = READY;
    if (!isDryRun) claims.set(made.metadata.name, claim);
    return { code: 201, answer: claim };
  };
  const remove = (claim: ClaimObject, { preconditions = {} }: Body) => {
    const { name, uid, resourceVersion } = claim.metadata;
    const isMeant =
      uid === (preconditions.uid ?? uid) && resourceVersion === (preconditions.resourceVersion ?? resourceVersion);
    if (!isMeant) return fail(409, 'the preconditions of the deletion do not hold');
    claims.delete(name);
    if (state.quotaLagMs > 0) {
      state.deleted += 1;
      setTimeout(() => (state.deleted -= 1), state.quotaLagMs).unref();
    }
    return { code: 200, answer: claim };
  };
  const patch = (claim: ClaimObject, body: Body | Operation[], isStatus: boolean) => {
    if (Array.isArray(body)) {
      if (!applyOperations(claim, body))
        return fail(422, 'the server rejected our request due to an error in our request');
    } else if (isStatus) claim.status = body.status!;
    else {
      claim.spec = { ...claim.spec, ...body.spec };
      for (const field of ['labels', 'annotations'] as const) {
        claim.metadata[field] = { ...claim.metadata[field], ...body.metadata?.[field] };
      }
    }
    claim.metadata.resourceVersion = newVersion();
    return { code: 200, answer: claim };
  };
  const answer = (method: string, path: string, query: URLSearchParams, body: Body) => {
    if (problem[0] !== undefined && method !== 'GET') return fail(problem[0].status, problem[0].message);
    if (path === `${PATH}/sandboxwarmpools/${POOL}`) return { code: 200, answer: { metadata: { name: POOL } } };
    if (path === `/api/v1/namespaces/${NAMESPACE}/resourcequotas`) {
      const hard = { 'count/sandboxclaims.extensions.agents.x-k8s.io': String(state.quota) };
      return { code: 200, answer: { items: state.quota === null ? [] : [{ spec: { hard } }] } };
    }
    const [, name, sub] = /\/sandboxclaims(?:\/([^/]+))?(\/status)?$/.exec(path) ?? [];
    if (!path.startsWith(`${PATH}/sandboxclaims`)) return fail(404, 'the server could not find the requested resource');
    if (name === undefined && method === 'GET') return { code: 200, answer: list(query) };
    if (name === undefined) return create(body as ClaimObject, query.get('dryRun') === 'All');
    const claim = claims.get(name);
    if (claim === undefined) return fail(404, `${name} not found`);
    if (method === 'DELETE') return remove(claim, body);
    return method === 'PATCH' ? patch(claim, body, sub !== undefined) : { code: 200, answer: claim };
  };
  const server = createServer((request: IncomingMessage, response) => {
    void text(request).then((content) => {
      const { pathname, searchParams } = new URL(request.url!, 'http://api');
      requests.push(`${request.method} ${pathname.replace(PATH, '')}`);
      const isKnown = request.headers.authorization === 'Bearer a-token';
      const { code, answer: body } = isKnown
        ? answer(request.method!, pathname, searchParams, content === '' ? {} : (JSON.parse(content) as Body))
        : fail(401, 'Unauthorized');
      response.writeHead(code, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    });
  });
  const { url } = await listen(server);
  const access: ClusterAccess = {
    url,
    ca: null,
    token: () => Promise.resolve('a-token'),
  };
  const close = (): void => {
    server.closeAllConnections();
    server.close();
  };
  return { access, claims, requests, problem, state, close };
}

export const CLAIM_SETTINGS = { sandboxNamespace: NAMESPACE, sandboxWarmPool: POOL, sandboxIdleSeconds: 60 };

type ClusterSettings = Partial<ProviderSettings> & { sandboxIdleSeconds?: number; bindTimeoutMs?: number };

/** A provider over a cluster of the test's own. */
export async function newClusterProvider(settings: ClusterSettings = {}, test = openTestStorage()) {
  const api = await startTestApiServer();
  const made = newProviderAt({ worker: api.access, controller: api.access }, settings, test);
  const remove = async (): Promise<void> => {
    await made.remove();
    api.close();
  };
  return { ...made, api, remove };
}

/** A provider over an API server, which the test's controller shares with it. */
export function newProviderAt(
  { worker, controller: access }: { worker: ClusterAccess; controller: ClusterAccess },
  settings: ClusterSettings = {},
  test = openTestStorage(),
) {
  const { bindTimeoutMs, ...more } = settings;
  const controller = new TestController(access, more).start();
  const all = { ...CLAIM_SETTINGS, ...SANDBOX_SETTINGS, ...more };
  const provider = new KubernetesProvider(all, worker, () => new PackReader(test.storage), testLogger(), bindTimeoutMs);
  const remove = async (): Promise<void> => {
    provider.close();
    await controller.close();
    test.remove();
  };
  return { provider, test, controller, remove };
}
