import { setImmediate } from 'node:timers/promises';
import type { Database } from '../db/db.js';
import { asProcess } from '../db/project-pool.js';
import type { TurnFields } from '../db/entities/turns.js';
import type { Logger } from '../platform/logger.js';
import { notificationSeconds } from '../platform/metrics.js';
import { addDelta, unpackDeltas, type DeltaBatch, type DeltaRun, type DeltaSource } from './delta-batch.js';
import type { TurnPosition } from './position.js';
import type { EventRow } from '../events/store.js';

/**
 * The number of channels is fixed: processes of different builds must agree on it. A process listens only on those it
 * needs.
 */
export const CHANNELS = 256;
const MAX_PER_STATEMENT = 200;
/** Postgres requires payloads shorter than 8,000 bytes. */
const MAX_PAYLOAD_BYTES = 7_999;
/** The remaining bytes are for ids and positions. */
const MAX_RUNS_BYTES = 7_700;

/** A notification always has room for its deltas. Stored events that are too large are null: readers query for them. */
export type TurnNotification =
  | { kind: 'stored'; turnId: string; position: number; live: LiveEvents | null }
  | (DeltaBatch & { kind: 'deltas'; sentAt: number } & Pick<DeltaSource, 'isFirstSinceEvent'>);

/** Stored events for readers that have every frame up to `after`: these readers need no query. */
export interface LiveEvents {
  after: TurnPosition;
  events: EventRow[];
}

interface Outgoing {
  queuedAt: number;
  channel: string;
  payload: string;
}

/** The channel for notifications of a session's turns: a stream knows its session before it knows the turn. */
export function channelOf(sessionId: string): string {
  let hash = 0;
  for (let index = 0; index < sessionId.length; index += 1) hash = (hash * 31 + sessionId.charCodeAt(index)) | 0;
  return `turn_events_${(hash >>> 0) % CHANNELS}`;
}

/**
 * Sends notifications, one statement at a time and outside any transaction, because NOTIFY in a transaction serialises
 * commits of the whole server. Notifications that arrive during a statement leave together with the next one.
 */
export class Notifier {
  #queue: Outgoing[] = [];
  #sending: Promise<void> | null = null;
  #takeHere: (sessionId: string, notification: TurnNotification) => void = () => undefined;

  constructor(
    private readonly db: Database,
    private readonly log: Logger,
  ) {}

  /** Gives readers of this process what is sent, without the way through Postgres, by which they get it once more. */
  alsoHere(take: (sessionId: string, notification: TurnNotification) => void): void {
    this.#takeHere = take;
  }

  /** Call after a commit that stored events of a turn up to `position`. */
  notify(turn: Pick<TurnFields, 'id' | 'sessionId' | 'position'>, live: LiveEvents | null = null): void {
    const { id: turnId, sessionId, position } = turn;
    this.#takeHere(sessionId, { kind: 'stored', turnId, position, live });
    this.send(channelOf(sessionId), formatStored(turn, live));
  }

  /** Sends a payload on a channel. */
  send(channel: string, payload: string): void {
    this.#queue.push({ channel, payload, queuedAt: performance.now() });
    this.#sending ??= asProcess(() => this.#send());
  }

  /** Sends deltas of a model call live. Each must fit into a payload (`MAX_CHARACTERS` in deltas.ts). */
  deltas(source: DeltaSource, first: number, runs: DeltaRun[]): void {
    const { turnId, sessionId, position, call, isFirstSinceEvent, messageId } = source;
    const batch = { turnId, position, call, messageId, first, runs };
    const sentAt = Date.now();
    this.#takeHere(sessionId, { kind: 'deltas', ...batch, sentAt, isFirstSinceEvent });
    const channel = channelOf(sessionId);
    for (const part of splitBatch(batch)) this.send(channel, formatBatch(sessionId, part, sentAt, isFirstSinceEvent));
  }

