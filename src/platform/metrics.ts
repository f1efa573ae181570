import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';

export const registry = new Registry();
collectDefaultMetrics({ register: registry });

interface MetricOptions<Label extends string> {
  labels?: Label[];
}

export function counter<Label extends string = never>(name: string, help: string, options: MetricOptions<Label> = {}) {
  return new Counter({ name, help, labelNames: options.labels ?? [], registers: [registry] });
}

function gauge(name: string, help: string) {
  return new Gauge({ name, help, registers: [registry] });
}

/** @param options `buckets` in seconds */
export function histogram<Label extends string = never>(
  name: string,
  help: string,
  { labels = [], buckets }: MetricOptions<Label> & { buckets: number[] },
) {
  return new Histogram({ name, help, labelNames: labels, buckets, registers: [registry] });
}

const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600];
const LAG_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10];

export const httpRequestSeconds = histogram(
  'http_request_duration_seconds',
  'Time from request to the end of its response, by route pattern; without streams, which last as long as their turn',
  {
    labels: ['method', 'route', 'status'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60],
  },
);
export const requestsRefused = counter(
  'requests_refused_total',
  'Requests answered with 429 or 503, by status and reason: the limit that refused them, or the part that is away',
  { labels: ['status', 'reason'] },
);
export const reconcileActions = counter(
  'reconcile_actions_total',
  'Repairs of turns that made no progress, by action',
  { labels: ['action'] },
);
// Prometheus sees no increase in a series that begins at one, so this one exists from the start.
reconcileActions.inc({ action: 'worker_taken_over' }, 0);
export const openStreams = gauge('event_streams_open', 'Event streams that this process serves');
export const workflowCalls = counter(
  'workflow_calls_total',
  'Calls of this process to Temporal about turns, by outcome: ok, failed, or the gRPC code of a temporary failure',
  { labels: ['outcome'] },
);

export const auditEntries = counter(
  'audit_entries_total',
  'Entries that this process wrote to the audit log, by outcome: ok, or refused (403)',
  { labels: ['outcome'] },
);

