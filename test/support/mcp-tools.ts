import { InMemoryTaskStore } from '@modelcontextprotocol/sdk/experimental/tasks/stores/in-memory.js';
import { Server, type ServerOptions } from '@modelcontextprotocol/sdk/server/index.js';
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

/** A task that the server works on. It ends when the tool calls `end`. */
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

export interface McpToolOptions {
  tools?: TestTool[];
  /** Tools on a page of tools/list. */
  pageSize?: number;
  serverName?: string;
  /** Keeps tasks for tools that have `task`. */
  tasks?: boolean;
}

export interface McpToolServer {
  options: McpToolOptions;
  /** Every tools/call that reached the server, also those under way. */
  calls: { name: string; arguments: Record<string, unknown>; meta: Record<string, unknown> }[];
  /** Names of the tools whose calls were cancelled by notification. */
  cancelled: string[];
}

/** The server of one MCP session. Its options may be changed at any time. */
export function openMcpSession(
  server: McpToolServer,
  stores: Pick<ServerOptions, 'taskStore' | 'taskMessageQueue'>,
): Server {
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

export class TaskStore extends InMemoryTaskStore {
  /** A shared task is visible in every MCP session. */
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
