import { setTimeout } from 'node:timers/promises';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import {
  ErrorCode,
  isJSONRPCRequest,
  type JSONRPCMessage,
  type JSONRPCRequest,
} from '@modelcontextprotocol/sdk/types.js';
import { ResponseTooLargeError } from '../../network/bounded-body.js';
import type { GuardedNetwork } from '../../network/network.js';
import { ignored } from '../../platform/ignored.js';
import { asJsonObject, type JsonObject } from '../../platform/json-object.js';
import { scanJson } from '../../platform/json-scan.js';
import type { RequestAuth } from '../request-auth.js';
import {
  AnswerBody,
  LARGE_BYTES,
  LARGE_VALUES,
  MAX_UNASKED_BYTES,
  MAX_UNASKED_VALUES,
  shortLimits,
} from './answer-body.js';
import { readErrorAnswer } from './error-answer.js';
import { AnswerRefusedError, HttpStatusError } from './errors.js';
import { EventReader } from './event-reader.js';
import { readMessage, type FindRequest } from './messages.js';
import type { Pacer } from './pacer.js';
import { AnswerLostError, McpRequest, type RequestOptions } from './request.js';
import { serverError } from './server-error.js';
import { discard, mediaType, SessionHttp, STREAM_TYPE } from './session-http.js';

/** Attempts to open a stream again, and the pause before the first one, unless the server names another. */
const MAX_REOPENS = 2;
const REOPEN_MS = 1000;
const REOPEN_FACTOR = 1.5;
/** Time for a server to resume the stream of a request. */
const RESUME_TIMEOUT_MS = 60_000;
const MAX_RETRY_MS = 999_999_999;
/** A longer id of an event is ignored. It becomes a header when the stream is resumed. */
const MAX_EVENT_ID = 1024;
/** Limit of parallel answers to the server's own requests (pings), without those to its questions. */
const MAX_REPLIES = 16;

/** Some servers send JSON under the last two types, which is "" if they name none. */
const JSON_TYPES: ReadonlySet<string> = new Set(['application/json', 'text/plain', '']);
const IS_ARRAY =
  'its answer is a JSON array (a batch), which MCP has removed: it has to answer each request with one message';
/** Work that costs as much as a ping: values that the SDK checks, values that are parsed and dropped, bytes. */
const CHECKED_PER_PING = 20;
const PARSED_PER_PING = 100;
const BYTES_PER_PING = 16 * 1024;

export interface TransportOptions {
  url: URL;
  network: GuardedNetwork;
  auth: RequestAuth;
  /** Also opens the server's stream of messages, on which some servers report progress. */
  listen: boolean;
  /** Limits the messages that the server sends unasked. */
  pacer: Pacer;
  /** How many questions of the server may be answered at once. */
  maxQuestions?: number;
}

class TooManyRepliesError extends Error {
  override readonly name = 'TooManyRepliesError';
}

/**
 * Streamable HTTP for the SDK's client, with limits on what the server sends. The SDK opens the session and answers the
 * server's own requests. Requests of ours are sent by `request`: their answers do not pass through the SDK.
 */
