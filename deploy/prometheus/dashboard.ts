import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import '../../src/db/database-metrics.js';
import { registry } from '../../src/platform/metrics.js';
import '../../src/platform/slot-metrics.js';
import '../../src/reconciler/gauges.js';
import '../../src/schedules/metrics.js';
import '../../src/turns/gauges.js';
import '../../src/webhooks/metrics.js';

/** `npm run dashboard`: makes the Grafana dashboard from the table of metrics in docs/operations/observing.md. */
export const DASHBOARD = fileURLToPath(new URL('dashboard.json', import.meta.url));
const TABLE = new URL('../../docs/operations/observing.md', import.meta.url);

/** Gauges of a process. All others are of the whole service, and one process reports them. */
const OF_PROCESS = new Set([
  ...['activity_slots', 'event_streams_open', 'db_pool_connections'],
  ...['workspace_calls_waiting', 'workspace_sandbox_down', 'workspace_cache_bytes'],
]);
/** Rows of the table that stand for many metrics of Node: the one that tells most. */
const OF_NODE: Record<string, string> = { 'nodejs_eventloop_lag_*': 'nodejs_eventloop_lag_p99_seconds' };
/** The Temporal SDK's own metrics are not in the table. */
const SLOTS = ['temporal_worker_task_slots_available', 'temporal_worker_task_slots_used'];
/** What to look at, in this order. Each panel is in the first section that names its metric; the last section has the others. */
const SECTIONS: readonly [title: string, metrics: readonly string[]][] = [
  [
    'Is it well?',
    [
      'http_request_duration_seconds',
      'turns_ended_total',
      'turns_open',
      'turns_oldest_queued_seconds',
      'requests_refused_total',
    ],
  ],
  [
    'Who suffers?',
    [
      ...['turn_queue_seconds', 'turn_first_token_seconds', 'turn_duration_seconds', 'turn_between_steps_seconds'],
      ...['event_stream_lag_seconds', 'turn_cancel_delay_seconds', 'projects_full', 'turns_oldest_waiting_seconds'],
      ...['schedules_overdue_seconds', 'webhook_attempts_overdue_seconds'],
    ],
  ],
  [
    'Which part?',
    [
      ...['db_pool_connections', 'postgres_connections_ratio', 'postgres_standbys', 'postgres_replication_lag_seconds'],
      ...['task_queue_backlog_age_seconds', 'workflow_calls_total', 'turns_due', 'reconcile_actions_total'],
      ...['activity_slots', 'nodejs_eventloop_lag_p99_seconds', 'model_call_duration_seconds', 'model_retries_total'],
      ...['tool_call_duration_seconds', 'workspace_sandbox_down'],
    ],
  ],
  ['Everything else', []],
];
const COLUMNS = 3;
const WIDTH = 24 / COLUMNS;
const HEIGHT = 8;
const QUANTILES = [0.5, 0.95, 0.99];

interface Metric {
  name: string;
  labels: string[];
  description: string;
}

interface Target {
  expr: string;
  legendFormat: string;
}

export function dashboard(): object {
  const types = new Map(registry.getMetricsAsArray().map(({ name, ...metric }) => [name, typeOf(metric)]));
  const panels = metricsOfTable(readFileSync(TABLE, 'utf8')).map((metric) => {
    const type = types.get(metric.name);
    if (type === undefined) throw new Error(`there is no metric ${metric.name}`);
    return { ...metric, targets: targetsOf(metric, type), unit: unitOf(metric.name, type) };
  });
  const slots = SLOTS.map((name) => ({
    ...{ name, description: 'Slots of all workers, by kind.', unit: 'short' },
    targets: [{ expr: `sum by (worker_type) (${name})`, legendFormat: '{{worker_type}}' }],
  }));
  return {
    title: 'Agent Session Service',
    uid: 'agent-session-service',
    schemaVersion: 39,
    tags: ['agent-session-service'],
    time: { from: 'now-6h', to: 'now' },
    refresh: '1m',
    templating: { list: [{ name: 'datasource', label: 'Data source', type: 'datasource', query: 'prometheus' }] },
    panels: inSections([...panels, ...slots]),
  };
}

