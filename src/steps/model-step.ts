import type { Db, Tx } from '../db/db.js';
import { runSql, sql } from '../db/sql.js';
import { write } from '../db/transaction.js';
import type { TurnState } from '../db/turn-states.js';
import type { NewEvent } from '../events/schema.js';
import type { ModelAnswer, AssistantBlock } from '../models/content.js';
import { exactText } from '../platform/exact-json.js';
import { withPartitions } from '../stream/delta-partitions.js';
import { insertDeltas, type UnstoredDeltas } from '../stream/deltas.js';
import { changeTurn, type TurnDeps } from '../turns/change-turn.js';
import { OvertakenError, TurnEndedError } from '../turns/errors.js';
import { readFacts } from '../turns/facts.js';
import { type LaunchDeps, launchTurn, lockForTurn, type QueuedTurn, startNext } from '../turns/begin.js';
import type { TurnResult, TurnOutcome } from '../turns/outcome.js';
import { endCall, isLatestCall, type ModelCall } from './model-call.js';
import {
  eventsOfCalls,
  insertCalls,
  planCalls,
  needsAnswer,
  type AskedTools,
  type CallOf,
  type NamedCall,
  type CallApproval,
  type StepCall,
} from './step-calls.js';
import type { StopReason } from '../events/fields.js';
import { noneRuns, type GivenResult, type StepOutput } from './output.js';

/** What a step came to: the workflow decides by it what to do next. */
export type StepOutcome =
  /** `stopReason` is null if this call did not end the turn. */
  | { kind: 'ended'; state: TurnState; stopReason: StopReason | null }
  /** Full names of the tools to run, in order of their indices. */
  | {
      kind: 'tools';
      tools: string[];
      /** Indices of the calls that need an answer before they run (decisions.md "Person in the loop"). */
      waiting: number[];
      /** Servers may ask questions while the calls run. */
      mayAsk?: true;
      /** Indices of the calls that run one after another, in their order; absent without any. */
      serial?: number[];
    }
  /** The model paused: call it again. */
  | { kind: 'again' }
  /** The request would not fit, and was not sent: earlier turns must be summarised first. */
  | { kind: 'compact' }
  /** The call does not fit into the session's budget, and was not sent: it is made once `advanceStep` says so. */
  | { kind: 'paused' };

/** A model response to store. */
interface StepAnswer {
  call: ModelCall;
  answer: ModelAnswer;
  /** The deltas of the answer that no flush has stored: they are stored with the step. */
  deltas: UnstoredDeltas;
  callOf: CallOf;
  /** False in a session without thinking: what a server sends all the same is no event. */
  showsThinking: boolean;
  /** Returns what a tool call needs. */
  approvalOf: (call: NamedCall) => CallApproval;
  /** Describes the tools of calls that a person allows; absent where no tool asks. */
  askedTools?: AskedTools;
  /** True for the last step that the turn may take. */
  isLast: boolean;
  /** Null in a turn without `output_schema`. */
  output: StepOutput | null;
}

const NO_RESULTS: ReadonlyMap<number, GivenResult> = new Map();

/**
 * Stores the outcome of a step with its events. If no tools are left to run, the same transaction ends the turn and makes the first
 * message that waits the next turn. Running it again after its commit returns the same.
 * @throws TurnEndedError, OvertakenError
 */
export async function storeStep(deps: TurnDeps & LaunchDeps, step: StepAnswer): Promise<StepOutcome> {
  const { call, answer } = step;
  const uses = answer.content.filter((block) => block.type === 'tool_use');
  const end = outcomeOfAnswer(step, uses.length > 0);
  const runs = uses.length > 0 && end === null;
  const calls = await planCalls(deps.db, call.turnId, uses, {
    ...step,
    runs,
    given: step.output?.results ?? NO_RESULTS,
  });
  const events = eventsOf(step, calls);
  const content = exactText(answer.content);
  try {
    let next = null as QueuedTurn | null;
    const result = await withPartitions(deps.db, () =>
      changeTurn(
        deps,
        call.turnId,
        isLatestCall(call),
        async (turn, tx): Promise<TurnResult | null> => {
          endCall(tx, turn, call, answer);
          insertStep(tx, step, content);
          insertDeltas(tx, call, step.deltas);
          insertCalls(tx, turn, call.step, calls);
          turn.append(...events);
          turn.streamed = { call: call.call, deltas: step.deltas.last };
          return end === null ? null : turn.end(end, await readFacts(tx, turn.id));
        },
        {
          afterSave: async (turn, tx) => {
            next = null;
            if (turn.state !== 'completed' || !turn.hasWaiting) return;
            const session = await lockForTurn(tx, turn.projectId, turn.sessionId);
            next = await startNext(tx, session, deps.workflows.namespace);
          },
        },
      ),
    );
    if (next !== null) launchTurn(deps, next);
    if (result !== null) return { kind: 'ended', state: result.state, stopReason: result.stop_reason ?? null };
    const waiting = calls.flatMap((each, index) => (needsAnswer(each) ? [index] : []));
    return stepOutcomeOf({ state: 'running', tools: runs ? calls.map(({ name }) => name) : [], waiting });
  } catch (error) {
    if (!(error instanceof OvertakenError || error instanceof TurnEndedError)) throw error;
    const stored = await findStepOutcome(deps.db, call.turnId, call.step);
    if (stored === null) throw error;
    return stored;
  }
}

