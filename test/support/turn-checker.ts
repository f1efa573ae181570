/**
 * Judges what clients of the service saw, knowing nothing of how it works: the accepted turns, each watcher's frames with
 * its reconnects, the histories and the sessions' states. Returns what is wrong, one line each.
 */

// oxlint-disable-next-line typescript/no-explicit-any -- events of many types
export type StoredEvent = any;

/** A frame as a watcher got it; `id` is the SSE id. */
export interface SeenFrame {
  id: string;
  event: string;
  data: StoredEvent;
}

/** Somebody who watched one turn to its end, over however many connections. */
export interface Watched {
  turnId: string;
  frames: SeenFrame[];
}

export interface Evidence {
  /** Every turn whose POST was answered with 201. */
  accepted: { turnId: string; sessionId: string }[];
  /** The stored events of each session, from GET events. */
  histories: Map<string, StoredEvent[]>;
  /** The status of each session, from GET sessions. */
  statuses: Map<string, string>;
  watched: Watched[];
}

const TERMINAL = ['turn.completed', 'turn.cancelled', 'turn.failed'];
const STATUS_AFTER: Record<string, string> = {
  'turn.completed': 'COMPLETE',
  'turn.cancelled': 'CANCELLED',
  'turn.failed': 'FAILED',
};

export function checkTurns(evidence: Evidence): string[] {
  return [
    ...checkUnique(evidence),
    ...evidence.accepted.flatMap(({ turnId, sessionId }) =>
      checkTurn(eventsOf(evidence, sessionId, turnId)).map((fault) => `${turnId}: ${fault}`),
    ),
    ...checkSessions(evidence),
    ...evidence.watched.flatMap((watched) => {
      const sessionId = evidence.accepted.find(({ turnId }) => turnId === watched.turnId)?.sessionId;
      if (sessionId === undefined) return [`${watched.turnId}: watched, but never accepted`];
      const events = eventsOf(evidence, sessionId, watched.turnId);
      return checkWatched(watched, events).map((fault) => `watcher of ${watched.turnId}: ${fault}`);
    }),
  ];
}

function eventsOf({ histories }: Evidence, sessionId: string, turnId: string): StoredEvent[] {
  return (histories.get(sessionId) ?? []).filter((event) => event.turn_id === turnId);
}

function checkUnique({ histories }: Evidence): string[] {
  const ids = [...histories.values()].flat().map((event) => event.id as string);
  return repeated(ids).map((id) => `event ${id} stands in the histories more than once`);
}

/** One turn's part of the history: begins with the message, ends once, has each event once. */
function checkTurn(events: StoredEvent[]): string[] {
  if (events.length === 0) return ['accepted, but not in the history'];
  const faults: string[] = [];
  const ends = events.filter((event) => TERMINAL.includes(event.type));
  if (ends.length === 0) faults.push('no terminal event');
  if (ends.length > 1) faults.push(`${ends.length} terminal events: ${typesOf(ends)}`);
  if (ends.length > 0 && !TERMINAL.includes(events.at(-1).type)) faults.push('events after the terminal one');
  if (events[0].type !== 'user.message') faults.push(`begins with ${events[0].type}`);
  const begins = ({ type, delivered_at_step }: StoredEvent): boolean =>
    type === 'user.message' && delivered_at_step === undefined;
  if (events.filter(begins).length > 1) faults.push('more than one user.message that did not steer');
  for (let i = 1; i < events.length; i += 1) {
    if (events[i].created_at < events[i - 1].created_at) faults.push(`event ${i + 1} is older than the one before it`);
  }
  const of = (type: string): StoredEvent[] => events.filter((event) => event.type === type);
  for (const type of ['agent.message', 'agent.thinking']) {
    for (const id of repeated(of(type).map((event) => event.message_id))) faults.push(`${type} ${id} more than once`);
  }
  const uses = of('agent.tool_use').map((event) => event.tool_use_id as string);
  const results = of('agent.tool_result').map((event) => event.tool_use_id as string);
  for (const id of repeated(uses)) faults.push(`tool use ${id} more than once`);
  for (const id of repeated(results)) faults.push(`the result of ${id} more than once`);
  for (const id of results) if (!uses.includes(id)) faults.push(`a result of ${id}, which nobody used`);
  if (ends[0]?.type === 'turn.completed') {
    for (const id of uses) if (!results.includes(id)) faults.push(`completed without the result of ${id}`);
  }
  return faults;
}