/** The panels in their sections below each other. The alerts that fire are on top; the last section is folded. */
function inSections(panels: Panel[]): object[] {
  const left = new Map(panels.map((panel) => [panel.name, panel]));
  let id = 1;
  let y = 0;
  const alerts = { id, type: 'alertlist', title: 'Alerts that fire', gridPos: { x: 0, y, w: 24, h: 6 } };
  y += 6;
  const placed: object[] = [{ ...alerts, options: { stateFilter: { firing: true, pending: true }, viewMode: 'list' } }];
  for (const [title, names] of SECTIONS) {
    const isLast = names.length === 0;
    const own = isLast
      ? [...left.values()]
      : names.map((name) => {
          const panel = left.get(name);
          if (panel === undefined) throw new Error(`the section "${title}" names no metric of the table: ${name}`);
          left.delete(name);
          return panel;
        });
    const row = { id: (id += 1), type: 'row', title, gridPos: { x: 0, y, w: 24, h: 1 }, collapsed: isLast };
    const below = own.map((panel, at) => panelOf(panel, (id += 1), at, y + 1));
    placed.push({ ...row, panels: isLast ? below : [] }, ...(isLast ? [] : below));
    y += 1 + Math.ceil(own.length / COLUMNS) * HEIGHT;
  }
  return placed;
}

function metricsOfTable(page: string): Metric[] {
  const rows = [...page.matchAll(/^\| (`.+?`) \| (.+) \|$/gm)];
  return rows.flatMap(([, names, description]) =>
    [...names!.matchAll(/`([\w*]+)(?:\{([\w,]+)\})?`/g)].map(([, name, labels]) => ({
      name: OF_NODE[name!] ?? name!,
      labels: labels?.split(',') ?? [],
      description: description!.replaceAll('`', ''),
    })),
  );
}

function targetsOf({ name, labels }: Metric, type: string): Target[] {
  const by = (...more: string[]): string => {
    const all = [...more, ...labels];
    return all.length === 0 ? '' : ` by (${all.join(', ')})`;
  };
  const legend = labels.map((label) => `{{${label}}}`).join(' ');
  if (type === 'counter')
    return [{ expr: `sum${by()} (rate(${name}[$__rate_interval]))`, legendFormat: legend || name }];
  if (type === 'histogram') {
    return QUANTILES.map((quantile) => ({
      expr: `histogram_quantile(${quantile}, sum${by('le')} (rate(${name}_bucket[$__rate_interval])))`,
      legendFormat: `p${quantile * 100} ${legend}`.trim(),
    }));
  }
  return [{ expr: `${OF_PROCESS.has(name) ? 'sum' : 'max'}${by()} (${name})`, legendFormat: legend || name }];
}

function unitOf(name: string, type: string): string {
  if (name.endsWith('_bytes_total')) return 'Bps';
  if (name.endsWith('_bytes')) return 'bytes';
  if (type === 'counter') return 'cps';
  if (name.endsWith('_seconds')) return 's';
  return name.endsWith('_ratio') ? 'percentunit' : 'short';
}

interface Panel {
  name: string;
  description: string;
  unit: string;
  targets: Target[];
}

/** @param at its place in its section, which begins at the line `y` */
function panelOf(panel: Panel, id: number, at: number, y: number): object {
  const datasource = { type: 'prometheus', uid: '${datasource}' };
  return {
    id,
    type: 'timeseries',
    title: panel.name,
    description: panel.description,
    datasource,
    gridPos: { x: (at % COLUMNS) * WIDTH, y: y + Math.floor(at / COLUMNS) * HEIGHT, w: WIDTH, h: HEIGHT },
    fieldConfig: { defaults: { unit: panel.unit, min: 0 }, overrides: [] },
    options: { tooltip: { mode: 'multi' } },
    targets: panel.targets.map((target, index) => ({ refId: String.fromCharCode(65 + index), datasource, ...target })),
  };
}

function typeOf(metric: object): string {
  return String((metric as { type?: unknown }).type);
}

export function dashboardText(): string {
  return `${JSON.stringify(dashboard(), null, 2)}\n`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) writeFileSync(DASHBOARD, dashboardText());
