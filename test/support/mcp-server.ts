import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Server, type ServerOptions } from '@modelcontextprotocol/sdk/server/index.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import {
  InMemoryTaskMessageQueue,
  InMemoryTaskStore,
} from '@modelcontextprotocol/sdk/experimental/tasks/stores/in-memory.js';
import {
  CallToolRequestSchema,
  ElicitResultSchema,
  ListToolsRequestSchema,
  type CallToolResult,
  type ElicitRequestFormParams,
  type ElicitRequestURLParams,
  type ElicitResult,
  type Task,
  type Tool,
} from '@modelcontextprotocol/sdk/types.js';

export interface TestToolCall {
  arguments: Record<string, unknown>;
  meta: Record<string, unknown>;
  /** Aborts when the client sends `notifications/cancelled`. */
  signal: AbortSignal;
  /** Sends a progress notification on the stream of the call. */
  progress: (value: number) => Promise<void>;
  /** Asks the person. */
  ask: (question: Question, options?: { signal?: AbortSignal }) => Promise<ElicitResult>;
}

/** A task that the server works on. It ends when the tool says so. */
export interface TestTask {
  id: string;
  arguments: Record<string, unknown>;
  update: (status: Task['status'], message?: string) => Promise<void>;
  end: (status: 'completed' | 'failed', result: unknown) => Promise<void>;
  /** Asks the person, as part of the task. */
  ask: (question: Question) => Promise<ElicitResult>;
}

export type Question = ElicitRequestFormParams | ElicitRequestURLParams;

export interface TestTool extends Partial<Omit<Tool, 'name'>> {
  name: string;
  /** Without it the tool answers with the text `ok`. */
  run?: (call: TestToolCall) => unknown;
  /** Works on calls that are tasks; the tool is offered as one. */
  task?: (task: TestTask) => unknown;
  pollInterval?: number;
}

export interface McpServerOptions {
  tools?: TestTool[];
  /** The credential that every request must carry, else 401. */
  auth?: { header: string; value: string };
  /** Keeps no sessions. */
  stateless?: boolean;
  /** Tools on a page of tools/list. */
  pageSize?: number;
  serverName?: string;
  /** Answers plain JSON instead of streams. */
  json?: boolean;
  /** The status for a session that the server does not know (404 by the protocol, often 400). */
  unknownSession?: 404 | 400;
  /** Keeps tasks for tools that have `task`. */
  tasks?: boolean;
  /** Every MCP session sees every task. Else only the session that began it. */
  sharedTasks?: boolean;
  /** Stands in front of the server: true when it has answered by itself. */
  gateway?: (req: IncomingMessage, res: ServerResponse, body: string) => boolean | Promise<boolean>;
}

export interface TestMcpServer {
  url: string;
  /** `127.0.0.1:port`, for MCP_ALLOWED_HOSTS. */
  host: string;
  /** Every tools/call that reached the server, also those under way. */
  calls: { name: string; arguments: Record<string, unknown>; meta: Record<string, unknown> }[];
  /** The tasks that were created, as the server sees them now. */
  taskStates: () => Task[];
  forgetTasks: () => void;
  /** Names of the tools whose calls were cancelled by notification. */
  cancelled: string[];
  /** The method of each message and HTTP request, in order. */
  log: string[];
  /** Headers of the last request. */
  lastHeaders: NodeJS.Dict<string | string[]>;
  /** May be changed at any time; the next request sees it. */
  options: McpServerOptions;
  /** Open sockets. */
  connections: () => Promise<number>;
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

  const listen = async (): Promise<void> => {
    http = createServer((req, res) => void answer(req, res));
    // By default 5 s: a client on a busy machine would send on a connection that is just being closed.
    http.keepAliveTimeout = 60_000;
    http.listen(port, '127.0.0.1');
    await once(http, 'listening');
    port = (http.address() as AddressInfo).port;
  };
  const kill = async (): Promise<void> => {
    const closed = once(http, 'close');
    http.close();
    http.closeAllConnections();
    await closed;
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
    await protocolServer(server, options.tasks === true ? { taskStore, taskMessageQueue } : {}).connect(transport);
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
    kill,
    restart: async () => {
      if (http.listening) await kill();
      await listen();
    },
    close: async () => {
      taskStore.cleanup();
      if (http.listening) await kill();
    },
  };
  await listen();
  server.host = `127.0.0.1:${port}`;
  server.url = `http://${server.host}/mcp`;
  return server;
}

