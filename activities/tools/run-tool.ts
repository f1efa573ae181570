import { SpanStatusCode, type Attributes } from '@opentelemetry/api';
import { ignored } from '../../src/platform/ignored.js';
import { unlessAborted } from '../../src/platform/limited-wait.js';
import { toolCallSeconds } from '../../src/platform/metrics.js';
import { withSpan } from '../../src/platform/tracing.js';
import { textResult, type ToolCall, type ToolResult } from './tool.js';
import type { CallRun, Pause, Suspension, ToolKind } from './tool-kind.js';

/**
 * Runs a tool within its time limit; each progress notification restarts the limit. Errors of the tool become error results for the
 * model. A cancel and errors of Postgres or the storage are thrown; Temporal retries the latter.
 */
export async function runTool(
  kind: ToolKind,
  run: CallRun,
  pause: Pause,
  toolTimeoutSeconds: number,
): Promise<ToolResult | Suspension> {
  const { turn, call, signal: cancelled } = run;
  const limit = new TimeLimit(toolTimeoutSeconds);
  if (kind.limitsItself === true) limit.hold();
  const toolCall: ToolCall = {
    turn,
    name: call.name,
    toolUseId: call.toolUseId,
    idempotencyKey: `${call.turnId}-${call.step}-${call.index}`,
    input: call.input,
    signal: AbortSignal.any([cancelled, limit.signal]),
    progress: () => limit.restart(),
  };
  const work = withSpan(`execute_tool ${call.name}`, spanOf(run, kind), async (span) => {
    const result = await kind.run(toolCall, run, limit.heldDuring(pause));
    if (!('suspended' in result) && result.isError)
      span.setAttribute('error.type', 'tool_error').setStatus({ code: SpanStatusCode.ERROR });
    return result;
  });
  const began = performance.now();
  let outcome = 'aborted';
  try {
    const result = await unlessAborted(work, toolCall.signal);
    if ('suspended' in result) ({ outcome } = result);
    else outcome = result.isError ? 'error' : 'ok';
    return result;
  } catch (error) {
    cancelled.throwIfAborted();
    if (!limit.signal.aborted) throw error;
    outcome = 'timeout';
    return textResult(`${call.name} did not finish within ${toolTimeoutSeconds} s. Its outcome is unknown.`, true);
  } finally {
    work.catch(ignored('the outcome is decided'));
    limit.stop();
    toolCallSeconds.observe({ kind: kind.name, outcome }, (performance.now() - began) / 1000);
  }
}

/** As OpenTelemetry's conventions for generative AI say; without input and result. */
function spanOf({ turn, call }: CallRun, { attributes }: ToolKind): Attributes {
  return {
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': call.name,
    'gen_ai.tool.call.id': call.toolUseId,
    'gen_ai.conversation.id': turn.sessionId,
    project_id: turn.projectId,
    ...attributes,
  };
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

  heldDuring(pause: Pause): Pause {
    return {
      begin: () => {
        const release = this.hold();
        const goOn = pause.begin();
        return (signal) => goOn(signal).finally(release);
      },
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