export class McpTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  /** Resolves when the server has answered the request for its own stream. */
  readonly listening: Promise<void>;
  #onListening!: () => void;
  readonly #http: SessionHttp;
  readonly #closed = new AbortController();
  readonly #open = new Map<number, McpRequest>();
  /** Requests with a stream that is still read, also after their answer. */
  readonly #streaming = new Set<McpRequest>();
  /** The SDK numbers its request, `initialize`, with 0. */
  #nextId = 1;
  #replies = 0;
  #retryMs: number | undefined;
  #hasServerStream = false;

  constructor(
    private readonly options: TransportOptions,
    session?: { id: string; protocolVersion: string },
  ) {
    this.listening = new Promise((resolve) => (this.#onListening = resolve));
    this.#http = new SessionHttp(options, session);
  }

  get sessionId(): string | undefined {
    return this.#http.id;
  }

  /** What a later connection needs to go on with the session; null without one. */
  get session(): { id: string; protocolVersion: string } | null {
    const { id, protocolVersion } = this.#http;
    return id === undefined || protocolVersion === undefined ? null : { id, protocolVersion };
  }

  async start(): Promise<void> {}

  setProtocolVersion(version: string): void {
    this.#http.protocolVersion = version;
  }

  /** Sends a message of the SDK. @throws HttpStatusError, McpError, and what `network.fetch` throws */
  async send(message: JSONRPCMessage): Promise<void> {
    if (isJSONRPCRequest(message)) {
      const request = new McpRequest(Number(message.id), { limits: shortLimits(), handshake: true });
      const result = await this.#run(message, request);
      this.onmessage?.({ jsonrpc: '2.0', id: message.id, result });
      return;
    }
    if (!('method' in message)) return this.#reply(message);
    const status = await this.#notify(message);
    if (message.method === 'notifications/initialized' && status === 202 && this.options.listen) void this.#listen();
  }

  /**
   * Sends a request and returns its result, unchecked. An abort rejects at once and sends `notifications/cancelled`.
   * @throws McpError that the server answered, HttpStatusError, AnswerLostError, AnswerRefusedError
   */
  async request(
    method: string,
    params: JsonObject | undefined,
    signal: AbortSignal,
    options: RequestOptions,
  ): Promise<JsonObject> {
    signal.throwIfAborted();
    const id = this.#nextId++;
    const request = new McpRequest(id, options);
    const _meta = { ...asJsonObject(params?._meta), progressToken: id };
    const sent = options.onProgress === undefined ? params : { ...params, _meta };
    const onAbort = (): void => request.abandon(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    try {
      return await this.#run({ jsonrpc: '2.0', id, method, params: sent }, request);
    } catch (error) {
      const reason = 'The client no longer waits for the answer.';
      const cancel = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: id, reason } } as const;
      if (request.isAbandoned) void this.#notify(cancel).catch(ignored('the server may be gone'));
      throw error;
    } finally {
      signal.removeEventListener('abort', onAbort);
    }
  }

  /** Ends the session on the server. */
  async terminateSession(): Promise<void> {
    await this.#http.terminate(this.#closed.signal);
  }

  async close(): Promise<void> {
    this.#closed.abort();
    for (const request of this.#open.values()) request.fail(new AnswerLostError('the connection was closed'));
    for (const request of this.#streaming) request.close();
    this.onclose?.();
  }

  async #run(message: JSONRPCRequest, request: McpRequest): Promise<JsonObject> {
    this.#open.set(request.id, request);
    this.#streaming.add(request);
    void this.#carry(message, request)
      .catch((error: unknown) => (isRefusal(error) ? request.abandon(error) : request.fail(error)))
      .finally(() => this.#streaming.delete(request));
    try {
      return await request.answer;
    } finally {
      this.#open.delete(request.id);
    }
  }

  /** Sends a request and reads what may carry its answer. */
  async #carry(message: JSONRPCRequest, request: McpRequest): Promise<void> {
    const response = await this.#http.post(message, request.signal, request.options.limits);
    const { ok, status } = response;
    const type = response.body === null ? null : mediaType(response);
    if (ok && type === STREAM_TYPE) {
      if (!(await this.#follow(response, request))) return request.lose();
    } else if (ok && type !== null && JSON_TYPES.has(type) && (status === 200 || type === 'application/json')) {
      if (await this.#readJson(response, request)) return;
    } else {
      const error = await readErrorAnswer(response, request);
      await discard(response);
      if (status !== 202)
        return request.fail(error === null ? new HttpStatusError(status) : serverError(error, status));
    }
    // A server may send the answer on its own stream after it has ended the stream of the request as it should.
    if (this.#hasServerStream) request.waitsForServerStream = true;
    else request.lose();
  }

  /** False for an empty 202: the answer may come on the server's own stream. */
  async #readJson(response: Response, request: McpRequest): Promise<boolean> {
    const { limits, onLarge } = request.options;
    const body = new AnswerBody(response.body!, onLarge, declaredLength(response) ?? limits.bytes);
    const decoder = new TextDecoder();
    let text = '';
    let bytes = 0;
    try {
      for (let piece = await body.read(); piece !== undefined; piece = await body.read()) {
        text += decoder.decode(piece, { stream: true });
        bytes += piece.length;
        await body.weigh({ bytes, values: 0 });
      }
    } catch (error) {
      await body.cancel(error);
      throw error;
    }
    if (response.status === 202 && bytes === 0) return false;
    await this.#receive(text + decoder.decode(), bytes, body, request);
    request.fail(new Error('the body is no answer of MCP to this request'));
    return true;
  }

  /** Opens the server's own stream, and again whenever it ends. */
  async #listen(): Promise<void> {
    try {
      const response = await this.#http.openStream(undefined, this.#closed.signal).finally(() => this.#onListening());
      if (response !== null) await this.#follow(response);
    } catch (error) {
      if (!this.#closed.signal.aborted) this.onerror?.(error as Error);
    }
  }

  /**
   * Reads a stream, and resumes it as long as the server lets it. The stream of a request can be resumed after an event
   * with an id. Returns false if it broke.
   */
  async #follow(first: Response, request?: McpRequest): Promise<boolean> {
    const signal = request?.signal ?? this.#closed.signal;
    let lastId: string | undefined;
    const keepId = (id: string): void => void (lastId = id);
    for (let response: Response | null = first; response !== null;) {
      const isWhole = await this.#readStream(response, keepId, request);
      signal.throwIfAborted();
      if (request !== undefined && (request.isSettled || lastId === undefined)) return isWhole;
      response = await this.#reopenStream(lastId, signal, request);
    }
    return false;
  }

  /** Returns false if the stream broke. @throws AnswerRefusedError, ResponseTooLargeError */
  async #readStream(response: Response, onId: (id: string) => void, request?: McpRequest): Promise<boolean> {
    const isOwn = request === undefined;
    const { limits, onLarge } = request?.options ?? {};
    const body = new AnswerBody(response.body!, onLarge, limits?.bytes ?? MAX_UNASKED_BYTES);
    const onRetry = (ms: number): void => void (this.#retryMs = ms <= MAX_RETRY_MS ? ms : this.#retryMs);
    const reader = new EventReader({ onRetry, maxLength: isOwn ? LARGE_BYTES : undefined });
    if (isOwn) this.#hasServerStream = true;
    try {
      for (let piece = await body.read(); piece !== undefined; piece = await body.read()) {
        for (const { id = '', data } of reader.feed(piece)) {
          if (id !== '' && id.length <= MAX_EVENT_ID) onId(id);
          if (data === '') await this.options.pacer.charge(1);
          else {
            await this.#receive(data, Buffer.byteLength(data), body, request).catch((error: unknown) => {
              if (!(error instanceof SyntaxError)) throw error;
              return this.options.pacer.charge(1);
            });
          }
        }
        await body.weigh({ bytes: reader.pending, values: 0 });
      }
      return true;
    } catch (error) {
      await body.cancel(error);
      if (!isOwn && isRefusal(error)) throw error;
      return false;
    } finally {
      if (isOwn) this.#endServerStream();
    }
  }

  #endServerStream(): void {
    this.#hasServerStream = false;
    for (const request of this.#open.values()) if (request.waitsForServerStream) request.lose();
  }

  /**
   * Handles a message. What is no answer is paced.
   * @param request the one whose stream or body carries the message. Without one it came on the server's own stream,
   *   where a message that is too large is dropped
   * @throws AnswerRefusedError, SyntaxError
   */
  async #receive(text: string, bytes: number, body: AnswerBody, request?: McpRequest): Promise<void> {
    const { values, isArray } = scanJson(text);
    const { limits } = request?.options ?? {};
    if (limits !== undefined && (isArray || values > limits.values))
      throw new AnswerRefusedError(isArray ? IS_ARRAY : limits.tooMany);
    const isDropped = limits === undefined && (isArray || this.#isTooLarge({ bytes, values }));
    await body.weigh({ bytes, values });
    const unasked = isDropped ? { message: null } : readMessage(text, { bytes, values }, this.#finderOf(request));
    if (unasked === null) return;
    const { message } = unasked;
    if (message !== null) this.#passOn(message);
    const perPing = message === null ? PARSED_PER_PING : CHECKED_PER_PING;
    await this.options.pacer.charge(1 + values / perPing + bytes / BYTES_PER_PING);
  }

  /** Only while a request is open, a large message on the server's own stream may be its answer. */
  #isTooLarge({ bytes, values }: { bytes: number; values: number }): boolean {
    if (this.#open.size > 0) return bytes > LARGE_BYTES || values > LARGE_VALUES;
    return bytes > MAX_UNASKED_BYTES || values > MAX_UNASKED_VALUES;
  }

  #finderOf(request: McpRequest | undefined): FindRequest {
    if (request === undefined) return (id) => this.#open.get(id ?? NaN);
    const isHandshake = request.options.handshake === true;
    return (id) => (id === request.id || (id === null && isHandshake) ? request : undefined);
  }

  #passOn(message: JSONRPCMessage): void {
    if ('method' in message && message.method === 'notifications/progress')
      this.#open.get(Number(message.params?.progressToken))?.options.onProgress?.();
    else if (isUnreadable(message)) void this.#reply(refusal(message)).catch(ignored('the server may be gone'));
    else this.onmessage?.(message);
  }

  async #reply(message: JSONRPCMessage): Promise<void> {
    if (this.#replies === MAX_REPLIES + (this.options.maxQuestions ?? 0)) throw new TooManyRepliesError();
    this.#replies += 1;
    await this.#notify(message).finally(() => (this.#replies -= 1));
  }

  /** Sends a message that has no answer. Returns the HTTP status. @throws HttpStatusError */
  async #notify(message: JSONRPCMessage): Promise<number> {
    const response = await this.#http.post(message, this.#closed.signal);
    await discard(response);
    if (!response.ok) throw new HttpStatusError(response.status);
    return response.status;
  }

  /** Null if the server does not let the stream be resumed. @throws if the signal aborts */
  async #reopenStream(
    lastId: string | undefined,
    signal: AbortSignal,
    request: McpRequest | undefined,
  ): Promise<Response | null> {
    const maxWait = request === undefined ? MAX_RETRY_MS : RESUME_TIMEOUT_MS;
    for (let attempt = 0; attempt < MAX_REOPENS; attempt += 1) {
      const wait = this.#retryMs ?? REOPEN_MS * REOPEN_FACTOR ** attempt;
      await setTimeout(Math.min(wait, maxWait), undefined, { signal, ref: false });
      try {
        return await this.#http.openStream(lastId, signal, request?.options.limits);
      } catch {
        signal.throwIfAborted();
      }
    }
    return null;
  }
}

/** A request that the SDK would not answer, so that the server would wait for ever. */
function isUnreadable(message: JSONRPCMessage): message is JSONRPCRequest {
  return 'method' in message && 'id' in message && !isJSONRPCRequest(message);
}

function refusal({ id }: JSONRPCRequest): JSONRPCMessage {
  return { jsonrpc: '2.0', id, error: { code: ErrorCode.InvalidRequest, message: 'Invalid request' } };
}

function isRefusal(error: unknown): boolean {
  return error instanceof AnswerRefusedError || error instanceof ResponseTooLargeError;
}

function declaredLength({ headers }: Response): number | null {
  const length = headers.get('content-length');
  return length === null || headers.has('content-encoding') ? null : Number(length);
}
