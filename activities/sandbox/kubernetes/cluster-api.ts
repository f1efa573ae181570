import { readFile } from 'node:fs/promises';
import { Agent, fetch, type Dispatcher } from 'undici';

const ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount';
const REQUEST_TIMEOUT_MS = 10_000;

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

  /** A quota of the namespace refuses the object. The server says so in words only: the reason is `Forbidden`, as for a missing right. */
  get isQuotaUsedUp(): boolean {
    return this.status === 403 && this.message.includes('exceeded quota');
  }
}

/** How a PATCH changes its object: fields are merged, or operations of RFC 6902 run in their order, all or none. */
export type Patch = { merge: object } | { operations: object[] };

/** Requests to an API server of Kubernetes. */
export class ClusterApi {
  readonly #dispatcher: Dispatcher;

  constructor(private readonly access: ClusterAccess) {
    this.#dispatcher = new Agent({ connect: access.ca === null ? {} : { ca: access.ca }, connections: 32 });
  }

  get<T>(path: string): Promise<T> {
    return this.#request('GET', path);
  }

  post<T>(path: string, object: object): Promise<T> {
    return this.#request('POST', path, object);
  }

  patch<T>(path: string, patch: Patch): Promise<T> {
    return 'merge' in patch
      ? this.#request('PATCH', path, patch.merge, 'application/merge-patch+json')
      : this.#request('PATCH', path, patch.operations, 'application/json-patch+json');
  }

  delete<T>(path: string, options: object): Promise<T> {
    return this.#request('DELETE', path, options);
  }

  async close(): Promise<void> {
    await this.#dispatcher.close();
  }

  /** @throws ClusterError, TypeError if the server cannot be reached */
  async #request<T>(method: string, path: string, body?: object, type = 'application/json'): Promise<T> {
    const response = await fetch(`${this.access.url}${path}`, {
      ...{ method, dispatcher: this.#dispatcher, signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS), redirect: 'error' },
      headers: { authorization: `Bearer ${await this.access.token()}`, 'content-type': type },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new ClusterError(response.status, `${response.status}: ${statusMessage(text)}`);
    return JSON.parse(text) as T;
  }
}

/** Runs a request; null if the server answers with one of these statuses. @throws what the request throws */
export async function unlessStatus<T>(statuses: number[], request: Promise<T>): Promise<T | null> {
  try {
    return await request;
  } catch (error) {
    if (error instanceof ClusterError && statuses.includes(error.status)) return null;
    throw error;
  }
}

/** The server's own words: it answers with a Status. */
function statusMessage(text: string): string {
  try {
    return String((JSON.parse(text) as { message?: unknown }).message).slice(0, 500);
  } catch {
    return text.slice(0, 200);
  }
}
