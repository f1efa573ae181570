import { planAuthorization } from '../../../src/waits/login.js';
import { closeElicitations } from '../../../src/waits/question.js';
import { findTurnServers } from '../../../src/mcp/user-credentials.js';
import type { FairQueue } from '../../../src/platform/fair-queue.js';
import { reserveTask } from '../../../src/tasks/open.js';
import type { ToolCallRow } from '../../../src/steps/tool-call.js';
import type { TurnDeps } from '../../../src/turns/change-turn.js';
import { outcomeUnknown } from '../outcomes.js';
import type { ToolDeps } from '../tool.js';
import type { Suspended, Suspension, ToolKind } from '../tool-kind.js';
import { askPerson, type AskDeps } from './ask-person.js';
import { callMcpTool } from './call.js';
import { CallWait, type ShowAskingDeps } from './call-wait.js';
import { keepTask } from './tasks/keep.js';
import type { McpServerTool } from './names.js';

export interface McpKindDeps
  extends ToolDeps, Pick<AskDeps, 'answers' | 'notifier'>, Pick<ShowAskingDeps, 'workflows'> {
  /** The connections of this process whose calls wait for a person. */
  waitingCalls: FairQueue;
}

/** Tools of MCP servers: a server may need its user's authorization, begin a task for a call, or ask a person during it. */
export function mcpKind(deps: McpKindDeps, tool: McpServerTool): ToolKind {
  const { serverId } = tool;
  const task: Suspended = { kind: 'polled', group: serverId };
  return {
    name: 'mcp',
    attributes: { 'mcp.method.name': 'tools/call', mcp_server_id: serverId },
    repeatable: tool.repeatable,
    async prepare({ turn, call }) {
      if (!tool.asUser || call.state !== 'pending') return null;
      const [server] = await findTurnServers(deps.db, turn.id, [serverId]);
      return server?.user_credential === null ? waitForUser(deps, call, 'pending', serverId) : null;
    },
    async run(toolCall, { turn, call, attempt, signal }, pause) {
      const wait = new CallWait(deps, { ...call, projectId: turn.projectId }, pause);
      const onQuestion = call.mayAsk ? askPerson(deps, call, turn.toolsets, wait, signal) : undefined;
      const result = await callMcpTool(
        deps,
        { ...toolCall, onQuestion, repeatable: tool.repeatable, wasSent: call.state === 'started' },
        tool,
        () => reserveTask(deps.db, turn.projectId, call),
      );
      if ('unauthorized' in result) return waitForUser(deps, call, 'started', serverId);
      if (!('task' in result)) return result;
      return {
        suspended: task,
        outcome: 'task',
        store: (retry) => keepTask(deps, call, result.task, attempt.id, retry),
      };
    },
    notRepeated: () => outcomeUnknown(tool.name),
    suspended: () => task,
    closeQuestions: ({ turn, call }, state) => closeElicitations(deps, turn.id, call, state),
  };
}

/** @param state `started`: the server refused the credential, so it has not run the call */
function waitForUser(deps: TurnDeps, call: ToolCallRow, state: 'pending' | 'started', serverId: string): Suspension {
  return {
    suspended: { kind: 'waits' },
    outcome: 'authorization',
    store: (retry) => retry(() => planAuthorization(deps, { ...call, state }, serverId)),
  };
}
