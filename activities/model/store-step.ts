import type { DataSource } from 'typeorm';
import { transaction } from '../../src/db/transaction.js';
import { appendEvents } from '../../src/events/store.js';
import type { NewEvent } from '../../src/events/schema.js';
import { storableText } from '../../src/platform/text.js';
import { endLockedTurn } from '../../src/turns/finish.js';
import { observeOutcome } from '../../src/turns/outcome.js';
import { lockRunningTurn } from '../../src/turns/lock.js';
import type { StopReason } from '../../src/turns/states.js';
import type { ActivityDeps } from '../deps.js';
import type { StepOutcome } from '../turn/turn-activities.js';
import type { ModelAttempt } from './attempts.js';
import type { Answer, AssistantBlock } from './stream.js';

type ToolUse = Extract<AssistantBlock, { type: 'tool_use' }>;

/** An answer on its way into the tables. `toolName` gives the full name of what the model calls by an alias. */
export interface StepAnswer {
  attempt: ModelAttempt;
  answer: Answer;
  toolName: (alias: string) => string;
  /** The last step that the turn may take. */
  isLast: boolean;
}

const NOT_RUN = 'Not run: the turn has reached its limit of model calls.';

/**
 * Stores the outcome of a step, under its key (turn, step), together with its events; with nothing more to do it ends
 * the turn in the same transaction. Run again after its commit, it changes nothing and says the same.
 * @throws TurnEndedError the fence against late writers
 */
export async function storeStep(
  { db, notifier, log }: Pick<ActivityDeps, 'db' | 'notifier' | 'log'>,
  step: StepAnswer,
): Promise<StepOutcome> {
  const { attempt, answer } = step;
  const stopReason = answer.stopReason ?? 'end_turn';
  const uses = answer.content.filter((block) => block.type === 'tool_use');
  const runs = uses.length > 0 && !step.isLast;
  const ends = !runs && (stopReason !== 'pause_turn' || step.isLast);
  const stored = await transaction(db, async (tx) => {
    const turn = await lockRunningTurn(tx, attempt.turnId);
    const inserted: unknown[] = await tx.query(
      `WITH stored AS (
         INSERT INTO model_steps (turn_id, step, message_id, content, stop_reason) VALUES ($1, $2, $3, $4, $5)
         ON CONFLICT DO NOTHING RETURNING turn_id),
       ended AS (
         UPDATE model_attempts SET ended_at = clock_timestamp(), usage = $6 FROM stored
         WHERE model_attempts.turn_id = $1 AND position = $7 AND attempt = $8 RETURNING started_at),
       first_token AS (
         UPDATE turns SET first_token_at = coalesce(first_token_at, ended.started_at + $9 * interval '1 ms')
         FROM ended WHERE id = $1)
       SELECT turn_id FROM stored`,
      [
        turn.id,
        attempt.step,
        attempt.messageId,
        JSON.stringify(answer.content),
        stopReason,
        JSON.stringify(answer.usage),
        attempt.position,
        attempt.attempt,
        answer.firstTokenMs,
      ],
    );
    // Another attempt was quicker: its outcome stands.
    if (inserted.length === 0) return null;
    await insertToolCalls(tx, step, uses, runs);
    const events = eventsOf(step, uses, runs);
    if (ends)
      await endLockedTurn(tx, turn, { kind: 'completed', stopReason: turnStopReason(step, stopReason) }, events);
    else await appendEvents(tx, turn, events);
    return turn;
  });
  if (stored !== null) observeOutcome(stored, log);
  if (stored === null) return (await storedOutcome(db, attempt.turnId, attempt.step))!;
  notifier.notify(stored);
  if (ends) return { kind: 'ended' };
  return runs ? { kind: 'tools', tools: uses.map((use) => step.toolName(use.name)) } : { kind: 'again' };
}

/** The outcome of a step that is stored already, else null. */
export async function storedOutcome(db: DataSource, turnId: string, step: number): Promise<StepOutcome | null> {
  const [row]: { state: string; tools: string[] }[] = await db.query(
    `SELECT state, array(SELECT name FROM tool_calls c WHERE c.turn_id = $1 AND c.step = $2 ORDER BY index) AS tools
     FROM model_steps s JOIN turns ON turns.id = s.turn_id WHERE s.turn_id = $1 AND s.step = $2`,
    [turnId, step],
  );
  if (row === undefined) return null;
  if (row.state !== 'running') return { kind: 'ended' };
  return row.tools.length > 0 ? { kind: 'tools', tools: row.tools } : { kind: 'again' };
}

async function insertToolCalls(
  tx: Parameters<typeof appendEvents>[0],
  { attempt, toolName }: StepAnswer,
  uses: ToolUse[],
  runs: boolean,
): Promise<void> {
  if (uses.length === 0) return;
  await tx.query(
    `INSERT INTO tool_calls (turn_id, step, index, tool_use_id, name, input, state, content, is_error)
     SELECT $1, $2, n - 1, id, name, input, $6, $7, CASE WHEN $7::json IS NOT NULL THEN true END
     FROM unnest($3::text[], $4::text[], $5::json[]) WITH ORDINALITY AS use(id, name, input, n)`,
    [
      attempt.turnId,
      attempt.step,
      uses.map((use) => use.id),
      uses.map((use) => toolName(use.name)),
      uses.map((use) => JSON.stringify(use.input)),
      runs ? 'pending' : 'done',
      runs ? null : JSON.stringify([{ type: 'text', text: NOT_RUN }]),
    ],
  );
}

/** One model call gives thinking, at most one message, and tool uses, in that order (contract.md §3). */
function eventsOf({ attempt, answer, toolName }: StepAnswer, uses: ToolUse[], runs: boolean): NewEvent[] {
  const message_id = attempt.messageId;
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

function turnStopReason({ answer, isLast }: StepAnswer, stopReason: string): StopReason {
  const wantedMore = stopReason === 'pause_turn' || answer.content.some((block) => block.type === 'tool_use');
  if (isLast && wantedMore) return 'max_steps';
  if (stopReason === 'max_tokens' || stopReason === 'model_context_window_exceeded') return 'max_output_tokens';
  return stopReason === 'refusal' ? 'refusal' : 'end_turn';
}
