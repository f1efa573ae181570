import type { Timing } from '../events/fields.js';
import { microsOf } from '../platform/timestamps.js';
import type { Span, TurnFacts } from './facts.js';
import type { TurnRow } from './turn-row.js';

/** The times of a turn that its row knows. */
export type TurnTimes = Pick<TurnRow, 'queued_at' | 'started_at' | 'connected_at' | 'connect_ms' | 'first_token_at'>;

/**
 * How long the phases of a turn took until `at`, and how long it has run: without its waits for people, and without the time in
 * which servers worked on tasks, or nothing but turns of other agents was open. What has no end yet lasts until `at`. The turn waits while it waits for a person and no tool
 * runs; a tool call does not run while a question of its server is open. What is left of the whole time is between the steps;
 * time in which two phases overlap counts once.
 */
export function timing(turn: TurnTimes, facts: TurnFacts, at: string): { timing: Timing; runningMs: number } {
  const now = microsOf(at);
  const until = ({ from, to }: Span): Closed => [from, Math.max(from, to ?? now)];
  const model = unite(
    facts.modelCalls.map((call, n) => {
      const [from, to] = until(call);
      // A call whose process died lasts until the next one begins.
      const next = facts.modelCalls[n + 1]?.from ?? now;
      return [from, Math.max(from, Math.min(to, next))];
    }),
  );
  const running = facts.toolCalls.map((call) => {
    const questions = facts.waits.filter(
      ({ duringCall, step, index }) => duringCall && step === call.step && index === call.index,
    );
    const asked = unite(questions.map(until));
    const [from, to] = until(call);
    return {
      tool: without([[from, to]], asked),
      task: call.taskFrom === null ? [] : without([[call.taskFrom, Math.max(call.taskFrom, to)]], asked),
      child: call.childFrom === null ? [] : ([[call.childFrom, Math.max(call.childFrom, to)]] as Closed[]),
    };
  });
  const tools = unite(running.flatMap(({ tool }) => tool));
  const ownTools = unite(running.flatMap(({ tool, child }) => (child.length === 0 ? tool : [])));
  const children = without(unite(running.flatMap(({ child }) => child)), ownTools);
  const tasks = unite([...running.flatMap(({ task }) => task), ...children]);
  const waiting = without(unite(facts.waits.map(until)), tools);

  const since = (time: string | null): number | null =>
    time === null ? null : toMs(microsOf(time) - microsOf(turn.queued_at));
  const spent = (spans: Closed[]): number | null => (spans.length === 0 ? null : toMs(length(spans)));
  const begun = turn.started_at === null ? null : microsOf(turn.started_at);
  const connected = turn.connected_at === null ? null : microsOf(turn.connected_at);
  const phases: Closed[][] = [
    begun === null ? [] : [[microsOf(turn.queued_at), begun]],
    connected === null ? [] : [[connected - (turn.connect_ms ?? 0) * 1000, connected]],
    ...[model, tools, waiting],
  ];
  const overlap = phases.reduce((sum, spans) => sum + length(spans), 0) - length(unite(phases.flat()));
  const elapsed = begun === null ? 0 : now - begun;
  const known = {
    queued_ms: since(turn.started_at),
    connect_ms: turn.connect_ms,
    model_ms: spent(model),
    tools_ms: spent(tools),
    waiting_ms: spent(waiting),
  };
  const total_ms = toMs(now - microsOf(turn.queued_at));
  // Of the rounded times, so that they add up.
  const inPhases = Object.values(known).reduce<number>((sum, ms) => sum + (ms ?? 0), 0) - toMs(overlap);
  return {
    timing: {
      ...known,
      first_token_ms: since(turn.first_token_at),
      between_steps_ms: begun === null ? null : Math.max(0, total_ms - inPhases),
      total_ms,
    },
    runningMs: Math.max(0, elapsed - length(waiting) - length(tasks)) / 1000,
  };
}

type Closed = [from: number, to: number];

const toMs = (micros: number): number => Math.round(micros / 1000);
const length = (spans: Closed[]): number => spans.reduce((sum, [from, to]) => sum + to - from, 0);

/** The same times as spans in order that do not overlap. */
function unite(spans: Closed[]): Closed[] {
  const united: Closed[] = [];
  for (const [from, to] of spans.toSorted(([one], [other]) => one - other)) {
    const last = united.at(-1);
    if (last !== undefined && from <= last[1]) last[1] = Math.max(last[1], to);
    else united.push([from, to]);
  }
  return united;
}

/** What is left of the spans outside of the holes. Both are in order and do not overlap. */
function without(spans: Closed[], holes: Closed[]): Closed[] {
  return spans.flatMap(([from, to]) => {
    const left: Closed[] = [];
    let start = from;
    for (const [holeFrom, holeTo] of holes) {
      if (holeTo <= start || holeFrom >= to) continue;
      if (holeFrom > start) left.push([start, holeFrom]);
      start = Math.max(start, holeTo);
    }
    if (start < to || (start === from && from === to)) left.push([start, to]);
    return left;
  });
}
