import { SpanStatusCode, type Attributes } from '@opentelemetry/api';
import { Ajv } from 'ajv';
import { compileOnce } from '../../src/platform/compile-once.js';
import { unlessAborted } from '../../src/platform/limited-wait.js';
import { toolCallSeconds } from '../../src/platform/metrics.js';
import { withSpan } from '../../src/platform/tracing.js';
import type { TurnContext } from '../../src/steps/context.js';
import { runsInSandbox, type RunnableTool } from './offered-tools.js';
import { callMcpTool } from './mcp/call.js';
import type { NewTask } from '../../src/steps/task-call.js';
import { reserveTask } from '../../src/steps/open-tasks.js';
import type { ToolCallRow } from '../../src/steps/tool-call.js';
import {
  textResult,
  type BuiltInTool,
  type QuestionsOf,
  type ToolCall,
  type ToolDeps,
  type ToolResult,
} from './tool.js';
import { ignored } from '../../src/platform/ignored.js';

const ajv = new Ajv({ allErrors: true, allowUnionTypes: true });
const checkOf = compileOnce(ajv);

/** The result of a call that may have taken effect before a crash (contract.md §3 "Tool calls"). */
export function outcomeUnknown(name: string): ToolResult {
  return textResult(
    `The outcome of this call of ${name} is unknown: it was sent, and its answer was lost. ` +
      'It may have taken effect. It was not sent again; check before you repeat it.',
    true,
  );
}

/** The result of a call in the workspace that has taken several workers down. */
export function nothingKept(name: string): ToolResult {
  return textResult(
    `This call of ${name} was started several times, and each time its worker was lost. It is not run again, and nothing of it was kept.`,
    true,
  );
}

/** The result of a call that waited for a person's answer when a deploy ended its worker (contract.md §23). */
export function restarted(name: string): ToolResult {
  return textResult(
    `A restart of the service ended this call of ${name} while it waited for a person’s answer. The question is closed. ` +
      'What the server did before it asked may have taken effect. It was not called again; check before you repeat it.',
    true,
  );
}

/**
 * Runs a tool within its time limit; each progress notification restarts the limit. Returns the task, if an MCP server began
 * one, or the id of the server that the session's user has to authorize first. Errors of the tool become error
 * results for the model. A cancel and errors of Postgres or the storage are thrown; Temporal retries the latter.
 */
export async function runTool(
  deps: ToolDeps,
  turn: TurnContext,
  call: ToolCallRow,
  found: RunnableTool | undefined,
  cancelled: AbortSignal,
  questions?: (hold: () => () => void) => QuestionsOf,
): Promise<ToolResult | { task: NewTask } | { unauthorized: string }> {
  if (found === undefined) return textResult(`There is no tool ${call.name} in this turn.`, true);
  const limit = new TimeLimit(deps.config.toolTimeoutSeconds);
  // A command has its own time limit, and may wait for a place before.
  if (runsInSandbox(turn, call)) limit.hold();
  const toolCall: ToolCall = {
    turn,
    name: call.name,
    toolUseId: call.toolUseId,
    idempotencyKey: `${call.turnId}-${call.step}-${call.index}`,
    input: call.input,
    signal: AbortSignal.any([cancelled, limit.signal]),
    progress: () => limit.restart(),
    ...(questions !== undefined && { onQuestion: questions(() => limit.hold()) }),
  };
  const work = withSpan(`execute_tool ${call.name}`, spanOf(turn, call, found), async (span) => {
    const result = await (found.kind === 'mcp'
      ? callMcpTool(
          deps,
          { ...toolCall, repeatable: found.repeatable, wasSent: call.state === 'started' },
          found.tool,
          () => reserveTask(deps.db, turn.projectId, call),
        )
      : runBuiltIn(deps, toolCall, found.tool, call));
    if ('task' in result || 'unauthorized' in result) return result;
    if (result.isError) span.setAttribute('error.type', 'tool_error').setStatus({ code: SpanStatusCode.ERROR });
    return result;
  });
  const began = performance.now();
  let outcome = 'aborted';
  try {
    const result = await unlessAborted(work, toolCall.signal);
    if ('task' in result) outcome = 'task';
    else if ('unauthorized' in result) outcome = 'unauthorized';
    else outcome = result.isError ? 'error' : 'ok';
    return result;
  } catch (error) {
    cancelled.throwIfAborted();
    if (limit.signal.aborted) {
      outcome = 'timeout';
      return textResult(
        `${call.name} did not finish within ${deps.config.toolTimeoutSeconds} s. Its outcome is unknown.`,
        true,
      );
    }
    throw error;
  } finally {
    work.catch(ignored('the outcome is decided'));
    limit.stop();
    toolCallSeconds.observe({ kind: found.kind, outcome }, (performance.now() - began) / 1000);
  }
}

/** As OpenTelemetry's conventions for generative AI and for MCP say; without input and result. */
function spanOf(
  { sessionId, projectId }: TurnContext,
  { name, toolUseId }: ToolCallRow,
  found: RunnableTool,
): Attributes {
  return {
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': name,
    'gen_ai.tool.call.id': toolUseId,
    'gen_ai.conversation.id': sessionId,
    project_id: projectId,
    ...(found.kind === 'mcp' && { 'mcp.method.name': 'tools/call', mcp_server_id: found.tool.serverId }),
  };
}

async function runBuiltIn(
  deps: ToolDeps,
  call: ToolCall,
  tool: BuiltInTool,
  { step, index }: ToolCallRow,
): Promise<ToolResult> {
  const valid = checkOf(tool.inputSchema);
  if (!valid(call.input))
    return textResult(`Wrong input: ${ajv.errorsText(valid.errors, { dataVar: 'input' })}.`, true);
  try {
    return await tool.run(call, deps);
  } catch (err) {
    if (!isOwnFault(err)) throw err;
    const { id: turnId, sessionId } = call.turn;
    const ids = { turn_id: turnId, session_id: sessionId, step, index };
    deps.log.error({ err, ...ids }, 'the code of a built-in tool failed: its call gets an error result');
    return textResult(
      `${call.name} failed by an error of the service, whose operator finds it in the log. ` +
        'The same call would fail again: try another way.',
      true,
    );
  }
}

/**
 * An error of JavaScript itself: the tool's code cannot handle this input, and could not at the next attempt either. Errors of
 * Postgres, the storage and the network are none: `fetch` throws a TypeError too, with the cause.
 */
function isOwnFault(error: unknown): boolean {
  if (!(error instanceof Error) || error.cause !== undefined) return false;
  if ((error as NodeJS.ErrnoException).code === 'ERR_STRING_TOO_LONG') return true;
  return [TypeError, RangeError, ReferenceError, SyntaxError, URIError].some((type) => error instanceof type);
}

class TimeLimit {
  #controller = new AbortController();
  #timer: NodeJS.Timeout;
  #holds = 0;

  constructor(private readonly seconds: number) {
    this.#timer = this.#start();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  restart(): void {
    if (this.#holds === 0) this.#timer.refresh();
  }

  /** Stops the limit until the returned function runs, which starts it anew. */
  hold(): () => void {
    this.#holds += 1;
    clearTimeout(this.#timer);
    return () => {
      this.#holds -= 1;
      if (this.#holds === 0) this.#timer = this.#start();
    };
  }

  #start(): NodeJS.Timeout {
    return setTimeout(() => this.#controller.abort(new Error('the tool took too long')), this.seconds * 1000);
  }

  stop(): void {
    this.#holds = Infinity;
    clearTimeout(this.#timer);
  }
}
