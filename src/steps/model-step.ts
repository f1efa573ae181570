import type { EntityManager } from 'typeorm';
import { runSql, sql, type Sql } from '../db/sql.js';
import type { Db } from '../db/transaction.js';
import type { NewEvent } from '../events/schema.js';
import { insertEvents, newEvents } from '../events/store.js';
import { exactText } from '../platform/exact-json.js';
import { storableText } from '../platform/text.js';
import type { Answer, AssistantBlock } from '../models/content.js';
import { endingCall, insertRest, setUsage, spend, type RestOfDeltas } from './end-model-call.js';
import { outcomeOfAnswer, stopReasonOf } from './answer-outcome.js';
import { callFence, type ModelCall } from './model-call.js';
import type { StepOutput } from './output.js';
import type { TurnState } from '../db/turn-states.js';
import type { StopReason } from '../events/fields.js';
import {
  eventsOfCalls,
  insertCalls,
  planCalls,
  waitsForAnswer,
  type CallOf,
  type CallPermission,
  type StepCall,
} from './step-calls.js';
import { GIVE_OUTPUT } from '../sessions/tools.js';
import { OvertakenError, TurnEndedError } from '../turns/turn.js';
import { endWith, type TurnEnd } from '../turns/end.js';
import { launchTurn, type LaunchDeps } from '../turns/launch.js';
import type { QueuedTurn } from '../turns/open.js';
import type { TurnOutcome, TurnResult } from '../turns/outcome.js';
import { startNext } from '../turns/start-next.js';
import type { TurnDeps, TurnTransaction, TurnWrite } from '../turns/write.js';

/** What the workflow does after the model's response. */
export type StepOutcome =
  /** `stopReason` is null if this call did not end the turn. */
  | { kind: 'ended'; state: TurnState; stopReason: StopReason | null }
  /** Full names of the tools to run, in order of their indices. */
  | {
      kind: 'tools';
      tools: string[];
      /** Indices of the calls that need an answer before they run (contract.md §6). */
      waiting: number[];
    }
  /** The model paused: call it again. */
  | { kind: 'again' };

/** A model response to store. */
interface StepAnswer {
  call: ModelCall;
  answer: Answer;
  /** Number of streamed deltas of the response. */
  deltas: number;
  /** Those that are not stored yet. */
  rest: RestOfDeltas | null;
  callOf: CallOf;
  /** Returns the answer that a tool call needs; null in a session without `tools`. */
  permissionOf: (toolName: string) => CallPermission | null;
  /** True for the last step that the turn may take. */
  isLast: boolean;
  /** Null in a turn without `output_schema`. */
  output: StepOutput | null;
}

/**
 * Stores the outcome of a step with its events. If no tools are left to run, the same write ends the turn, and the same
 * transaction makes the first message that waits the next turn. Running it again after its commit returns the same.
 * @throws TurnEndedError, OvertakenError
 */
export async function storeStep(deps: TurnDeps & LaunchDeps, step: StepAnswer): Promise<StepOutcome> {
  const { call, answer } = step;
  const uses = answer.content.filter((block) => block.type === 'tool_use');
  const outcome = outcomeOfAnswer(step, uses.length > 0);
  const runs = uses.length > 0 && outcome === null;
  const calls = await planCalls(deps.db, call.turnId, uses, { ...step, runs });
  try {
    const result = await storeOnce(deps, step, calls, outcome, false).catch((error: unknown) => {
      if (outcome !== null && error instanceof OvertakenError) return storeOnce(deps, step, calls, outcome, true);
      throw error;
    });
    if (result !== null) return { kind: 'ended', state: result.state, stopReason: result.stop_reason ?? null };
    const waiting = calls.flatMap((each, index) => (waitsForAnswer(each) ? [index] : []));
    return outcomeOf({ state: 'running', tools: runs ? calls.map(({ name }) => name) : [], waiting });
  } catch (error) {
    if (!(error instanceof OvertakenError || error instanceof TurnEndedError)) throw error;
    const stored = await storedOutcome(deps.db, call.turnId, call.step);
    if (stored === null) throw error;
    return stored;
  }
}

/** @param mustLock read what waits under the lock of the turn's row, and make the first message the next turn */
async function storeOnce(
  deps: TurnDeps & LaunchDeps,
  step: StepAnswer,
  calls: StepCall[],
  outcome: TurnOutcome | null,
  mustLock: boolean,
): Promise<TurnResult | null> {
  const { call } = step;
  const fence = callFence(call);
  const store = async (write: TurnTransaction['write'], tx: EntityManager | null): Promise<Stored> => {
    const end = outcome === null || tx !== null ? fence : sql`${fence} AND NOT has_waiting`;
    const { result } = await write(stepWrite(deps, step, calls, outcome, end));
    if (tx === null || result?.state !== 'completed') return { result, next: null };
    return { result, next: await startNext(tx, call.sessionId, deps.workflows.namespace) };
  };
  const { result, next } = await endingCall(deps, call, fence, store, { mustLock });
  if (next !== null) launchTurn(deps, next);
  return result;
}