function checkSessions({ accepted, histories, statuses }: Evidence): string[] {
  return [...new Set(accepted.map(({ sessionId }) => sessionId))].flatMap((sessionId) => {
    const status = statuses.get(sessionId);
    const last = (histories.get(sessionId) ?? []).at(-1)?.type as string | undefined;
    const expected = STATUS_AFTER[last ?? ''];
    return status === expected ? [] : [`${sessionId}: status ${status} after ${last}`];
  });
}

/** What one watcher saw over all its connections: the stored events of the turn, each once, in order, without a gap. */
function checkWatched({ turnId, frames }: Watched, events: StoredEvent[]): string[] {
  const faults: string[] = [];
  const places = frames.map(({ id }) => placeOf(turnId, id));
  if (places.includes(null)) return [`an SSE id that is none of this turn: ${frames[places.indexOf(null)]!.id}`];
  for (let i = 1; i < places.length; i += 1) {
    const order = compare(places[i - 1]!, places[i]!);
    if (order === 0) faults.push(`${frames[i]!.id} seen twice`);
    if (order > 0) faults.push(`${frames[i]!.id} seen after ${frames[i - 1]!.id}`);
  }
  const stored = frames.filter(({ event }) => !event.endsWith('.delta'));
  stored.forEach((frame, index) => {
    if (frame.id !== `${turnId}:${index + 1}`) faults.push(`stored event ${index + 1} has the SSE id ${frame.id}`);
  });
  const seen = JSON.stringify(stored.map((frame) => frame.data));
  if (seen !== JSON.stringify(events)) {
    faults.push(`saw ${typesOf(stored.map((frame) => frame.data))}; the history has ${typesOf(events)}`);
  }
  return [...faults, ...checkDeltas(frames)];
}

/** The fragments of a message that got its full event are its text from the start, as far as they were seen. */
function checkDeltas(frames: SeenFrame[]): string[] {
  return frames
    .filter(({ event }) => event === 'agent.message' || event === 'agent.thinking')
    .flatMap((full) => {
      const deltas = frames.filter(
        ({ event, data }) => event === `${full.event}.delta` && data.message_id === full.data.message_id,
      );
      const streamed = deltas.map(({ data }) => data.content as string).join('');
      const contiguous = deltas.every(
        ({ id }, index) => index === 0 || numberOf(id) === numberOf(deltas[index - 1]!.id) + 1,
      );
      const fromStart = deltas.length > 0 && numberOf(deltas[0]!.id) === 1;
      if (!contiguous || !fromStart || (full.data.content as string).startsWith(streamed)) return [];
      return [`the deltas of ${full.data.message_id} are not the beginning of its ${full.event}`];
    });
}

type Place = [stored: number, call: number, delta: number];

function placeOf(turnId: string, id: string): Place | null {
  const match = /^(.+):(\d+)(?:\.(\d+)\.(\d+))?$/.exec(id);
  return match?.[1] === turnId ? [Number(match[2]), Number(match[3] ?? 0), Number(match[4] ?? 0)] : null;
}

function numberOf(id: string): number {
  return Number(id.slice(id.lastIndexOf('.') + 1));
}

function compare(a: Place, b: Place): number {
  return a[0] - b[0] || a[1] - b[1] || a[2] - b[2];
}

function repeated(ids: string[]): string[] {
  return [...new Set(ids.filter((id, index) => ids.indexOf(id) !== index))];
}

function typesOf(events: StoredEvent[]): string {
  return events.map((event) => event.type as string).join(' ') || 'nothing';
}