/** A retry after a commit in doubt may store a step without events again. */
const INSERT_STEP = `
  INSERT INTO model_steps (turn_id, step, message_id, model_id, content, stop_reason) VALUES ($1, $2, $3, $4, $5, $6)
  ON CONFLICT DO NOTHING`;

function insertStep(tx: Tx, { call, answer }: StepAnswer, content: string): void {
  const { turnId, step, messageId, model } = call;
  write(tx, INSERT_STEP, [turnId, step, messageId, model.id, content, stopReasonOf(answer)]);
}

export async function findStepOutcome(db: Db, turnId: string, step: number): Promise<StepOutcome | null> {
  const [row] = await runSql<StoredStep>(
    db,
    sql`SELECT state, array(
          SELECT name FROM tool_calls c WHERE c.turn_id = s.turn_id AND c.step = s.step ORDER BY index) AS tools,
          array(SELECT DISTINCT index FROM waits w WHERE w.turn_id = s.turn_id AND w.step = s.step
            AND index IS NOT NULL AND NOT during_call ORDER BY index) AS waiting
        FROM model_steps s JOIN turns ON turns.id = s.turn_id WHERE s.turn_id = ${turnId} AND s.step = ${step}`,
  );
  return row === undefined ? null : stepOutcomeOf(row);
}

interface StoredStep {
  state: TurnState;
  tools: string[];
  waiting: number[];
}

/** What a stored step means for the workflow. */
function stepOutcomeOf({ state, tools, waiting }: StoredStep): StepOutcome {
  if (state !== 'running') return { kind: 'ended', state, stopReason: null };
  if (waiting.length === 0 && noneRuns(tools)) return { kind: 'again' };
  return { kind: 'tools', tools, waiting };
}

/** The events of one model call: thinking, at most one message, and tool uses, in that order (decisions.md "Turns and events"). */
function eventsOf({ call, answer, showsThinking }: StepAnswer, calls: StepCall[]): NewEvent[] {
  const message_id = call.messageId;
  const thinking = joined(answer.content, (block) => (block.type === 'thinking' ? block.thinking : ''));
  const text = joined(answer.content, (block) => (block.type === 'text' ? block.text : ''));
  const events: NewEvent[] = [];
  if (thinking !== '' && showsThinking)
    events.push({ type: 'agent.thinking', data: { message_id, content: thinking } });
  if (text !== '') events.push({ type: 'agent.message', data: { message_id, content: text } });
  events.push(...eventsOfCalls(calls));
  return events;
}

function joined(content: AssistantBlock[], textOf: (block: AssistantBlock) => string): string {
  return content.map(textOf).join('');
}

type EndingAnswer = Pick<StepAnswer, 'isLast' | 'output'> & { answer: Pick<ModelAnswer, 'stopReason'> };

/** The stop reason as it is stored: some servers send none. */
export function stopReasonOf({ stopReason }: Pick<ModelAnswer, 'stopReason'>): string {
  return stopReason ?? 'end_turn';
}

/** How the answer ends the turn; null if the turn goes on. */
export function outcomeOfAnswer({ answer, isLast, output }: EndingAnswer, hasUses: boolean): TurnOutcome | null {
  const stopReason = stopReasonOf(answer);
  const completed = (reason: StopReason, value: string | null = null): TurnOutcome => ({
    kind: 'completed',
    stopReason: reason,
    ...(output !== null && { output: value }),
  });
  if (output?.end != null) return completed(output.end.stopReason, output.end.value);
  const goesOn = hasUses || stopReason === 'pause_turn' || output?.mustRepair === true;
  if (goesOn) return isLast ? completed('max_steps') : null;
  return completed(turnStopReason(stopReason));
}

function turnStopReason(modelReason: string): StopReason {
  if (modelReason === 'max_tokens' || modelReason === 'model_context_window_exceeded') return 'max_output_tokens';
  return modelReason === 'refusal' ? 'refusal' : 'end_turn';
}
