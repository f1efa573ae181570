import type { TimelineEntry } from '../../src/turns/timeline.js';
import { isoNow, microsOf } from '../../src/platform/timestamps.js';
import type { DescribedWorkflow } from '../../src/temporal/describe-workflow.js';
import { WORKER_DIED } from '../../src/temporal/turn-workflows.js';
import type { ShownTurn } from './read.js';
import { timelineLines } from './timeline.js';

type Facts = Pick<ShownTurn, 'row' | 'error' | 'timeline' | 'times' | 'waits' | 'workers'>;

const WHAT: Record<TimelineEntry['type'], string> = {
  queued: 'in the queue',
  connect: 'connecting MCP servers',
  model_call: 'model calls',
  tool_call: 'tool calls',
  wait: 'waits for people',
};

/**
 * Why a turn does not go on, or why it took as long as it did: the reason first, then where its time went. No content. Parts of
 * one kind that ran at the same time count once.
 */
export function whyLines(turn: Facts, workflow: DescribedWorkflow): string[] {
  const isOpen = turn.times.ended_at === null;
  const total = spanOf(turn.times.queued_at, turn.times.ended_at);
  const shares = Object.entries(WHAT).flatMap(([type, what]) => {
    const seconds = coveredSeconds(turn.timeline.filter((part) => part.type === type));
    return seconds < 0.001 ? [] : [{ what, seconds }];
  });
  const rest = Math.max(0, total - coveredSeconds(turn.timeline));
  const parts = [...shares, { what: 'between its parts', seconds: rest }].toSorted((a, b) => b.seconds - a.seconds);
  const largest = parts[0]!;
  const reason = isOpen
    ? reasonOfOpen(turn, workflow)
    : [
        `It ended as ${String(turn.row.state)}${turn.error === null ? '' : ` (${turn.error.type})`}. Most of its time went to: ${largest.what}.`,
      ];
  const gap = timelineLines(turn.timeline, turn.times).at(-1);
  return [
    ...reason,
    `Of ${seconds(total)}${isOpen ? ' so far' : ''}: ${parts.map(({ what, seconds: n }) => `${what} ${seconds(n)}`).join(', ')}.`,
    ...(gap === undefined ? [] : [gap]),
    ...(largest.what === 'between its parts' && rest > 1
      ? ["Time between its parts is Temporal's, or of a worker that died: docs/operations/runbook.md#turnsstandstill"]
      : []),
  ];
}

function reasonOfOpen({ row, waits, workers, timeline }: Facts, workflow: DescribedWorkflow): string[] {
  if ('error' in workflow) {
    return [
      workflow.error,
      'The reconciler starts the workflow of an open turn again once Temporal answers: if it does not, NobodyLeads.',
    ];
  }
  if (workflow.closed_at !== null) {
    return [
      `Its workflow is ${workflow.status}, and the turn is open: the reconciler ends it within seconds. If it does not, NobodyLeads.`,
    ];
  }
  if ((workflow.task_attempt ?? 0) > 1) {
    return [
      `Its workflow task fails, attempt ${workflow.task_attempt}: ${workflow.task_failure ?? 'the history does not say why'}.`,
      'The workers run a build that cannot continue it. Go back to the build before: docs/operations/upgrading.md#going-back',
    ];
  }
  if (waits.length > 0) {
    return waits.map(
      ({ what, step, since, expires_at }) =>
        `It waits for ${what} of step ${step} since ${since}${expires_at === null ? '' : `, until ${expires_at}`}.`,
    );
  }
  if (row.cancel_requested_at !== null && row.cancel_requested_at !== undefined) {
    return [
      `Its cancel was requested at ${row.cancel_requested_at as string}, and no worker has followed it yet: CancelsAreSlow.`,
    ];
  }
  const lines = workflow.activities.map(({ type, state, attempt, worker, lastFailure }) => {
    if (state === 'paused' || state === 'pause requested')
      return `${type} is paused in Temporal: temporal activity unpause.`;
    if (state === 'scheduled') {
      if (lastFailure === null) return `${type} waits for a free slot of a worker: BacklogGrows, SlotsRunOut.`;
      const what = lastFailure === WORKER_DIED.type ? 'lost its worker' : `failed with ${lastFailure}`;
      return `${type} ${what} and waits for attempt ${attempt}.`;
    }
    const lease = workers.find(({ id }) => id === worker);
    const dead = lease !== undefined && lease.dead_at !== null ? `, a worker that is dead since ${lease.dead_at}` : '';
    const parts = timeline.filter(({ type }) => type !== 'queued');
    const running = parts.find(({ status }) => status === 'running');
    return `${type} runs on ${worker}${dead}, attempt ${attempt}${running === undefined ? '' : `, since ${running.started_at}`}.`;
  });
  if (lines.length > 0) return lines;
  if (workflow.task_attempt !== null)
    return ['Its workflow task waits for a worker: none lives, or all are busy (BacklogGrows, EventLoopBlocked).'];
  return ['Nothing is pending in Temporal: a timer runs, or the next step comes at this moment.'];
}

/** Seconds in which at least one of the parts ran. */
function coveredSeconds(parts: readonly Pick<TimelineEntry, 'started_at' | 'ended_at'>[]): number {
  let micros = 0;
  let until = 0;
  for (const { started_at, ended_at } of parts.toSorted((a, b) => microsOf(a.started_at) - microsOf(b.started_at))) {
    const [from, to] = [Math.max(until, microsOf(started_at)), microsOf(ended_at ?? isoNow())];
    micros += Math.max(0, to - from);
    until = Math.max(until, to);
  }
  return micros / 1_000_000;
}

function spanOf(from: string, to: string | null): number {
  return (microsOf(to ?? isoNow()) - microsOf(from)) / 1_000_000;
}

const seconds = (n: number): string => `${n.toFixed(1)} s`;
