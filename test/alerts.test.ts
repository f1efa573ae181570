import { expect } from 'chai';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';
import { skip } from './support/skip.js';

const ALERTS = fileURLToPath(new URL('../deploy/prometheus/alerts.yml', import.meta.url));
const RUNBOOK = fileURLToPath(new URL('../docs/operations/runbook.md', import.meta.url));

interface Rule {
  alert: string;
  labels: { severity: string };
  annotations: { runbook: string };
}

const { groups } = parse(readFileSync(ALERTS, 'utf8')) as { groups: { name: string; rules: Rule[] }[] };
const rules = groups.flatMap((group) => group.rules);

const STEP_SECONDS = 15;
/** Healthy for ten minutes, the fault for ten, healthy again for ten. */
const PHASE = 600 / STEP_SECONDS;

/** The value of a sample; null: the process no longer gives it. */
type Phases = readonly [healthy: number | null, faulty: number | null];
interface Series {
  name: string;
  values: string;
}

/** A gauge with these values in healthy times and in the fault. */
const gauge = (name: string, [healthy, faulty]: Phases): Series => {
  let before: number | null = null;
  const sample = (value: number | null): string => {
    const text = value === null ? (before === null ? '_' : 'stale') : String(value);
    before = value;
    return text;
  };
  const phases = [healthy, faulty, healthy].flatMap((value) => Array.from({ length: PHASE }, () => value));
  return { name, values: phases.map(sample).join(' ') };
};

/** A counter that grows by so much with each scrape. */
const counter = (name: string, [healthy, faulty]: readonly [number, number]): Series => {
  let value = 0;
  const phases = [healthy, faulty, healthy].flatMap((growth) => Array.from({ length: PHASE }, () => growth));
  return { name, values: phases.map((growth) => (value += growth)).join(' ') };
};

/** A counter that grows by so much once, as the fault begins. */
const once = (name: string, growth: number): Series => ({
  name,
  values: Array.from({ length: 3 * PHASE }, (_, n) => (n < PHASE ? 0 : growth)).join(' '),
});

/** Observations of a histogram: those of the fault lie above `limit`, those of healthy times below. */
const histogram = (name: string, limit: number): Series[] => [
  counter(`${name}_bucket{le="${limit}"}`, [4, 0]),
  counter(`${name}_bucket{le="${limit * 4}"}`, [4, 4]),
  counter(`${name}_bucket{le="+Inf"}`, [4, 4]),
];

const ENDED = 'turns_ended_total{state="completed",reason="end_turn"}';
const failed = (reason: string): string => `turns_ended_total{state="failed",reason="${reason}"}`;
const UP = ['api', 'worker'].flatMap((job) => [1, 2].map((n) => `up{job="${job}",instance="${job}-${n}"}`));
const FILE_SYSTEM = '{instance="db",mountpoint="/",fstype="ext4"}';

