import { mkdtempSync } from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { ulid } from 'ulid';
import type { ClusterAccess } from '../../activities/sandbox/kubernetes/claims.js';
import type { Pod } from '../../activities/sandbox/kubernetes/channel.js';
import { startDaemon } from '../../activities/sandbox/kubernetes/daemon.js';
import { KubernetesProvider } from '../../activities/sandbox/kubernetes/provider.js';
import { PackReader } from '../../src/workspaces/packs.js';
import { listen } from './listen.js';
import { testLogger } from './log.js';
import { removeWritable, SANDBOX_SETTINGS, type ProviderSettings } from './sandbox.js';
import { openTestStorage } from './storage.js';

export const NAMESPACE = 'agent-sandboxes';
export const POOL = 'workspace';
const PATH = `/apis/extensions.agents.x-k8s.io/v1beta1/namespaces/${NAMESPACE}`;

interface ClaimObject {
  metadata: { name: string; uid: string; creationTimestamp: string; labels?: Record<string, string> };
  spec: { warmPoolRef: { name: string }; lifecycle: { shutdownTime: string; shutdownPolicy: string } };
  status?: object;
}

/** Pods of this machine, each at an address of its own on the loopback interface: two files may run at once. */
let lastAddress = process.pid % 60_000;
function nextAddress(): string {
  lastAddress += 1;
  return `127.${70 + ((lastAddress >> 16) & 63)}.${(lastAddress >> 8) & 255}.${lastAddress & 255}`;
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
    const pod = { name: `${POOL}-${ulid().toLowerCase()}`, address: nextAddress() };
    const dir = mkdtempSync(join(tmpdir(), 'sandbox-pod-'));
    const settings = { ...SANDBOX_SETTINGS, dataDir: dir, sandboxDir: dir, ...this.settings };
    const daemon = await startDaemon(pod, settings, testLogger());
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

/** The few requests of a worker, answered as an API server of Kubernetes does. `requests` has the method and path of each. */
export async function startTestApiServer() {
  const claims = new Map<string, ClaimObject>();
  const requests: string[] = [];
  const problem: { status: number; message: string }[] = [];
  const fail = (code: number, message: string) => ({ code, answer: { kind: 'Status', message, code } });
  const answer = (method: string, path: string, query: URLSearchParams, body: Partial<ClaimObject>) => {
    if (problem[0] !== undefined && query.get('labelSelector') === null && method !== 'GET')
      return fail(problem[0].status, problem[0].message);
    if (path === `${PATH}/sandboxwarmpools/${POOL}`) return { code: 200, answer: { metadata: { name: POOL } } };
    const [, name, sub] = /\/sandboxclaims(?:\/([^/]+))?(\/status)?$/.exec(path) ?? [];
    if (!path.startsWith(`${PATH}/sandboxclaims`)) return fail(404, 'the server could not find the requested resource');
    if (name === undefined && method === 'GET') return { code: 200, answer: { items: [...claims.values()] } };
    if (name === undefined) {
      const made = body as ClaimObject;
      if (claims.has(made.metadata.name)) return fail(409, `${made.metadata.name} already exists`);
      const creationTimestamp = new Date().toISOString();
      const claim = { ...made, metadata: { ...made.metadata, uid: ulid(), creationTimestamp } };
      if (query.get('dryRun') !== 'All') claims.set(made.metadata.name, claim);
      return { code: 201, answer: claim };
    }
    const claim = claims.get(name);
    if (claim === undefined) return fail(404, `${name} not found`);
    if (method === 'DELETE') claims.delete(name);
    if (method === 'PATCH' && sub !== undefined) claim.status = body.status!;
    else if (method === 'PATCH') claim.spec = { ...claim.spec, ...body.spec! };
    return { code: 200, answer: claim };
  };
  const server = createServer((request: IncomingMessage, response) => {
    void text(request).then((content) => {
      const { pathname, searchParams } = new URL(request.url!, 'http://api');
      requests.push(`${request.method} ${pathname.replace(PATH, '')}`);
      const isKnown = request.headers.authorization === 'Bearer a-token';
      const { code, answer: body } = isKnown
        ? answer(request.method!, pathname, searchParams, content === '' ? {} : (JSON.parse(content) as ClaimObject))
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
  return { access, claims, requests, problem, close };
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
