import type { NewEvent } from '../../src/events/schema.js';
import type { Storage } from '../../src/files/storage.js';
import { truncateUtf8 } from '../../src/platform/text.js';
import { textOf, type ResultBlock } from '../../src/models/content.js';
import type { ActivityTask } from '../../src/steps/model-call.js';
import { closeToolCall, endToolCall, type ToolCallRow } from '../../src/steps/tool-call.js';
import type { TurnDeps } from '../../src/turns/change-turn.js';
import { shortenResult } from '../../src/steps/shorten-result.js';
import { unrunResult } from './unrun-result.js';
import type { ToolResult } from './tool.js';

/** Bytes of a result's text in `agent.tool_result` (contract.md §3). */
const MAX_EVENT_BYTES = 16 * 1024;
/** The model gets a preview of a longer result; the full text is in the file storage. */
export const MAX_WHOLE_BYTES = 48 * 1024;
const PREVIEW_BYTES = 16 * 1024;

/**
 * Stores a call's result with its events. A second result of the same call is ignored.
 * @param by the attempt that ran it: only the one that started the call last may store rows beside the result
 */
export async function storeToolResult(
  deps: TurnDeps & { storage: Storage },
  call: ToolCallRow,
  { content, isError, workspace, eventsBefore, commit, refused }: ToolResult,
  by?: ActivityTask,
): Promise<void> {
  const kept = await limitContent(deps.storage, call, content);
  const event = resultEvent(call, content, isError, workspace);
  try {
    const outcome = { ...kept, isError, event, eventsBefore, commit };
    await endToolCall(deps, call, outcome, commit && by);
  } catch (error) {
    if (refused === undefined) throw error;
    await storeToolResult(deps, call, refused(error), by);
  }
}

/** Stores the outcome of a call that the service does not run: a client's result, a denial, or an expired wait. */
export async function storeUnrunCall(deps: TurnDeps & { storage: Storage }, call: ToolCallRow): Promise<void> {
  const { content, isError, isClientResult } = unrunResult(call);
  const kept = await limitContent(deps.storage, call, content);
  // The client's event already has its result.
  const event = isClientResult ? null : resultEvent(call, content, isError);
  await closeToolCall(deps, call, { ...kept, isError, event });
}

async function limitContent(
  storage: Storage,
  call: ToolCallRow,
  content: ResultBlock[],
): Promise<{ content: ResultBlock[]; overflowKey: string | null }> {
  if (Buffer.byteLength(textOf(content)) <= MAX_WHOLE_BYTES) return { content, overflowKey: null };
  // Of what a command writes the end matters as much: errors are there.
  const cut =
    call.name === 'bash' ? { keepBytes: PREVIEW_BYTES / 2, keepEnd: PREVIEW_BYTES / 2 } : { keepBytes: PREVIEW_BYTES };
  const { content: preview, overflowKey } = await shortenResult(
    storage,
    call,
    content,
    cut.keepBytes,
    null,
    cut.keepEnd,
  );
  return { content: [...preview, ...content.filter((block) => block.type !== 'text')], overflowKey };
}

function resultEvent(
  { toolUseId, name }: ToolCallRow,
  content: ResultBlock[],
  isError: boolean,
  workspace?: ToolResult['workspace'],
): NewEvent {
  const text = textOf(content);
  const shown = truncateUtf8(text, MAX_EVENT_BYTES);
  return {
    type: 'agent.tool_result',
    data: {
      tool_use_id: toolUseId,
      name,
      is_error: isError,
      content: shown,
      ...(shown.length < text.length && { truncated: true as const }),
      ...(workspace !== undefined && { workspace }),
    },
  };
}
