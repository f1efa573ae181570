import { setTimeout } from 'node:timers/promises';
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';
import type { GuardedNetwork } from '../../network/network.js';
import { exactText } from '../../platform/exact-json.js';
import { ignored } from '../../platform/ignored.js';
import type { RequestAuth } from '../request-auth.js';
import { MAX_ANSWER_BYTES } from './answer-body.js';
import { HttpStatusError } from './errors.js';

export const STREAM_TYPE = 'text/event-stream';
/** Minimum interval between two attempts to open a stream, however soon the server wants it. */
const MIN_STREAM_INTERVAL_MS = 500;
/** Limit of attempts with different tokens. */
const MAX_ATTEMPTS = 3;

/** The HTTP requests of one session with a server: its headers, and the credential, which may be refreshed on the way. */
export class SessionHttp {
  id: string | undefined;
  protocolVersion: string | undefined;
  #nextStreamAt = 0;

  constructor(
    private readonly options: { url: URL; network: GuardedNetwork; auth: RequestAuth },
    session?: { id: string; protocolVersion: string },
  ) {
    this.id = session?.id;
    this.protocolVersion = session?.protocolVersion;
  }

  post(message: JSONRPCMessage, signal: AbortSignal, left?: { bytes: number }): Promise<Response> {
    const headers = { accept: `application/json, ${STREAM_TYPE}`, 'content-type': 'application/json' };
    return this.#fetch('POST', { headers, body: exactText(message) }, signal, left);
  }

  /** Null if the server offers no stream. @throws HttpStatusError */
  async openStream(
    lastId: string | undefined,
    signal: AbortSignal,
    left?: { bytes: number },
  ): Promise<Response | null> {
    const wait = this.#nextStreamAt - Date.now();
    this.#nextStreamAt = Math.max(this.#nextStreamAt, Date.now()) + MIN_STREAM_INTERVAL_MS;
    if (wait > 0) await setTimeout(wait, undefined, { signal, ref: false });
    const headers = { accept: STREAM_TYPE, ...(lastId !== undefined && { 'last-event-id': lastId }) };
    const response = await this.#fetch('GET', { headers }, signal, left);
    if (response.ok && mediaType(response) === STREAM_TYPE && response.body !== null) return response;
    await discard(response);
    if (response.ok || response.status === 405) return null;
    throw new HttpStatusError(response.status);
  }

  /** Ends the session on the server. */
  async terminate(signal: AbortSignal): Promise<void> {
    if (this.id === undefined) return;
    await discard(await this.#fetch('DELETE', {}, signal));
    this.id = undefined;
  }

  /**
   * Sends a request, and again with another token after a 401, which means that the server has not processed it. The second
   * token can be one that another process had requested and that was withdrawn, too; then the third is a new one.
   */
  async #fetch(
    method: string,
    { headers = {}, body }: { headers?: Record<string, string>; body?: string },
    signal: AbortSignal,
    left: { bytes: number } = { bytes: MAX_ANSWER_BYTES },
  ): Promise<Response> {
    const { url, network, auth } = this.options;
    let authorization = await auth.authorize();
    for (let attempt = 1; ; attempt += 1) {
      const all = new Headers({ 'user-agent': 'agent-session-service', ...headers });
      if (this.id !== undefined) all.set('mcp-session-id', this.id);
      if (this.protocolVersion !== undefined) all.set('mcp-protocol-version', this.protocolVersion);
      for (const [name, value] of Object.entries(authorization.headers)) all.set(name, value);
      const init = { method, headers: all, signal, ...(body !== undefined && { body }) };
      const response = await network.fetch(url, init, { left });
      if (response.status !== 401 || authorization.token === undefined || attempt === MAX_ATTEMPTS) {
        this.id = response.headers.get('mcp-session-id') ?? this.id;
        return response;
      }
      await discard(response);
      authorization = await auth.authorize(authorization);
    }
  }
}

export function mediaType({ headers }: Response): string {
  return headers.get('content-type')?.split(';')[0]!.trim().toLowerCase() ?? '';
}

export async function discard({ body }: Response): Promise<void> {
  await body?.cancel().catch(ignored('the connection may be gone'));
}
