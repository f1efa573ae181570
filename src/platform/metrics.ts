import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';

/** The metrics registry of this process. */
export const registry = new Registry();
collectDefaultMetrics({ register: registry });

export const httpRequestSeconds = new Histogram({
  name: 'http_request_duration_seconds',
  help: 'Time from request to the end of its response, by route pattern; streams last as long as their turn',
  labelNames: ['method', 'route', 'status'],
  buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60],
  registers: [registry],
});

export const reconcileActions = new Counter({
  name: 'reconcile_actions_total',
  help: 'Actions of the reconciler on turns without a sign of life',
  labelNames: ['action'],
  registers: [registry],
});

export const workerLeasesLost = new Counter({
  name: 'worker_lease_lost_total',
  help: 'How often the worker of this process was declared dead although it lives; it continues under a new lease',
  registers: [registry],
});

export const openStreams = new Gauge({
  name: 'event_streams_open',
  help: 'Event streams that this process serves',
  registers: [registry],
});

export const workflowCalls = new Counter({
  name: 'workflow_calls_total',
  help: 'Calls of this process to Temporal about turns, by outcome: ok, failed or the gRPC code of a failure that passes',
  labelNames: ['outcome'],
  registers: [registry],
});

const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600];
const LAG_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10];

export const turnsEnded = new Counter({
  name: 'turns_ended_total',
  help: 'Turns that this process ended, by terminal state and why (stop reason, failure type)',
  labelNames: ['state', 'reason'],
  registers: [registry],
});

export const actionsAnswered = new Counter({
  name: 'required_actions_closed_total',
  help: 'Calls that waited for an answer, by how they closed: allow, deny, result, expired',
  labelNames: ['answer'],
  registers: [registry],
});

export const turnQueueSeconds = new Histogram({
  name: 'turn_queue_seconds',
  help: 'From POST messages to the moment a worker begins the turn: to its first activity',
  buckets: SECONDS,
  registers: [registry],
});

export const turnFirstTokenSeconds = new Histogram({
  name: 'turn_first_token_seconds',
  help: 'From POST messages to the first token of the model',
  buckets: SECONDS,
  registers: [registry],
});

export const turnSeconds = new Histogram({
  name: 'turn_duration_seconds',
  help: 'From POST messages to the terminal event',
  labelNames: ['state'],
  buckets: SECONDS,
  registers: [registry],
});

export const cancelSeconds = new Histogram({
  name: 'turn_cancel_delay_seconds',
  help: 'From POST cancel of a running turn to its terminal event',
  buckets: [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 20, 30],
  registers: [registry],
});

export const modelCallSeconds = new Histogram({
  name: 'model_call_duration_seconds',
  help: 'One call of a model, from request to the end of its stream; outcome is ok, aborted or the failure type',
  labelNames: ['model', 'outcome'],
  buckets: SECONDS,
  registers: [registry],
});

export const modelTokens = new Counter({
  name: 'model_tokens_total',
  help: 'Tokens of model calls, failed ones included; input is what neither came from nor went to the cache',
  labelNames: ['model', 'kind'],
  registers: [registry],
});

export const modelRetries = new Counter({
  name: 'model_retries_total',
  help: 'Failed model calls that are tried again, by failure type; the others end their turn',
  labelNames: ['model', 'type'],
  registers: [registry],
});

export const toolCallSeconds = new Histogram({
  name: 'tool_call_duration_seconds',
  help: 'One tool call, built in or on an MCP server; outcome is ok, error (told to the model), timeout or aborted',
  labelNames: ['kind', 'outcome'],
  buckets: SECONDS,
  registers: [registry],
});

export const streamLagSeconds = new Histogram({
  name: 'event_stream_lag_seconds',
  help: 'From writing an event or a delta to handing its frame to the socket of a reader that was up to date',
  labelNames: ['kind'],
  buckets: LAG_SECONDS,
  registers: [registry],
});

export const notificationSeconds = new Histogram({
  name: 'notification_delay_seconds',
  help: 'From queueing a notification of turns in this process to the answer of Postgres, for the oldest of each statement',
  buckets: LAG_SECONDS,
  registers: [registry],
});

export const maintenanceItems = new Counter({
  name: 'maintenance_items_total',
  help: 'What the maintenance tasks removed, by task and kind of item',
  labelNames: ['task', 'item'],
  registers: [registry],
});

export const maintenanceRuns = new Counter({
  name: 'maintenance_runs_total',
  help: 'Steps of maintenance tasks, by task and outcome (done, more, failed)',
  labelNames: ['task', 'outcome'],
  registers: [registry],
});

const otherSources = new Set<() => Promise<string>>();

/** Adds Prometheus text from another source (the Temporal SDK) to this process' metrics. */
export function addMetricsSource(source: () => Promise<string>): void {
  otherSources.add(source);
}

/** All metrics as Prometheus text. A source that does not answer is left out. */
export async function metricsText(): Promise<string> {
  const texts = await Promise.all([registry.metrics(), ...[...otherSources].map((source) => source().catch(() => ''))]);
  return texts.join('\n');
}