/** How the turn ended, if it did, and the turn that followed. */
type Stored = { result: TurnResult | null; next: QueuedTurn | null };

/** Stores the model's answer as a step; ends the turn after it if there is an outcome. */
function stepWrite(
  deps: TurnDeps,
  { call, answer, deltas, rest }: StepAnswer,
  calls: StepCall[],
  outcome: TurnOutcome | null,
  fence: Sql,
): TurnWrite {
  const events = newEvents(eventsOf(call, answer, calls));
  const ending = { written: sql`written`, at: sql`step.at`, call: sql`call` };
  const end = outcome === null ? null : endWith(outcome, deps, ending);
  const count = events.length + (end === null ? 0 : 1);
  const ifEnds = (part: (end: TurnEnd) => Sql): Sql => (end === null ? sql`` : part(end));
  const statement = sql`
    WITH turn AS MATERIALIZED (
        SELECT id FROM turns WHERE ${fence} FOR NO KEY UPDATE),
      step AS (
        INSERT INTO model_steps (turn_id, step, message_id, model_id, content, stop_reason)
        SELECT id, ${call.step}, ${call.messageId}, ${call.model.id}, ${exactText(answer.content)}::json,
          ${stopReasonOf(answer)} FROM turn
        ON CONFLICT DO NOTHING RETURNING turn_id, clock_timestamp() AS at),
      written AS (
        UPDATE turns SET position = turns.position + ${count}::integer, progress_at = step.at,
          ${spend(call, answer, sql`step.at`)} ${ifEnds(({ set }) => sql`, ${set}`)}
        FROM step WHERE turns.id = step.turn_id
        RETURNING turns.id, session_id, number, state, position, at ${ifEnds(({ columns }) => sql`, ${columns}`)}),
      call AS (
        UPDATE model_attempts a SET ended_at = clock_timestamp(), ${setUsage(call, answer.usage)}, error = NULL
        FROM written WHERE a.turn_id = written.id AND a.position = ${call.position} AND a.attempt = ${call.attempt}
        RETURNING a.position, a.attempt, a.model_id, a.usage, a.cost, a.currency),
      ${rest === null ? sql`` : insertRest(call, rest)}
      ${insertCalls(sql`written`, call.step, calls)}
      ${ifEnds(({ ctes }) => sql`${ctes},`)}
      ${insertEvents(sql`written`, events, end?.event)}
    SELECT session_id, state, position, at ${ifEnds(({ returned }) => sql`, ${returned}`)} FROM written`;
  return { statement, events, streamed: { attempt: call.attempt, deltas }, endId: end?.id };
}

export async function storedOutcome(db: Db, turnId: string, step: number): Promise<StepOutcome | null> {
  const [row] = await runSql<StoredStep>(
    db,
    sql`SELECT state, array(
          SELECT name FROM tool_calls c WHERE c.turn_id = s.turn_id AND c.step = s.step ORDER BY index) AS tools,
          array(SELECT index FROM required_actions a WHERE a.turn_id = s.turn_id AND a.step = s.step
            AND kind <> 'budget' ORDER BY index) AS waiting
        FROM model_steps s JOIN turns ON turns.id = s.turn_id WHERE s.turn_id = ${turnId} AND s.step = ${step}`,
  );
  return row === undefined ? null : outcomeOf(row);
}

interface StoredStep {
  state: TurnState;
  tools: string[];
  waiting: number[];
}

/** What a stored step means for the workflow. A call of `give_output` has its result. */
function outcomeOf({ state, tools, waiting }: StoredStep): StepOutcome {
  if (state !== 'running') return { kind: 'ended', state, stopReason: null };
  if (waiting.length === 0 && tools.every((name) => name === GIVE_OUTPUT)) return { kind: 'again' };
  return { kind: 'tools', tools, waiting };
}

/** The events of one model call: thinking, at most one message, and tool uses, in that order (contract.md §3). */
function eventsOf(call: ModelCall, answer: Answer, calls: StepCall[]): NewEvent[] {
  const message_id = call.messageId;
  const thinking = joined(answer.content, (block) => (block.type === 'thinking' ? storableText(block.thinking) : ''));
  const text = joined(answer.content, (block) => (block.type === 'text' ? block.text : ''));
  const events: NewEvent[] = [];
  if (thinking !== '') events.push({ type: 'agent.thinking', data: { message_id, content: thinking } });
  if (text !== '') events.push({ type: 'agent.message', data: { message_id, content: text } });
  events.push(...eventsOfCalls(calls));
  return events;
}

function joined(content: AssistantBlock[], textOf: (block: AssistantBlock) => string): string {
  return content.map(textOf).join('');
}
