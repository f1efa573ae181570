import type { DataSource } from 'typeorm';
import { transaction } from '../../src/db/transaction.js';
import { appendEvents } from '../../src/events/store.js';
import type { NewEvent } from '../../src/events/schema.js';
import { truncateUtf8 } from '../../src/platform/text.js';
import { lockRunningTurn, OvertakenError, TurnEndedError } from '../../src/turns/lock.js';
import type { ActivityDeps } from '../deps.js';
import { shortenResult, textOf } from './shorten-result.js';
import type { ResultBlock, ToolResult } from './tool.js';

/** contract.md §3 `agent.tool_result`. */
const EVENT_BYTES = 16 * 1024;
/** A longer result reaches the model as a preview; the whole stays in file storage. */
const WHOLE_BYTES = 48 * 1024;
const PREVIEW_BYTES = 16 * 1024;

/** A tool call as its row has it. */
export interface StoredToolCall {
  turnId: string;
  step: number;
  index: number;
  toolUseId: string;
  name: string;
  input: Record<string, unknown>;
  state: 'pending' | 'started' | 'done';
}

/** Loads a tool call. @throws TurnEndedError when its turn is gone, or older than its workflow (restored from a backup) */
export async function loadToolCall(
  db: DataSource,
  turnId: string,
  step: number,
  index: number,
): Promise<StoredToolCall> {
  const [row]: (Pick<StoredToolCall, 'name' | 'input' | 'state'> & { tool_use_id: string })[] = await db.query(
    'SELECT tool_use_id, name, input, state FROM tool_calls WHERE turn_id = $1 AND step = $2 AND index = $3',
    [turnId, step, index],
  );
  if (row === undefined) throw new TurnEndedError(turnId);
  return { turnId, step, index, toolUseId: row.tool_use_id, name: row.name, input: row.input, state: row.state };
}

/**
 * Records that the call is about to leave for its server.
 * @throws OvertakenError when the turn does not run any more, or another attempt was quicker
 */
export async function startToolCall(db: DataSource, call: StoredToolCall): Promise<void> {
  const [rows]: [unknown[]] = await db.query(
    `UPDATE tool_calls SET state = 'started', started_at = coalesce(started_at, clock_timestamp())
     WHERE turn_id = $1 AND step = $2 AND index = $3 AND state = $4
       AND EXISTS (SELECT FROM turns WHERE id = $1 AND state = 'running')
     RETURNING index`,
    [call.turnId, call.step, call.index, call.state],
  );
  if (rows.length === 0) throw new OvertakenError(call.turnId);
}

/** Stores a call's result with its events, once: a second result of the same call changes nothing. */
export async function storeToolResult(deps: ActivityDeps, call: StoredToolCall, result: ToolResult): Promise<void> {
  const kept = await withinBounds(deps, call, result.content);
  const stored = await transaction(deps.db, async (tx) => {
    const turn = await lockRunningTurn(tx, call.turnId);
    const [rows]: [unknown[]] = await tx.query(
      `UPDATE tool_calls SET state = 'done', content = $4, is_error = $5, overflow_key = $6,
         started_at = coalesce(started_at, clock_timestamp()), ended_at = clock_timestamp()
       WHERE turn_id = $1 AND step = $2 AND index = $3 AND state <> 'done' RETURNING index`,
      [call.turnId, call.step, call.index, JSON.stringify(kept.content), result.isError, kept.overflowKey],
    );
    if (rows.length === 0) return null;
    const extra = (await result.commit?.(tx)) ?? [];
    await appendEvents(tx, turn, [...(extra as NewEvent[]), resultEvent(call, result)]);
    return turn;
  });
  if (stored !== null) deps.notifier.notify(stored);
}

async function withinBounds(
  { storage }: ActivityDeps,
  call: StoredToolCall,
  content: ResultBlock[],
): Promise<{ content: ResultBlock[]; overflowKey: string | null }> {
  if (Buffer.byteLength(textOf(content)) <= WHOLE_BYTES) return { content, overflowKey: null };
  const { content: preview, overflowKey } = await shortenResult(storage, call, content, PREVIEW_BYTES, null);
  return { content: [...preview, ...content.filter((block) => block.type !== 'text')], overflowKey };
}

function resultEvent(call: StoredToolCall, { content, isError }: ToolResult): NewEvent {
  const text = textOf(content);
  const shown = truncateUtf8(text, EVENT_BYTES);
  return {
    type: 'agent.tool_result',
    data: {
      tool_use_id: call.toolUseId,
      name: call.name,
      is_error: isError,
      content: shown,
      ...(shown.length < text.length && { truncated: true }),
    },
  };
}
