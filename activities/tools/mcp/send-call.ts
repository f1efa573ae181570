import { McpError } from '@modelcontextprotocol/sdk/types.js';
import type { McpServerRow } from '../../../src/db/entities/mcp-servers.js';
import type { McpConnection } from '../../../src/mcp/client.js';
import { withLargeAnswer } from '../../../src/mcp/large-answer.js';
import { MAX_ANSWER_VALUES } from '../../../src/mcp/transport/answer-body.js';
import { lostCallText, mayHaveRunAfter, protocolErrorText } from '../../../src/mcp/call-failure.js';
import { answerLost, failureReason, refusedCredential } from '../../../src/mcp/reasons.js';
import { refusalOf } from '../../../src/mcp/tool-status.js';
import { recordServerState } from '../../../src/mcp/store.js';
import { recordRefusal, recordUse } from '../../../src/mcp/user-credentials.js';
import { ignored } from '../../../src/platform/ignored.js';
import type { Cleaner } from '../../../src/mcp/cleaner.js';
import type { QuestionsOf } from './ask-person.js';
import type { ConnectTarget } from './connections.js';
import { logFailure } from './log-failure.js';
import type { NewEvent } from '../../../src/events/schema.js';
import { hasMcpError } from '../../../src/events/store.js';
import { textResult, type ToolCall, type ToolDeps, type ToolResult } from '../tool.js';

export interface McpToolCall extends ToolCall {
  /** The tool may be called again without harm. */
  repeatable: boolean;
  /** An earlier attempt may have sent this call. */
  wasSent: boolean;
  /** Answers what the server asks during the call; undefined if no server of the turn may ask. */
  onQuestion?: QuestionsOf | undefined;
}

export type CalledServer = ConnectTarget & Pick<McpServerRow, 'name' | 'allowed_tools' | 'changed_tools'>;

/** The server did not take the credential of the session's user, and has not run the call (decisions.md "User credentials"). */
export class CredentialRefusedError extends Error {
  override readonly name = 'CredentialRefusedError';
}

/** How a call reaches its server, and what becomes of the answer. */
interface Way<T> {
  send: (callTool: CallTool, state: SendState) => Promise<ServerAnswer>;
  parameters?: Record<string, unknown>;
  read: (answer: ServerAnswer, cleaner: Cleaner) => Promise<T>;
}

type ServerAnswer = Record<string, unknown>;

/** Sends the call on a connection. */
type CallTool = (connection: McpConnection) => Promise<ServerAnswer>;

interface SendState {
  sent: boolean;
  /** The server may have run a request of this call that was sent before the last one. */
  mayHaveRun: boolean;
}

/**
 * Sends a call to a server once, if the server's rules allow it (decisions.md "Turns and events", "Tool calls"). It is sent again only, once, if the
 * connection broke and the tool may be repeated. Errors of the call become results that tell the model what to do.
 * @throws the signal's reason when `call.signal` aborts, after sending `notifications/cancelled`; CredentialRefusedError
 */
export async function sendCall<T>(
  call: McpToolCall,
  server: CalledServer,
  toolName: string,
  deps: ToolDeps,
  way: Way<T>,
): Promise<T | ToolResult> {
  const refusal = refusalOf(server, toolName);
  if (refusal !== null) return textResult(refusal, true);
  const state: SendState = { sent: false, mayHaveRun: call.wasSent };
  const share = {
    memory: deps.memory,
    projectId: call.turn.projectId,
    signal: call.signal,
    maxValues: MAX_ANSWER_VALUES,
    // The tool's time limit does not run meanwhile.
    onWait: call.progress,
  };
  try {
    const cleaner = deps.mcp.cleanerOf(server);
    return await withLargeAnswer(share, async (onLarge) => {
      const callTool: CallTool = (connection) => {
        state.sent = true;
        return connection.callTool(toolName, call.input, {
          signal: call.signal,
          idempotencyKey: call.idempotencyKey,
          onProgress: call.progress,
          onLarge,
          ...(way.parameters !== undefined && { parameters: way.parameters }),
        });
      };
      const answer = await sendAgain(call, state, () => way.send(callTool, state));
      if (server.user_credential != null)
        void recordUse(deps.db, server.user_credential).catch(ignored('it only informs'));
      return way.read(answer, cleaner);
    });
  } catch (error) {
    if (error instanceof McpError) {
      const called = { serverName: server.name, toolName };
      return textResult(protocolErrorText(error, called, deps.mcp.cleanerOf(server)), true);
    }
    call.signal.throwIfAborted();
    const reason = server.user_credential == null ? null : refusedCredential(error);
    if (reason !== null) {
      await recordRefusal(deps.db, server.user_credential!, reason);
      if (!state.mayHaveRun) throw new CredentialRefusedError();
    }
    logFailure(
      deps.log,
      { turn_id: call.turn.id, mcp_server_id: server.id },
      error,
      'a call did not reach its MCP server, or lost it',
    );
    return failed(error, state, call, server, toolName);
  }
}

/** A server may close an idle connection at the moment a request is sent on it. Most servers do so after a few seconds. */
async function sendAgain(
  call: McpToolCall,
  state: SendState,
  send: () => Promise<ServerAnswer>,
): Promise<ServerAnswer> {
  try {
    return await send();
  } catch (error) {
    call.signal.throwIfAborted();
    if (!call.repeatable || !state.sent || !answerLost(error)) throw error;
    state.sent = false;
    state.mayHaveRun = true;
    return send();
  }
}

/** The server was unreachable or the connection was lost. Adds `agent.mcp_error` for clients before the result. */
function failed(
  error: unknown,
  { sent, mayHaveRun: mayHaveRunBefore }: SendState,
  { turn }: ToolCall,
  server: CalledServer,
  toolName: string,
): ToolResult {
  const reason = failureReason(error);
  const message = `The MCP server ${sent ? 'broke off' : 'could not be connected'}: ${reason}.`;
  const event: NewEvent = { type: 'agent.mcp_error', data: { mcp_server_id: server.id, name: server.name, message } };
  const stored: Pick<ToolResult, 'eventsBefore' | 'commit'> = {
    // One event per server and turn is enough.
    eventsBefore: async (tx) => ((await hasMcpError(tx, turn.id, server.id)) ? [] : [event]),
    ...(!sent && server.user_credential === undefined && { commit: (tx) => recordServerState(tx, server.id, message) }),
  };
  const mayHaveRun = mayHaveRunBefore || (sent && mayHaveRunAfter(error));
  return { ...textResult(lostCallText(error, { serverName: server.name, toolName }, mayHaveRun), true), ...stored };
}