  /** Resolves when all notifications so far were sent or have failed. */
  async flush(): Promise<void> {
    while (this.#sending !== null) await this.#sending;
  }

  async #send(): Promise<void> {
    // What this round of the event loop notifies leaves together.
    await setImmediate();
    while (this.#queue.length > 0) {
      const outgoing = this.#queue.splice(0, MAX_PER_STATEMENT);
      await this.db
        .query('SELECT pg_notify(channel, payload) FROM unnest($1::text[], $2::text[]) AS n(channel, payload)', [
          outgoing.map(({ channel }) => channel),
          outgoing.map(({ payload }) => payload),
        ])
        // Readers poll the tables: if a notification is lost, they catch up within a second.
        .catch((err: unknown) => this.log.warn({ err }, 'notifications of turns could not be sent'));
      notificationSeconds.observe((performance.now() - outgoing[0]!.queuedAt) / 1000);
    }
    this.#sending = null;
  }
}

/** Batches whose deltas fit into a payload each. */
function* splitBatch(batch: DeltaBatch): Generator<DeltaBatch> {
  let part: DeltaBatch = { ...batch, runs: [] };
  let bytes = 0;
  for (const { number, type, content } of unpackDeltas(batch)) {
    const more = Buffer.byteLength(JSON.stringify(content)) + 30;
    if (bytes > 0 && bytes + more > MAX_RUNS_BYTES) {
      yield part;
      part = { ...batch, first: number, runs: [] };
      bytes = 0;
    }
    addDelta(part.runs, type, content);
    bytes += more;
  }
  yield part;
}

function formatStored(turn: Pick<TurnFields, 'id' | 'sessionId' | 'position'>, live: LiveEvents | null): string {
  if (live !== null) {
    const events = live.events.map(({ id, type, created_at, data }) => [id, type, created_at, data]);
    const payload = format(turn.id, turn.sessionId, [turn.position, live.after, events]);
    if (Buffer.byteLength(payload) <= MAX_PAYLOAD_BYTES) return payload;
  }
  return format(turn.id, turn.sessionId, [turn.position]);
}

function formatBatch(
  sessionId: string,
  { turnId, position, call, first, messageId, runs }: DeltaBatch,
  sentAt: number,
  isFirstSinceEvent: boolean,
): string {
  return format(turnId, sessionId, [position, call, first, messageId, runs, sentAt, isFirstSinceEvent]);
}

function format(turnId: string, sessionId: string, parts: unknown[]): string {
  return `${turnId} ${sessionId} ${JSON.stringify(parts)}`;
}

/**
 * Reads the ids from a payload without parsing the rest: a channel carries turns that this process does not watch. They are
 * empty if the payload is malformed, for example from another version.
 */
export function idsOfNotification(payload: string): { turnId: string; sessionId: string } {
  const [turnId = '', sessionId = ''] = payload.split(' ', 2);
  return { turnId, sessionId };
}

export function parseNotification(payload: string): TurnNotification | null {
  const { turnId, sessionId } = idsOfNotification(payload);
  if (sessionId === '') return null;
  const parts = JSON.parse(payload.slice(turnId.length + sessionId.length + 2)) as unknown[];
  if (parts.length === 1 || parts.length === 3) {
    const [position, after, events] = parts as [number, TurnPosition?, StoredEvent[]?];
    const live = after && events && { after, events: rowsOf(turnId, position, events) };
    return { kind: 'stored', turnId, position, live: live ?? null };
  }
  if (parts.length !== 7) return null;
  const [position, call, first, messageId, runs, sentAt, isFirstSinceEvent] = parts as [
    number,
    number,
    number,
    string,
    DeltaRun[],
    number,
    boolean,
  ];
  return { kind: 'deltas', turnId, position, call, first, messageId, runs, sentAt, isFirstSinceEvent };
}

type StoredEvent = [id: string, type: string, createdAt: string, data: string];

function rowsOf(turnId: string, position: number, events: StoredEvent[]): EventRow[] {
  const first = position - events.length + 1;
  return events.map(([id, type, created_at, data], index) => {
    return { id, turn_id: turnId, position: first + index, type, created_at, data };
  });
}
