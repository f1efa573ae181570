import { readCreatedTask, taskParameter, type TaskState } from '../../../src/mcp/tasks.js';
import type { Cleaner } from '../../../src/mcp/cleaner.js';
import type { McpConnection, McpSession } from '../../../src/mcp/client.js';
import type { QuestionHandler } from '../../../src/mcp/questions.js';
import { sendCall, type CalledServer, type McpToolCall } from './call.js';
import { mcpResult } from './result.js';
import type { ToolDeps, ToolResult } from '../tool.js';

export interface StartedTask extends TaskState {
  taskId: string;
  serverId: string;
  /** The MCP session that the task belongs to; null for a server without sessions. */
  session: McpSession | null;
}

const MAX_MESSAGE_LENGTH = 1000;

/** A server's text about a task, without its secrets and short enough for an event. */
export function shortMessage(cleaner: Cleaner, message: string | null): string | null {
  return message === null ? null : cleaner.cleanStart(message, MAX_MESSAGE_LENGTH);
}

/**
 * Calls a tool as a task, in an MCP session of its own: the session has to stay for as long as the task runs. Returns the
 * task, or the result of a server that answers at once. Errors become results, as in `callMcpTool`.
 */
export async function startMcpTask(
  call: McpToolCall,
  server: CalledServer,
  toolName: string,
  deps: ToolDeps,
  onQuestion?: QuestionHandler,
): Promise<{ task: StartedTask } | ToolResult> {
  let own: McpConnection | undefined;
  let isKept = false;
  try {
    return await sendCall(call, server, toolName, deps, {
      parameters: taskParameter(deps.config.taskTimeoutSeconds),
      send: async ({ signal, callTool }, { mcp }) => {
        await own?.close();
        own = await mcp.openOwn(server, signal, onQuestion);
        return callTool(own);
      },
      read: async (answer, cleaner) => {
        const task = readCreatedTask(answer);
        if (task === null) return mcpResult(answer, call, deps, cleaner);
        isKept = true;
        return {
          task: { ...task, message: shortMessage(cleaner, task.message), serverId: server.id, session: own!.session },
        };
      },
    });
  } finally {
    await (isKept ? own?.detach() : own?.close());
  }
}