/** Each fault as the processes report it, and the labels that its alert carries; `events`: the fault is over as soon as it has happened. */
const CASES: Record<string, { series: Series[]; labels?: Record<string, string>; events?: true }> = {
  ProcessesDown: {
    series: UP.map((name) => gauge(name, [1, name.includes('api-1') ? 0 : 1])),
    labels: { job: 'api' },
  },
  NothingIsScraped: {
    series: UP.map((name) => gauge(name, [1, name.includes('worker') ? null : 1])),
    labels: { job: 'worker' },
  },
  NobodyLeads: { series: [gauge('turns_open{state="running"}', [3, null])] },
  TemporalDoesNotAnswer: {
    series: [
      gauge('turns_open{state="running"}', [3, 3]),
      gauge('task_queue_backlog_tasks{type="activity"}', [0, null]),
    ],
  },
  TurnsWait: { series: [gauge('turns_oldest_queued_seconds', [0, 40])] },
  ProjectsAreFull: { series: [gauge('projects_full', [0, 1])] },
  TurnsStartSlowly: { series: histogram('turn_queue_seconds', 5) },
  TurnsStandStill: { series: histogram('turn_between_steps_seconds', 30) },
  BacklogGrows: {
    series: [gauge('task_queue_backlog_age_seconds{type="activity"}', [0, 20])],
    labels: { type: 'activity' },
  },
  SlotsRunOut: {
    series: [gauge('activity_slots{state="free"}', [190, 2]), gauge('activity_slots{state="used"}', [10, 198])],
  },
  TurnsFailInternally: { series: [counter(ENDED, [4, 4]), counter(failed('internal_error'), [0, 2])] },
  TurnsTimeOut: { series: [counter(ENDED, [4, 4]), counter(failed('turn_timeout'), [0, 2])] },
  WorkflowTasksFail: {
    series: [
      counter('temporal_workflow_task_queue_poll_succeed_total', [20, 20]),
      counter('temporal_workflow_task_execution_failed_total', [0, 1]),
    ],
  },
  TemporalRefuses: {
    series: [
      counter('workflow_calls_total{outcome="ok"}', [20, 20]),
      counter('workflow_calls_total{outcome="RESOURCE_EXHAUSTED"}', [0, 5]),
    ],
  },
  ModelCallsFail: {
    series: [
      counter('model_call_duration_seconds_count{model="m",outcome="ok"}', [4, 1]),
      counter('model_call_duration_seconds_count{model="m",outcome="model_error"}', [0, 3]),
    ],
    labels: { model: 'm' },
  },
  CancelsAreSlow: { series: histogram('turn_cancel_delay_seconds', 5) },
  StreamsLag: { series: histogram('event_stream_lag_seconds', 1) },
  NotificationsWait: { series: histogram('notification_delay_seconds', 0.5) },
  ReconcilerIsBehind: { series: [gauge('turns_due', [10, 3000])] },
  TurnsOutliveTheirLimit: { series: [gauge('turns_oldest_running_seconds', [20, 4000])] },
  DeltaPartitionsPileUp: { series: [gauge('delta_partitions', [6, 20])] },
  ReconcilerIsBusy: {
    series: [counter(ENDED, [4, 4]), counter('reconcile_actions_total{action="started"}', [0, 2])],
  },
  WorkersAreTakenOver: { series: [once('reconcile_actions_total{action="worker_taken_over"}', 2)], events: true },
  PoolExhausted: { series: [gauge('db_pool_connections{job="api",state="waiting"}', [0, 4])], labels: { job: 'api' } },
  EventLoopBlocked: {
    series: [gauge('nodejs_eventloop_lag_p99_seconds{job="worker"}', [0.02, 2])],
    labels: { job: 'worker' },
  },
  ServerErrors: {
    series: [
      counter('http_request_duration_seconds_count{status="200"}', [50, 40]),
      counter('http_request_duration_seconds_count{status="503"}', [0, 10]),
    ],
  },
  RequestsAreRefused: {
    series: [
      counter('http_request_duration_seconds_count{status="200"}', [50, 40]),
      counter('requests_refused_total{status="429",reason="rate_limit_exceeded"}', [0, 20]),
    ],
    labels: { reason: 'rate_limit_exceeded' },
  },
  TransactionIdsRunOut: { series: [gauge('postgres_transaction_id_age', [1e8, 1.2e9])] },
  ReplicationLags: { series: [gauge('postgres_replication_lag_seconds', [0.1, 60])] },
  StandbyIsGone: { series: [gauge('postgres_standbys', [1, 0])] },
  ConnectionsRunOut: { series: [gauge('postgres_connections_ratio', [0.3, 0.97])] },
  WalIsNotArchived: { series: [gauge('postgres_wal_archive_failing', [0, 1])] },
  DiskFills: {
    series: [
      gauge(`node_filesystem_avail_bytes${FILE_SYSTEM}`, [5e10, 4e9]),
      gauge(`node_filesystem_size_bytes${FILE_SYSTEM}`, [1e11, 1e11]),
    ],
    labels: { instance: 'db', mountpoint: '/' },
  },
  // The clock of the test begins at 0.
  BackupIsOld: { series: [gauge('agent_session_backup_end_seconds', [0, -100_000])] },
  NotificationQueueFills: { series: [gauge('postgres_notification_queue_ratio', [0, 0.5])] },
  MaintenanceFails: {
    series: [
      gauge('maintenance_last_end_seconds{task="storage",outcome="failed",instance="w1"}', [0, 700]),
      {
        name: 'maintenance_last_end_seconds{task="storage",outcome="ok",instance="w2"}',
        values: Array.from({ length: 3 * PHASE }, (_, n) => (n < 2 * PHASE ? 100 : 1300)).join(' '),
      },
    ],
    labels: { task: 'storage' },
  },
  SchedulesAreLate: { series: [gauge('schedules_overdue_seconds', [1, 90])] },
  WebhooksAreLate: { series: [gauge('webhook_attempts_overdue_seconds', [1, 90])] },
  WebhooksFail: { series: [gauge('webhooks_failing', [0, 1])] },
  WebhooksAreDisabled: { series: [once('webhooks_disabled_total{reason="gone"}', 1)], events: true },
  SandboxesFail: { series: [gauge('workspace_sandbox_down', [0, 1])] },
  CommandsRunAgain: { series: [once('workspace_reruns_total', 5)], events: true },
};