function protocolServer(server: TestMcpServer, stores: Pick<ServerOptions, 'taskStore' | 'taskMessageQueue'>): Server {
  const { serverName = 'test-server', tasks = false } = server.options;
  const capabilities = {
    tools: {},
    ...(tasks && { tasks: { requests: { tools: { call: {} } }, cancel: {}, list: {} } }),
  };
  const protocol = new Server({ name: serverName, version: '1' }, { capabilities, ...stores });
  protocol.setRequestHandler(ListToolsRequestSchema, ({ params }) => {
    const { tools = [], pageSize = 1000 } = server.options;
    const start = Number(params?.cursor ?? 0);
    const page = tools.slice(start, start + pageSize).map(({ run: _, task, pollInterval: __, ...tool }) => ({
      ...(task !== undefined && { execution: { taskSupport: 'required' as const } }),
      inputSchema: { type: 'object' as const },
      ...tool,
    }));
    return { tools: page, ...(start + pageSize < tools.length && { nextCursor: String(start + pageSize) }) };
  });
  protocol.setRequestHandler(CallToolRequestSchema, async ({ params }, extra) => {
    const { signal, sendNotification } = extra;
    const { name, arguments: input = {}, _meta: meta = {} } = params;
    server.calls.push({ name, arguments: input, meta });
    signal.addEventListener('abort', () => server.cancelled.push(name));
    const tool = server.options.tools?.find((candidate) => candidate.name === name);
    if (tool?.task !== undefined && params.task !== undefined) {
      return { task: await startTask(tool, input, params.task.ttl, extra) };
    }
    const progress = async (value: number): Promise<void> => {
      if (meta.progressToken === undefined) return;
      await sendNotification({
        method: 'notifications/progress',
        params: { progressToken: meta.progressToken, progress: value },
      });
    };
    const ask: TestToolCall['ask'] = (question, options) =>
      extra.sendRequest({ method: 'elicitation/create', params: question }, ElicitResultSchema, {
        timeout: 600_000,
        ...options,
      });
    const result = await tool?.run?.({ arguments: input, meta, signal, progress, ask });
    return asResult(result ?? 'ok');
  });
  return protocol;
}

class TaskStore extends InMemoryTaskStore {
  /** A task that is shared is known in every MCP session. */
  constructor(private readonly isShared: () => boolean) {
    super();
  }

  override createTask(
    ...[parameters, requestId, request, sessionId]: Parameters<InMemoryTaskStore['createTask']>
  ): Promise<Task> {
    return super.createTask(parameters, requestId, request, this.isShared() ? undefined : sessionId);
  }
}

type Extra = Parameters<Parameters<Server['setRequestHandler']>[1]>[1];

async function startTask(
  { task: work, pollInterval }: TestTool,
  input: Record<string, unknown>,
  ttl: number | undefined,
  { taskStore, sendRequest }: Extra,
): Promise<Task> {
  const created = await taskStore!.createTask({
    ttl: ttl ?? null,
    ...(pollInterval !== undefined && { pollInterval }),
  });
  const { taskId } = created;
  void work!({
    id: taskId,
    arguments: input,
    update: (status, message) => taskStore!.updateTaskStatus(taskId, status, message),
    end: (status, result) => taskStore!.storeTaskResult(taskId, status, asResult(result)),
    ask: (params) =>
      sendRequest({ method: 'elicitation/create', params }, ElicitResultSchema, {
        timeout: 600_000,
        ...{ relatedTask: { taskId } },
      }),
  });
  return created;
}

function asResult(result: unknown): CallToolResult {
  return typeof result === 'string' ? { content: [{ type: 'text', text: result }] } : (result as CallToolResult);
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

  async close(): Promise<void> {
    for (const server of this.#servers) await server.close();
  }
}