export const turnsEnded = counter(
  'turns_ended_total',
  'Turns that this process ended, by terminal state and reason (stop reason or failure type)',
  { labels: ['state', 'reason'] },
);
export const actionsAnswered = counter(
  'required_actions_closed_total',
  'Calls and questions that waited for an answer, by how they closed: allow, deny, result, accept, decline, cancel, authorized, expired',
  { labels: ['answer'] },
);
export const taskPolls = counter(
  'mcp_task_polls_total',
  'Questions about tasks of MCP servers, by what came of them: open, ended, unknown, away, overdue',
  { labels: ['outcome'] },
);
export const turnQueueSeconds = histogram(
  'turn_queue_seconds',
  'From POST messages to the first activity of the turn',
  { buckets: SECONDS },
);
export const turnBetweenStepsSeconds = histogram(
  'turn_between_steps_seconds',
  'Time of a turn that is neither queue, connecting, model, tools nor waiting for answers',
  { buckets: SECONDS },
);
export const turnFirstTokenSeconds = histogram(
  'turn_first_token_seconds',
  'From POST messages to the first token of the model',
  { buckets: SECONDS },
);
export const turnSeconds = histogram('turn_duration_seconds', 'From POST messages to the terminal event', {
  labels: ['state'],
  buckets: SECONDS,
});
export const cancelSeconds = histogram(
  'turn_cancel_delay_seconds',
  'From POST cancel of a running turn to its terminal event',
  { buckets: [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 20, 30] },
);
export const modelCallSeconds = histogram(
  'model_call_duration_seconds',
  'One call of a model, from request to the end of its stream; outcome is ok, aborted or the failure type',
  { labels: ['model', 'outcome'], buckets: SECONDS },
);
export const modelTokens = counter(
  'model_tokens_total',
  'Tokens of model calls, failed ones included; input counts tokens neither read from nor written to the cache',
  { labels: ['model', 'kind'] },
);
export const modelCost = counter(
  'model_cost_total',
  'What model calls cost, failed ones included, by model; a floating-point number, for trends and alerts',
  { labels: ['model', 'currency'] },
);
export const modelRetries = counter(
  'model_retries_total',
  'Failed model calls that are retried, by failure type; the others end their turn',
  { labels: ['model', 'type'] },
);
export const toolCallSeconds = histogram(
  'tool_call_duration_seconds',
  'One tool call, by kind of tool; outcome is ok, error (returned to the model), timeout, aborted, or what the call waits for: task, authorization',
  { labels: ['kind', 'outcome'], buckets: SECONDS },
);
export const delegations = counter(
  'delegations_total',
  'Turns that calls of agents have begun, by how they ended: completed, cancelled, failed; refused: calls that began none',
  { labels: ['outcome'] },
);
export const memoryCommands = counter(
  'memory_commands_total',
  'Commands of the tool memory whose result is stored, by command and outcome: ok, error (returned to the model)',
  { labels: ['command', 'outcome'] },
);
export const workspaceCommands = counter(
  'workspace_commands_total',
  'Calls of bash, read, write and edit that ran, by tool and outcome: ok, error, timeout, memory, disk',
  { labels: ['tool', 'outcome'] },
);
export const workspaceCommandSeconds = histogram(
  'workspace_command_seconds',
  'How long such a call ran in its sandbox',
  { labels: ['tool'], buckets: SECONDS },
);
export const workspaceOpenSeconds = histogram(
  'workspace_open_seconds',
  'How long a call waited for its sandbox: for its turn, and for its files',
  { buckets: SECONDS },
);
export const workspaceCommitSeconds = histogram(
  'workspace_commit_seconds',
  'How long it took to read the tree after such a call and to store what had changed',
  { buckets: SECONDS },
);
export const workspaceCommitBytes = counter(
  'workspace_commit_bytes_total',
  'Bytes of contents that versions of workspaces have stored',
);
export const workspaceStopped = counter(
  'workspace_stopped_total',
  'Commands that were stopped at a limit, by reason: timeout, memory, disk',
  { labels: ['reason'] },
);
export const workspaceReruns = counter(
  'workspace_reruns_total',
  'Calls in workspaces that ran again, because the worker of an earlier attempt was lost',
);
export const workspaceCallsWaiting = gauge(
  'workspace_calls_waiting',
  'Calls in workspaces that wait in this process: SANDBOX_MAX_COMMANDS run, or the quota of pods has no room',
);
export const workspaceCacheBytes = gauge(
  'workspace_cache_bytes',
  'Bytes on the disk of this worker that the next commands may use: trees, skills and uploads',
);
export const workspaceSandboxDown = gauge(
  'workspace_sandbox_down',
  '1 while SANDBOX_PROVIDER of this worker is set and no sandbox can be started',
);
export const streamLagSeconds = histogram(
  'event_stream_lag_seconds',
  'From storing an event or a delta to writing its frame to the socket, for readers that were up to date',
  { labels: ['kind'], buckets: LAG_SECONDS },
);
export const notificationSeconds = histogram(
  'notification_delay_seconds',
  'From queueing a notification in this process to the response of Postgres, for the oldest one in each statement',
  { buckets: LAG_SECONDS },
);
export const maintenanceItems = counter(
  'maintenance_items_total',
  'Items that maintenance tasks removed or summed up, by task and kind of item',
  { labels: ['task', 'item'] },
);
export const maintenanceRuns = counter(
  'maintenance_runs_total',
  'Steps of maintenance tasks, by task and outcome (done, more, failed)',
  { labels: ['task', 'outcome'] },
);

export const maintenanceLastEnd = new Gauge({
  name: 'maintenance_last_end_seconds',
  help: 'When this process last ended a step of a maintenance task, in seconds since 1970, by task and outcome (ok, failed)',
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