/** What is near a fault and none: the alert stays quiet. */
const QUIET: [alert: string, what: string, series: Series[]][] = [
  ['WorkersAreTakenOver', 'one worker', [once('reconcile_actions_total{action="worker_taken_over"}', 1)]],
  ['CommandsRunAgain', 'three commands', [once('workspace_reruns_total', 3)]],
  [
    'ServerErrors',
    'a part is away, and a monitor asks',
    [
      counter('http_request_duration_seconds_count{route="/v1/models",status="200"}', [50, 50]),
      counter('http_request_duration_seconds_count{route="/readyz",status="503"}', [0, 30]),
    ],
  ],
];

/** Scrapes do not come in step with evaluations: only then does increase() make more than one of one event. */
const OUT_OF_STEP_SECONDS = 14;

/** A rule that stays quiet all the time, in promtool's form. */
function quietTestOf([alertname, what, series]: (typeof QUIET)[number]): object {
  return {
    name: `${alertname}: ${what}`,
    interval: `${OUT_OF_STEP_SECONDS}s`,
    input_series: series.map(({ name, values }) => ({ series: name, values })),
    alert_rule_test: Array.from({ length: 20 }, (_, n) => ({ eval_time: `${540 + n * STEP_SECONDS}s`, alertname })),
  };
}

/** The test of a rule in promtool's form: quiet before the fault, firing two minutes after its begin, quiet five minutes after its end. */
function testOf({ alert, labels: { severity }, annotations }: Rule): object {
  const { series, labels = {}, events } = CASES[alert]!;
  const firing = [{ exp_labels: { severity, ...labels }, exp_annotations: annotations }];
  const at = (minutes: number, exp_alerts: object[]): object => ({
    eval_time: `${minutes * 60}s`,
    alertname: alert,
    exp_alerts,
  });
  // The last good sample is at 9:45; the fault's first one at 10:00, its last one at 19:45.
  return {
    name: alert,
    interval: `${STEP_SECONDS}s`,
    input_series: series.map(({ name, values }) => ({ series: name, values })),
    alert_rule_test: [at(9.75, []), at(12, firing), ...(events ? [at(17, [])] : [at(19.75, firing), at(25, [])])],
  };
}

describe('the alerts', () => {
  it('the alerts have a fault each, with which they are tested', () => {
    expect(Object.keys(CASES)).to.deep.equal(rules.map(({ alert }) => alert));
  });

  it('the alerts fire within two minutes of their fault, stop within five of its end, and stay quiet short of it', function () {
    const dir = mkdtempSync(join(tmpdir(), 'alerts-'));
    const file = join(dir, 'tests.yml');
    const tests = [...rules.map(testOf), ...QUIET.map(quietTestOf)];
    // JSON is YAML.
    writeFileSync(file, JSON.stringify({ rule_files: [ALERTS], evaluation_interval: `${STEP_SECONDS}s`, tests }));
    const { error, status, stdout, stderr } = spawnSync('promtool', ['test', 'rules', file], { encoding: 'utf8' });
    rmSync(dir, { recursive: true });
    if (error !== undefined) skip(this, 'promtool is not here: it comes with Prometheus');
    expect(status, `${stdout}${stderr}`).to.equal(0);
  });

  it('the alerts that wake somebody and those that wait are the two lists of the runbook', () => {
    const page = readFileSync(RUNBOOK, 'utf8');
    const listed = (heading: string): string[] => {
      const [, section = ''] = new RegExp(`^\\| \\*\\*${heading}\\*\\* \\| (.+) \\|$`, 'm').exec(page) ?? [];
      return section.split(', ');
    };
    const of = (severity: string): string[] =>
      rules.filter(({ labels }) => labels.severity === severity).map(({ alert }) => alert);
    expect(listed('Wakes somebody')).to.deep.equal(of('page'));
    expect(listed('Waits for the day')).to.deep.equal(of('ticket'));
  });
});
