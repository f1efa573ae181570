import { expect } from 'chai';
import { whyLines } from '../../ops/turn/why.js';
import { isoOf, microsOf } from '../../src/platform/timestamps.js';

const QUEUED = '2026-11-26T10:00:00.000000Z';
const at = (seconds: number): string => isoOf(microsOf(QUEUED) + Math.round(seconds * 1_000_000));
type Turn = Parameters<typeof whyLines>[0];
type Workflow = Exclude<Parameters<typeof whyLines>[1], { error: string }>;
const part = (type: string, from: number, to: number | null, more: object = {}) =>
  ({
    ...{ type, name: null, status: to === null ? 'running' : 'ok', step: 1, attempt: null, action: null },
    ...{ started_at: at(from), ended_at: to === null ? null : at(to), ...more },
  }) as unknown as Turn['timeline'][number];
const TIMELINE = [part('queued', 0, 1), part('model_call', 1, 4)];
const turn = (more: Partial<Turn> = {}): Turn => ({
  ...{ row: { state: 'running' }, error: null, timeline: TIMELINE, waits: [], workers: [] },
  ...{ times: { queued_at: QUEUED, ended_at: null }, ...more },
});
const workflow = (more: Partial<Workflow> = {}): Workflow => ({
  ...{ id: 'turn_1', run_id: 'r', namespace: 'default', task_queue: 'turns', status: 'RUNNING', started_at: QUEUED },
  ...{ closed_at: null, history_events: 9, task_attempt: null, task_failure: null, activities: [], ...more },
});
const activity = (more: object) => ({
  activities: [
    { id: '1', type: 'callModel', state: 'scheduled', attempt: 1, worker: 'w1', lastFailure: null, ...more },
  ] as Workflow['activities'],
});
const WAIT = { what: 'tool_confirmation', step: 2, index: 0, since: at(3), expires_at: at(60) };
const DEAD = { id: 'w1', until: at(2), is_draining: false, dead_at: at(3) };

describe('npm run turn -- why', () => {
  const cases: [what: string, turn: Turn, workflow: Parameters<typeof whyLines>[1], first: RegExp][] = [
    ['Temporal does not answer', turn(), { error: 'Temporal does not answer (x).' }, /^Temporal does not answer/],
    [
      'its workflow is closed',
      turn(),
      workflow({ status: 'TERMINATED', closed_at: at(5) }),
      /^Its workflow is TERMINATED, and the turn is open/,
    ],
    [
      'its workflow task fails',
      turn({ waits: [WAIT] }),
      workflow({ task_attempt: 7, task_failure: 'Invalid millis NaN' }),
      /^Its workflow task fails, attempt 7: Invalid millis NaN\.$/,
    ],
    [
      'somebody must answer',
      turn({ waits: [WAIT] }),
      workflow(),
      /^It waits for tool_confirmation of step 2 since \S+03\.\S+, until \S+\.$/,
    ],
    [
      'its cancel was not followed',
      turn({ row: { state: 'running', cancel_requested_at: at(4) } }),
      workflow(),
      /^Its cancel was requested at \S+04\./,
    ],
    [
      'all slots are taken',
      turn(),
      workflow(activity({})),
      /^callModel waits for a free slot of a worker: BacklogGrows, SlotsRunOut\.$/,
    ],
    [
      'its call is tried again',
      turn(),
      workflow(activity({ attempt: 3, lastFailure: 'model_overloaded' })),
      /^callModel failed with model_overloaded and waits for attempt 3\.$/,
    ],
    [
      'its worker has died',
      turn(),
      workflow(activity({ attempt: 2, lastFailure: 'WorkerDied' })),
      /^callModel lost its worker and waits for attempt 2\.$/,
    ],
    ['its activity is paused', turn(), workflow(activity({ state: 'paused' })), /^callModel is paused in Temporal/],
    [
      'its call runs',
      turn({ timeline: [part('model_call', 1, null)] }),
      workflow(activity({ state: 'started' })),
      /^callModel runs on w1, attempt 1, since \S+01\.\S+\.$/,
    ],
    [
      'its worker is dead',
      turn({ workers: [DEAD] }),
      workflow(activity({ state: 'started' })),
      /^callModel runs on w1, a worker that is dead since \S+03\./,
    ],
    [
      'no worker takes its workflow task',
      turn(),
      workflow({ task_attempt: 1 }),
      /^Its workflow task waits for a worker/,
    ],
    ['a timer runs', turn(), workflow(), /^Nothing is pending in Temporal/],
  ];
  for (const [what, shown, described, first] of cases) {
    it(`npm run turn -- why says first that ${what}`, () => {
      expect(whyLines(shown, described)[0]).to.match(first);
    });
  }

  it('npm run turn -- why names the largest share of an ended turn, counts parts at the same time once, and where to read on', () => {
    const timeline = [
      part('queued', 0, 1),
      part('model_call', 1, 4),
      part('tool_call', 300, 302, { name: 'a' }),
      part('tool_call', 301, 303, { name: 'b' }),
    ];
    const ended = turn({ timeline, row: { state: 'completed' }, times: { queued_at: QUEUED, ended_at: at(303) } });
    expect(whyLines(ended, { error: 'gone' })).to.deep.equal([
      'It ended as completed. Most of its time went to: between its parts.',
      'Of 303.0 s: between its parts 296.0 s, model calls 3.0 s, tool calls 3.0 s, in the queue 1.0 s.',
      'largest gap: 296.000 s between model call of step 1 and a of step 1',
      "Time between its parts is Temporal's, or of a worker that died: docs/operations/runbook.md#turnsstandstill",
    ]);
    const failed = turn({
      row: { state: 'failed' },
      error: { type: 'model_error', message: 'SECRET' },
      times: { queued_at: QUEUED, ended_at: at(4) },
    });
    const lines = whyLines(failed, { error: 'gone' });
    expect(lines[0]).to.equal('It ended as failed (model_error). Most of its time went to: model calls.');
    expect(lines.join()).to.not.contain('SECRET');
  });
});
