import { isOpen, type TurnState } from '../db/turn-states.js';
import type { NewEvent } from '../events/schema.js';
import type { EventRow } from '../events/store.js';
import { exactText } from '../platform/exact-json.js';
import { storableJson } from '../platform/text.js';
import { newId } from '../platform/ids.js';
import { isoOf, microsOf } from '../platform/timestamps.js';
import type { CalledModel } from '../models/price.js';
import type { TurnFacts } from './facts.js';
import type { TurnOutcome, TurnResult } from './outcome.js';
import { sumCalls } from './spent.js';
import { terminalEvent } from './terminal-event.js';
import type { TurnRow } from './turn-row.js';

/** An event to append. A message that waited has an id already. */
export type EventToAppend = NewEvent & { id?: string };

/**
 * A turn whose row is locked, at the time of one change. Its methods decide and do no I/O: `changeTurn` loads the turn and stores
 * what they changed.
 */
export class Turn {
  /** The events that this change appends. */
  readonly events: EventRow[] = [];
  /** The deltas that watchers have seen before `events`; null if it is not known: they read the tables. */
  streamed: { call: number; deltas: number } | null = null;
  #isProgress = true;
  #ended: TurnResult | null = null;
  readonly #row: TurnRow;

  /** @param at the time of the change, by Postgres' clock */
  constructor(
    row: TurnRow,
    readonly at: string,
  ) {
    this.#row = { ...row };
  }

  /** As it is to be stored: a change is a sign of life of the turn's work, unless it says otherwise. */
  get row(): Readonly<TurnRow> {
    return this.#isProgress ? { ...this.#row, progress_at: this.at } : this.#row;
  }
  get id(): string {
    return this.#row.id;
  }
  get sessionId(): string {
    return this.#row.session_id;
  }
  get projectId(): string {
    return this.#row.project_id;
  }
  get number(): number {
    return this.#row.number;
  }
  get state(): TurnState {
    return this.#row.state;
  }
  /** That of its last event. */
  get position(): number {
    return this.#row.position;
  }
  get isOpen(): boolean {
    return isOpen(this.#row.state);
  }
  get cancelRequested(): boolean {
    return this.#row.cancel_requested_at !== null;
  }
  /** Messages may wait for it or behind it. */
  get hasWaiting(): boolean {
    return this.#row.has_waiting;
  }
  /** The turn that has a call on which this one works; null for others. */
  get parentTurnId(): string | null {
    return this.#row.parent_turn_id;
  }
  /** It has begun turns by calls, open or ended. */
  get hasChildren(): boolean {
    return this.#row.has_children;
  }
  get isConnected(): boolean {
    return this.#row.connected_at !== null;
  }
  get fallbackModelId(): string | null {
    return this.#row.fallback_model_id;
  }
  /** How many model calls it has begun. */
  get modelCalls(): number {
    return this.#row.model_calls;
  }
  /** Null unless this change has ended it. */
  get ended(): TurnResult | null {
    return this.#ended;
  }

  /**
   * Appends events. Positions are given under the lock: commit order is position order, without gaps. What Postgres could not take apart
   * is replaced where it comes in; here it would make the history unreadable for ever.
   */
  append(...events: EventToAppend[]): void {
    for (const { id = newId('event'), type, data } of events) {
      this.#row.position += 1;
      const place = { turn_id: this.id, position: this.#row.position, created_at: this.at };
      this.events.push({ id, type, data: storableJson(exactText(data)), ...place });
    }
  }

  /** queued → running. A running turn stays as it is: a retry, a replay, a reset. */
  claim(): void {
    if (this.#row.state === 'queued') this.#row.transition_at = this.at;
    this.#row.state = 'running';
    this.#row.started_at ??= this.at;
  }

  connect(tookMs: number): void {
    this.#row.connected_at = this.at;
    this.#row.connect_ms = tookMs;
  }

  /** A call of it begins a turn. */
  delegate(): void {
    this.#row.has_children = true;
  }

  requestCancel(): void {
    this.#row.cancel_requested_at ??= this.at;
  }

  /** Messages wait for the turn or behind it. That is no sign of life. */
  expectMessages(): void {
    this.#row.has_waiting = true;
    this.stayStill();
  }

  /** The change is no sign of life, such as one that finds nothing to do. */
  stayStill(): void {
    this.#isProgress = false;
  }

  /** Begins a model call. Returns its number, which fences off the calls before it. */
  beginCall({ price }: CalledModel): number {
    this.claim();
    this.#row.currency ??= price?.currency ?? null;
    if (price === null || price.currency !== this.#row.currency) this.#row.is_unpriced = true;
    return (this.#row.model_calls += 1);
  }

  /** The first token that a reader saw counts, also that of a call that failed. */
  seeFirstToken(callStartedAt: string, afterMs: number | null): void {
    if (afterMs === null) return;
    this.#row.first_token_at ??= isoOf(microsOf(callStartedAt) + Math.round(afterMs * 1000));
  }

  fallBackTo(modelId: string): void {
    this.#row.fallback_model_id = modelId;
  }

  /**
   * Ends the turn after its last events. A recorded cancel request wins over another outcome. A child turn may have ended between the
   * time of the change, which is that of the lock, and the time at which the facts were read: the turn ends no earlier.
   * @param hasBegun its work has begun although it is not claimed yet: the terminal event reports usage, even if it is zero
   */
  end(outcome: TurnOutcome, facts: TurnFacts, { hasBegun = false } = {}): TurnResult {
    const row = this.#row;
    const at = isoOf(Math.max(microsOf(this.at), facts.delegated?.lastEnded ?? 0));
    if (hasBegun) row.started_at ??= at;
    const won: TurnOutcome = this.cancelRequested ? { kind: 'cancelled' } : outcome;
    row.state = won.kind;
    row.ended_at = at;
    row.transition_at = at;
    row.end_reason = won.kind === 'completed' ? won.stopReason : won.kind === 'failed' ? won.type : null;
    const spent = sumCalls(facts.modelCalls, row.currency);
    row.cost = spent.cost;
    if (facts.delegated !== null) {
      row.delegated_cost = facts.delegated.cost;
      row.is_delegated_unpriced = facts.delegated.isUnpriced;
    }
    const { event, result } = terminalEvent(row, won, spent, facts, at);
    this.append(event);
    this.#ended = result;
    return result;
  }
}
