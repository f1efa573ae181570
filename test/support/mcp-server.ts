import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { InMemoryTaskMessageQueue } from '@modelcontextprotocol/sdk/experimental/tasks/stores/in-memory.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import type { Task } from '@modelcontextprotocol/sdk/types.js';
import { expect } from 'chai';
import { openMcpSession, TaskStore, type McpToolOptions, type McpToolServer } from './mcp-tools.js';
import type { TestService } from './service.js';
import { closeServer, listen } from './listen.js';

export type { Question, TestTask, TestTool, TestToolCall } from './mcp-tools.js';

export interface McpServerOptions extends McpToolOptions {
  /** The credential that every request must carry, else 401. */
  auth?: { header: string; value: string };
  /** Keeps no sessions. */
  stateless?: boolean;
  /** Answers plain JSON instead of streams. */
  json?: boolean;
  /** The status for an unknown session (404 by the protocol, often 400). */
  unknownSession?: 404 | 400;
  /** Every MCP session sees every task. Else only the session that began it. */
  sharedTasks?: boolean;
  /** Stands in front of the server: true when it has answered by itself. */
  gateway?: (req: IncomingMessage, res: ServerResponse, body: string) => boolean | Promise<boolean>;
}

export interface TestMcpServer extends McpToolServer {
  url: string;
  /** `127.0.0.1:port`, for MCP_ALLOWED_HOSTS. */
  host: string;
  /** The tasks that were created, as the server sees them now. */
  taskStates: () => Task[];
  forgetTasks: () => void;
  /** The method of each message and HTTP request, in order. */
  log: string[];
  /** Headers of the last request. */
  lastHeaders: NodeJS.Dict<string | string[]>;
  /** May be changed at any time; the next request sees it. */
  options: McpServerOptions;
  /** Open sockets, also those that a client keeps for later. */
  connections: () => Promise<number>;
  /** Requests whose answer is not complete, and whose client has not gone. */
  openRequests: () => number;
  /** Dies with everything under way, as a crashed process. */
  kill: () => Promise<void>;
  /** Comes up again on the same port, with no memory of its sessions. */
  restart: () => Promise<void>;
  close: () => Promise<void>;
}

/** A real MCP server over Streamable HTTP, made with the SDK's server on node:http; it counts what reaches it. */
export async function startMcpServer(options: McpServerOptions = {}): Promise<TestMcpServer> {
  const sessions = new Map<string, StreamableHTTPServerTransport>();
  const taskStore = new TaskStore(() => server.options.sharedTasks === true);
  const taskMessageQueue = new InMemoryTaskMessageQueue();
  let http = createServer();
  let port = 0;
  let open = 0;

  const start = async (): Promise<void> => {
    http = createServer((req, res) => {
      open += 1;
      res.once('close', () => (open -= 1));
      void answer(req, res);
    });
    // By default 5 s: a client on a busy machine would send on a connection that is just being closed.
    http.keepAliveTimeout = 60_000;
    ({ port } = await listen(http, port));
  };
  const kill = async (): Promise<void> => {
    await closeServer(http);
    sessions.clear();
  };

  const answer = async (req: IncomingMessage, res: ServerResponse): Promise<void> => {
    const { auth, stateless, gateway, json = false, unknownSession = 404 } = server.options;
    const body = await readAll(req);
    server.lastHeaders = req.headers;
    const parsed = parseJson(body) as { method?: string } | undefined;
    server.log.push(parsed?.method ?? req.method!);
    if (await gateway?.(req, res, body)) return;
    if (auth !== undefined && req.headers[auth.header.toLowerCase()] !== auth.value) {
      res.writeHead(401, { 'www-authenticate': 'Bearer' }).end(`wrong credential ${req.headers.authorization}`);
      return;
    }
    const id = req.headers['mcp-session-id'];
    if (stateless !== true && id !== undefined && !sessions.has(String(id))) {
      res.writeHead(unknownSession, { 'content-type': 'application/json' });
      res.end('{"jsonrpc":"2.0","error":{"code":-32001,"message":"Session not found"},"id":null}');
      return;
    }
    if (stateless === true && req.method !== 'POST') {
      res.writeHead(405).end();
      return;
    }
    const transport = sessions.get(String(id)) ?? (await newTransport(stateless === true, json));
    await transport.handleRequest(req, res, parsed);
  };

  const newTransport = async (stateless: boolean, json: boolean): Promise<StreamableHTTPServerTransport> => {
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: stateless ? undefined : () => randomUUID(),
      enableJsonResponse: json,
      onsessioninitialized: (id) => void sessions.set(id, transport),
      onsessionclosed: (id) => void sessions.delete(id),
    });
    await openMcpSession(server, options.tasks === true ? { taskStore, taskMessageQueue } : {}).connect(transport);
    return transport;
  };

  const server: TestMcpServer = {
    url: '',
    host: '',
    calls: [],
    taskStates: () => taskStore.getAllTasks(),
    forgetTasks: () => taskStore.cleanup(),
    cancelled: [],
    log: [],
    lastHeaders: {},
    options,
    connections: () =>
      new Promise((resolve, reject) => http.getConnections((error, count) => (error ? reject(error) : resolve(count)))),
    openRequests: () => open,
    kill,
    restart: async () => {
      if (http.listening) await kill();
      await start();
    },
    close: async () => {
      taskStore.cleanup();
      if (http.listening) await kill();
    },
  };
  await start();
  server.host = `127.0.0.1:${port}`;
  server.url = `http://${server.host}/mcp`;
  return server;
}

/**
 * A gateway of a server that knows its callers by their tokens: it answers 401 to those that it does not accept. `onCall` gets the token
 * and the arguments of each call of a tool that it lets in.
 */
export function tokenGateway(
  accepts: (token: string) => boolean,
  onCall: (token: string, args: Record<string, unknown>) => void = () => undefined,
): NonNullable<McpServerOptions['gateway']> {
  return (req, res, body) => {
    const token = String(req.headers.authorization).replace('Bearer ', '');
    if (!accepts(token)) {
      res.writeHead(401, { 'www-authenticate': 'Bearer' }).end();
      return true;
    }
    const { method, params } = JSON.parse(body === '' ? '{}' : body) as {
      method?: string;
      params?: { arguments: Record<string, unknown> };
    };
    if (method === 'tools/call') onCall(token, params!.arguments);
    return false;
  };
}

async function readAll(req: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of req) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

interface RegisteredServer {
  server: TestMcpServer;
  made: { id: string; name: string; url: string; updated_at: string; last_probed_at: string };
  path: string;
}

/** The MCP servers of a test file. `hosts` goes into the configuration and grows with each server. */
export class McpServers {
  readonly hosts: string[] = [];
  readonly #servers: TestMcpServer[] = [];

  async start(options: McpServerOptions): Promise<TestMcpServer> {
    const server = await startMcpServer(options);
    this.#servers.push(server);
    this.hosts.push(server.host);
    return server;
  }

  /** A server that is registered with the service, under a name of its own. */
  async register(
    service: Pick<TestService, 'api'>,
    options: McpServerOptions,
    body: Record<string, unknown> = {},
  ): Promise<RegisteredServer> {
    const server = await this.start(options);
    const registration = { name: `server-${this.hosts.length}`, url: server.url, ...body };
    const { status, body: made } = await service.api('POST', '/v1/mcp-servers', registration);
    expect(status, JSON.stringify(made)).to.equal(201);
    return { server, made, path: `/v1/mcp-servers/${made.id}` };
  }

  async close(): Promise<void> {
    for (const server of this.#servers) await server.close();
  }
}
