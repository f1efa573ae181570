import { runSql, sql } from '../db/sql.js';
import type { Db } from '../db/transaction.js';
import type { NewEvent } from '../events/schema.js';
import { storableText } from '../platform/text.js';
import type { Answer, AssistantBlock, ToolUseBlock } from './content.js';
import { callFence, endOfCall, spend, type ModelCall } from './model-call.js';
import type { StopReason, TurnState } from './states.js';
import { OvertakenError, TurnEndedError } from './turn.js';
import { writeTurn, type TurnDeps } from './write.js';

/** What the model's answer makes of a turn. */
export type StepOutcome =
  /** Absent fields: an earlier build's, or the turn was ended by somebody else. */
  | { kind: 'ended'; state?: TurnState; stopReason?: StopReason }
  /** The tools to run, by full name, in the order of their indices. */
  | { kind: 'tools'; tools: string[] }
  /** The model paused: ask it to go on. */
  | { kind: 'again' };

/** An answer on its way into the tables. `toolName` gives the full name of a tool the model calls by an alias. */
export interface StepAnswer {
  call: ModelCall;
  answer: Answer;
  toolName: (alias: string) => string;
  /** The last step that the turn may take. */
  isLast: boolean;
}

const NOT_RUN = 'Not run: the turn has reached its limit of model calls.';

/**
 * Stores the outcome of a step with its events; with nothing more to do it ends the turn in the same write. Run again
 * after its commit, it changes nothing and returns the same.
 * @throws TurnEndedError, OvertakenError
 */
export async function storeStep(deps: TurnDeps, step: StepAnswer): Promise<StepOutcome> {
  const { call, answer, isLast, toolName } = step;
  const stopReason = answer.stopReason ?? 'end_turn';
  const uses = answer.content.filter((block) => block.type === 'tool_use');
  const runs = uses.length > 0 && !isLast;
  const ends = !runs && (stopReason !== 'pause_turn' || isLast);
  const turnStopReason = stopReasonOf(stopReason, isLast && (uses.length > 0 || stopReason === 'pause_turn'));
  try {
    const { result } = await writeTurn(deps, call.turnId, callFence(call), {
      events: eventsOf(step, uses, runs),
      outcome: ends ? { kind: 'completed', stopReason: turnStopReason } : undefined,
      set: spend(call, answer),
      guard: sql`
        INSERT INTO model_steps (turn_id, step, message_id, content, stop_reason)
        SELECT id, ${call.step}, ${call.messageId}, ${JSON.stringify(answer.content)}::json, ${stopReason} FROM turn
        ON CONFLICT DO NOTHING RETURNING step`,
      parts: [endOfCall(call, answer, null, 'written'), ...insertToolCalls(step, uses, runs)],
    });
    if (result !== null) return { kind: 'ended', state: result.state, stopReason: result.stop_reason };
    return runs ? { kind: 'tools', tools: uses.map((use) => toolName(use.name)) } : { kind: 'again' };
  } catch (error) {
    if (!(error instanceof OvertakenError || error instanceof TurnEndedError)) throw error;
    const stored = await storedOutcome(deps.db, call.turnId, call.step);
    if (stored === null) throw error;
    return stored;
  }
}

/** The outcome of a step that is stored already, else null. */
export async function storedOutcome(db: Db, turnId: string, step: number): Promise<StepOutcome | null> {
  const [row] = await runSql<{ state: TurnState; tools: string[] }>(
    db,
    sql`SELECT state, array(
          SELECT name FROM tool_calls c WHERE c.turn_id = s.turn_id AND c.step = s.step ORDER BY index) AS tools
        FROM model_steps s JOIN turns ON turns.id = s.turn_id WHERE s.turn_id = ${turnId} AND s.step = ${step}`,
  );
  return row === undefined ? null : outcomeOf(row);
}

/** What a stored step made of its turn. */
export function outcomeOf({ state, tools }: { state: TurnState; tools: string[] }): StepOutcome {
  if (state !== 'running') return { kind: 'ended', state };
  return tools.length > 0 ? { kind: 'tools', tools } : { kind: 'again' };
}

function insertToolCalls({ call, toolName }: StepAnswer, uses: ToolUseBlock[], runs: boolean) {
  if (uses.length === 0) return [];
  const content = runs ? null : JSON.stringify([{ type: 'text', text: NOT_RUN }]);
  return [
    sql`INSERT INTO tool_calls (turn_id, step, index, tool_use_id, name, input, state, content, is_error)
        SELECT written.id, ${call.step}, n - 1, use.id, name, input, ${runs ? 'pending' : 'done'}, ${content}::json,
          CASE WHEN ${!runs} THEN true END
        FROM written, unnest(${uses.map((use) => use.id)}::text[], ${uses.map((use) => toolName(use.name))}::text[],
          ${uses.map((use) => JSON.stringify(use.input))}::json[]) WITH ORDINALITY AS use(id, name, input, n)`,
  ];
}

/** One model call gives thinking, at most one message, and tool uses, in that order (contract.md §3). */
function eventsOf({ call, answer, toolName }: StepAnswer, uses: ToolUseBlock[], runs: boolean): NewEvent[] {
  const message_id = call.messageId;
  const thinking = joined(answer.content, (block) => (block.type === 'thinking' ? storableText(block.thinking) : ''));
  const text = joined(answer.content, (block) => (block.type === 'text' ? block.text : ''));
  const events: NewEvent[] = [];
  if (thinking !== '') events.push({ type: 'agent.thinking', data: { message_id, content: thinking } });
  if (text !== '') events.push({ type: 'agent.message', data: { message_id, content: text } });
  for (const use of uses) {
    const name = toolName(use.name);
    events.push({ type: 'agent.tool_use', data: { tool_use_id: use.id, name, input: use.input } });
  }
  if (!runs) {
    for (const use of uses) {
      const data = { tool_use_id: use.id, name: toolName(use.name), is_error: true, content: NOT_RUN };
      events.push({ type: 'agent.tool_result', data });
    }
  }
  return events;
}

function joined(content: AssistantBlock[], textOf: (block: AssistantBlock) => string): string {
  return content.map(textOf).join('');
}

function stopReasonOf(modelReason: string, isCutShort: boolean): StopReason {
  if (isCutShort) return 'max_steps';
  if (modelReason === 'max_tokens' || modelReason === 'model_context_window_exceeded') return 'max_output_tokens';
  return modelReason === 'refusal' ? 'refusal' : 'end_turn';
}
