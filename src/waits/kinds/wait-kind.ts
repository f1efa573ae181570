import { isoText } from '../../db/sql.js';
import type { RequiredAction } from '../../events/required-action.js';
import type { StopReason } from '../../events/fields.js';
import type { EventData } from '../../events/schema.js';

/** How a wait has ended. The room adds `expired`, and the end of a turn `cancelled`. */
export type Outcome =
  | 'allowed'
  | 'denied'
  | 'answered'
  | 'authorized'
  /** By the server that had asked. */
  | 'withdrawn'
  /** The worker died that was to pass the answer on. */
  | 'lost'
  | 'expired'
  | 'cancelled';

/** Those that ask somebody have the type of their required action. */
export type WaitType = RequiredAction['type'] | 'time' | 'child_turn' | 'reserve';

export type AnswerType = 'user.tool_confirmation' | 'user.custom_tool_result' | 'user.elicitation_result';

/** What a call comes to that does not run. */
export interface WaitResult {
  text: string;
  isError: boolean;
  /** The client's event has the result already: it takes the place of `agent.tool_result`. */
  isClientResult?: true;
}

/** What a turn can wait for, and what ends the wait. Pieces of SQL name the wait `w`, and its call `c`, if it has one. */
export interface WaitKind<Ask extends object, Type extends AnswerType> extends KindOfWait {
  /**
   * The events that answer it, each with what it comes to.
   * @throws ServiceError validation_error, about a field below `path`
   */
  readonly answers: { readonly [T in Type]: (ask: Ask, data: EventData[T], path: string) => Outcome };
  /** What the call came to; null: it runs now. */
  resultOf(outcome: Outcome, answer: EventData[Type] | null): WaitResult | null;
  /** The groups of which one has to give the answer; empty: who answers needs no group. */
  approversOf?(ask: Ask): readonly string[];
}

/** A kind for code that knows none: its functions take what its rows have. */
export interface AnyWaitKind extends KindOfWait {
  readonly answers: { readonly [T in AnswerType]?: (ask: never, data: never, path: string) => Outcome };
  resultOf(outcome: Outcome, answer: never): WaitResult | null;
  approversOf?(ask: never): readonly string[];
}

interface KindOfWait {
  readonly type: WaitType;
  /** SQL for the action as JSON, as sessions and `agent.requires_action` show it. Null: nobody is asked, the wait ends by itself. */
  readonly action: string | null;
  /** SQL that is true once something other than an answer has ended the wait, planned or open, and how. */
  readonly settled?: { readonly when: string; readonly outcome: Outcome };
  /** Whether a wait that was not answered in time is closed, or ends the turn with a stop reason. */
  readonly onExpiry: 'close' | StopReason;
  /** Who goes on once it is closed: the workflow, or the call, which waits inside of its activity or as a task. */
  readonly takenBy: 'workflow' | 'call';
}

/** SQL for the field of an action that says when its wait ends. */
export const EXPIRES_AT = `'expires_at', ${isoText('w.expires_at')}`;
/** SQL for the fields of an action about a call. Its input is what runs: a person may have changed it. */
export const CALL_FIELDS = `'type', w.kind, 'tool_use_id', w.tool_use_id, 'name', c.name, 'input', coalesce(c.changed_input, c.input)`;

export function errorResult(text: string): WaitResult {
  return { text, isError: true };
}

/** Why a person said no, for the model. */
export function reasonOf(message: string | null): string {
  return message === null ? 'No reason was given.' : `The person wrote: ${message}`;
}
