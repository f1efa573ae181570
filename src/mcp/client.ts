import { VERSION } from '../platform/version.js';
import { setTimeout } from 'node:timers/promises';
import { MAX_OPEN_QUESTIONS } from '../forms/limits.js';
import { unlessAborted, unlessLate } from '../platform/limited-wait.js';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import type { ServerCapabilities } from '@modelcontextprotocol/sdk/types.js';
import { answerQuestions, QUESTION_CAPABILITIES, type QuestionHandler } from './questions.js';
import { type OnLarge, callLimits, shortLimits } from './transport/answer-body.js';
import { McpTransport, type TransportOptions } from './transport/transport.js';
import { uncompiled } from './uncompiled.js';
import { ignored } from '../platform/ignored.js';

/** The maximum of setTimeout, so that the SDK's own timeout never fires. Callers limit the time by their signals. */
const NO_TIMEOUT = 2 ** 31 - 1;
/** Time for a server to open its own stream. */
const LISTEN_TIMEOUT_MS = 2000;
/** For the end of a session on its server. */
const GOODBYE_TIMEOUT_MS = 1000;

/** Keys in `_meta` of a call. They are equal for every attempt, so that a server can detect a repetition. */
const IDEMPOTENCY_META = 'agent-session-service/idempotency-key';

export interface ConnectionOptions extends Omit<TransportOptions, 'maxQuestions'> {
  /** Answers what the server asks. Undefined: the client does not offer to be asked. */
  onQuestion?: QuestionHandler | undefined;
}

interface CallOptions {
  signal: AbortSignal;
  idempotencyKey: string;
  onProgress: () => void;
  /** Runs before a large answer is read. */
  onLarge?: OnLarge;
  parameters?: Record<string, unknown>;
}

/** What another connection needs to go on with an MCP session. */
export interface McpSession {
  id: string;
  protocolVersion: string;
}

export class McpConnection {
  readonly #client: Client;
  readonly #transport: McpTransport;
  /** Runs when the connection has been closed or detached. */
  onClose: () => void = () => undefined;

  private constructor(
    readonly options: ConnectionOptions,
    session?: McpSession,
  ) {
    const { onQuestion } = options;
    const capabilities = onQuestion === undefined ? {} : QUESTION_CAPABILITIES;
    this.#client = new Client({ name: 'agent-session-service', version: VERSION }, { capabilities, ...uncompiled });
    if (onQuestion !== undefined) answerQuestions(this.#client, onQuestion);
    this.#transport = new McpTransport(
      { ...options, maxQuestions: onQuestion === undefined ? 0 : MAX_OPEN_QUESTIONS },
      session,
    );
  }

  /** Connects and initializes the session. After a failure or abort, nothing stays open. */
  static async open(options: ConnectionOptions, signal: AbortSignal): Promise<McpConnection> {
    signal.throwIfAborted();
    const connection = new McpConnection(options);
    try {
      await unlessAborted(connection.#client.connect(connection.#transport, { timeout: NO_TIMEOUT }), signal);
      // Many servers ask on their own stream, and drop a question while it is not open.
      if (options.onQuestion !== undefined)
        await Promise.race([
          connection.#transport.listening,
          setTimeout(LISTEN_TIMEOUT_MS, undefined, { signal, ref: false }),
        ]);
    } catch (error) {
      await connection.close();
      throw error;
    }
    return connection;
  }

  /** Goes on with a session that another connection has opened. Sends nothing yet. */
  static async resume(options: ConnectionOptions, session: McpSession): Promise<McpConnection> {
    const connection = new McpConnection(options, session);
    await connection.#client.connect(connection.#transport);
    return connection;
  }

  get serverName(): string | null {
    return this.#client.getServerVersion()?.name || null;
  }

  /** True if the server keeps a session for this connection. It may lose that session. */
  get hasSession(): boolean {
    return this.#transport.sessionId !== undefined;
  }

  /** The session that the server keeps; null if it keeps none. */
  get session(): McpSession | null {
    return this.#transport.session;
  }

  /** What the server offers; undefined in a session that was resumed. */
  get capabilities(): ServerCapabilities | undefined {
    return this.#client.getServerCapabilities();
  }

  async ping(signal: AbortSignal): Promise<void> {
    await this.request('ping', undefined, signal, { limits: shortLimits() });
  }

  /**
   * Calls a tool once. An abort sends `notifications/cancelled` at once and rejects. The answer is not validated,
   * because the SDK's schema would refuse a whole result for one unknown kind of content.
   */
  async callTool(
    name: string,
    input: Record<string, unknown>,
    { signal, idempotencyKey, onProgress, onLarge, parameters }: CallOptions,
  ): Promise<Record<string, unknown>> {
    const params = { name, arguments: input, _meta: { [IDEMPOTENCY_META]: idempotencyKey }, ...parameters };
    const options = { limits: callLimits(), onLarge, onProgress, exactNumbers: true };
    return this.request('tools/call', params, signal, options);
  }

  /** Answers a question that the server asked on another connection of the session. */
  async answer(requestId: number | string, result: Record<string, unknown>): Promise<void> {
    await this.#transport.send({ jsonrpc: '2.0', id: requestId, result });
  }

  /** Sends a request and returns its result, unchecked. @throws see `McpTransport.request` */
  request(...[method, params, signal, options]: Parameters<McpTransport['request']>): Promise<Record<string, unknown>> {
    return this.#transport.request(method, params, signal, options);
  }

  /** Ends the session and closes all its connections. */
  async close(): Promise<void> {
    if (this.hasSession) {
      const goodbye = this.#transport.terminateSession().catch(ignored('the server may be gone'));
      await unlessLate(goodbye, GOODBYE_TIMEOUT_MS, () => undefined);
    }
    await this.detach();
  }

  async detach(): Promise<void> {
    await this.#client.close();
    // After a failed connect, the client no longer refers to its transport, which is still open.
    await this.#transport.close();
    this.onClose();
  }
}
