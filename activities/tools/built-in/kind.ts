import { Ajv } from 'ajv';
import { compileOnce } from '../../../src/platform/compile-once.js';
import type { ToolCallRow } from '../../../src/steps/tool-call.js';
import { outcomeUnknown } from '../outcomes.js';
import { textResult, type BuiltInTool, type ToolCall, type ToolDeps, type ToolResult } from '../tool.js';
import type { ToolKind } from '../tool-kind.js';

const ajv = new Ajv({ allErrors: true, allowUnionTypes: true });
const checkOf = compileOnce(ajv);

/** Tools of the service's own. They are repeatable: their effects are keyed by the call. */
export function builtInKind(deps: ToolDeps, tool: BuiltInTool): ToolKind {
  return {
    name: 'built-in',
    repeatable: true,
    run: (call, run) => runTool(deps, call, tool, run.call),
    notRepeated: () => outcomeUnknown(tool.name),
  };
}

async function runTool(
  deps: ToolDeps,
  call: ToolCall,
  tool: BuiltInTool,
  { step, index }: ToolCallRow,
): Promise<ToolResult> {
  const misfit = misfitOf(tool, call.input);
  if (misfit !== null) return misfit;
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

/** The result of a call whose input the tool does not take; null if it does. */
export function misfitOf(
  { inputSchema }: Pick<BuiltInTool, 'inputSchema'>,
  input: ToolCall['input'],
): ToolResult | null {
  const valid = checkOf(inputSchema);
  if (valid(input)) return null;
  return textResult(`Wrong input: ${ajv.errorsText(valid.errors, { dataVar: 'input' })}.`, true);
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
