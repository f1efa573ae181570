import type { AttemptId } from '../../src/steps/model-call.js';
import type { TurnContext } from '../../src/steps/context.js';
import type { ToolCallRow } from '../../src/steps/tool-call.js';
import type { ToolCall, ToolResult } from './tool.js';

/** A call that the frame of all calls (activities/turn/call-tool.ts) makes now. */
export interface CallRun {
  turn: TurnContext;
  call: ToolCallRow;
  attempt: { id: AttemptId; lostWorkers: number };
  /** Aborts when the turn is cancelled, or its time is over. */
  signal: AbortSignal;
  /** Sends fewer heartbeats until the returned function runs. */
  beatSlowly: () => () => void;
}

/**
 * How a call goes on that has no result yet. `polled`: its work goes on without an activity, and is asked for together with that of the
 * other calls of its group. `waits`: the call waits without an activity, and is made again when its row in the table `waits` is closed.
 */
export type Suspended = { kind: 'polled'; group: string } | { kind: 'waits' };

/** Runs a statement again while Postgres or the storage is away. */
export type Retry = <T>(work: () => Promise<T>) => Promise<T>;

/** In the place of a result. `store` records what the call waits for. */
export interface Suspension {
  suspended: Suspended;
  /** In metrics, in the place of `ok`. */
  outcome: string;
  store: (retry: Retry) => Promise<void>;
}

/**
 * How the calls of one kind of tool are made. The frame records that a call is started, limits its time, and stores its result; what
 * only some calls need is here. A kind is made for one call, with its tool.
 */
export interface ToolKind {
  /** In metrics. */
  readonly name: string;
  /** For the span of the call. */
  readonly attributes?: Record<string, string>;
  /** A call that an earlier attempt has started may be made again. */
  readonly repeatable: boolean;
  /** The call limits its time by itself. */
  readonly limitsItself?: boolean;
  /** What the call has to wait for before it is recorded as started; null if it may run. May be repeated. */
  prepare?(run: CallRun): Promise<Suspension | null>;
  /** Gives the call what it needs beside a slot of the worker, for as long as `work` lasts. */
  within?<T>(run: CallRun, work: () => Promise<T>): Promise<T>;
  /** Runs right before a call that an earlier attempt had started is recorded as started again. */
  beforeRepeat?(run: CallRun): void;
  /** Makes the call. */
  run(call: ToolCall, run: CallRun, pause: Pause): Promise<ToolResult | Suspension>;
  /** The result of a call that an earlier attempt has started, and that is not made again. */
  notRepeated(): ToolResult;
  /** How a call whose work needs no activity goes on: its state is `task`. */
  suspended?(): Suspended;
  /** Closes the questions of a call that is over, in a turn whose servers may ask. Returns how many were open. */
  closeQuestions?(run: CallRun, state: 'lost' | 'withdrawn'): Promise<number>;
}

/** While a call waits for a person it holds no slot, and none of its time limits runs. */
export interface Pause {
  /** The returned function ends the pause, and waits until the call may go on. */
  begin: () => (signal: AbortSignal) => Promise<void>;
}
