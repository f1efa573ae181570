import { ApplicationFailure } from '@temporalio/common';
import { makeTelemetryFilterString, Runtime, type LogEntry, type RuntimeOptions } from '@temporalio/worker';
import { freePort } from '../src/platform/free-port.js';
import type { LogFields, Logger } from '../src/platform/logger.js';
import { addMetricsSource } from '../src/platform/metrics.js';
import { TURN_ENDED } from '../workflows/contract.js';

const LEVELS = { TRACE: 'trace', DEBUG: 'debug', INFO: 'info', WARN: 'warn', ERROR: 'error' } as const;
type Level = (typeof LEVELS)[keyof typeof LEVELS];
type Metadata = NonNullable<LogEntry['meta']>;
const SCRAPE_MS = 2000;
/** Lines that the SDK writes at each start, by design of our workers. */
const EXPECTED = new Set([
  'No workflows registered, not polling for workflow tasks',
  'No Nexus services registered, not polling for Nexus tasks',
  'Worker state changed',
]);
/** Failures by which an activity goes on in another attempt, or ends with its turn, as planned. They are no fault of this worker. */
const PLANNED_FAILURES = new Set(['HandedOver', 'ConcurrencyLimitReached', TURN_ENDED]);

/** More runs than the caches of a process' workers hold. */
const MAX_RUNS = 10_000;

let installed: Promise<void> | undefined;

/** Sends the Temporal SDK's log lines to our logger and its metrics to `/metrics`; once per process. */
export function installTemporalRuntime(log: Logger): Promise<void> {
  return (installed ??= install(log));
}

async function install(log: Logger): Promise<void> {
  const runs = new WorkflowsOfRuns();
  const write = (entry: Pick<LogEntry, 'level' | 'message'>, meta: Metadata = {}): void => {
    runs.note(meta);
    const level = levelOf(entry, meta.error);
    if (log.isLevelEnabled(level)) log[level](fieldsOf(meta, runs), entry.message);
  };
  const options: RuntimeOptions = {
    logger: {
      log: (level, message, meta) => write({ level, message }, meta),
      trace: (message, meta) => write({ level: 'TRACE', message }, meta),
      debug: (message, meta) => write({ level: 'DEBUG', message }, meta),
      info: (message, meta) => write({ level: 'INFO', message }, meta),
      warn: (message, meta) => write({ level: 'WARN', message }, meta),
      error: (message, meta) => write({ level: 'ERROR', message }, meta),
    },
    // We handle SIGTERM ourselves, to control the order of the shutdown.
    shutdownSignals: [],
  };
  // The SDK serves its metrics on a port only. We bind it to loopback, and /metrics reads it from there.
  const bindAddress = `127.0.0.1:${await freePort()}`;
  Runtime.install({
    ...options,
    telemetryOptions: {
      logging: { forward: {}, filter: makeTelemetryFilterString({ core: 'WARN' }) },
      metrics: {
        prometheus: { bindAddress, countersTotalSuffix: true, unitSuffix: true, useSecondsForDurations: true },
      },
    },
  });
  addMetricsSource(async () => {
    const response = await fetch(`http://${bindAddress}/metrics`, { signal: AbortSignal.timeout(SCRAPE_MS) });
    return response.text();
  });
}

/** Exported for its test. */
export function levelOf({ level, message }: Pick<LogEntry, 'level' | 'message'>, error: unknown): Level {
  if (EXPECTED.has(message)) return 'debug';
  return isPlanned(error) ? 'info' : LEVELS[level];
}

function isPlanned(error: unknown): error is ApplicationFailure {
  return error instanceof ApplicationFailure && PLANNED_FAILURES.has(error.type ?? '');
}

/** The SDK's line about a failed workflow task names its run alone; the lines about the run before have named its workflow. */
export class WorkflowsOfRuns {
  readonly #workflows = new Map<string, string>();

  note({ runId, workflowId }: Metadata): void {
    if (typeof runId !== 'string' || typeof workflowId !== 'string' || this.#workflows.has(runId)) return;
    this.#workflows.set(runId, workflowId);
    if (this.#workflows.size > MAX_RUNS) this.#workflows.delete(this.#workflows.keys().next().value!);
  }

  /** The workflow id of the run; undefined if it is not known. */
  of(runId: unknown): string | undefined {
    return this.#workflows.get(runId as string);
  }
}

/** The ids and small facts in the SDK's metadata, under our names: a turn's line is found by its `turn_id`. Exported for its test. */
export function fieldsOf(meta: Metadata, runs: WorkflowsOfRuns): LogFields {
  const { workflowId, runId, activityType, attempt, taskQueue, sdkComponent, failure } = meta;
  const workflow = (workflowId as string | undefined) ?? runs.of(runId);
  const error: unknown = meta.error ?? errorOf(failure);
  return {
    ...(workflow?.startsWith('turn_') === true ? { turn_id: workflow } : { workflow_id: workflow }),
    activity: activityType as string | undefined,
    attempt: attempt as number | undefined,
    task_queue: taskQueue as string | undefined,
    sdk_component: sdkComponent as string | undefined,
    ...(isPlanned(error) ? { outcome: error.type ?? undefined } : { err: error }),
  };
}

/** The SDK's core writes the failure of a workflow task as the text of a structure. Its details, which could hold content, stay out. */
function errorOf(failure: unknown): Error | undefined {
  if (typeof failure !== 'string') return undefined;
  const field = (name: string): string => {
    const [, text = ''] = new RegExp(`\\b${name}: "((?:[^"\\\\]|\\\\.)*)"`).exec(failure) ?? [];
    return text.replaceAll('\\n', '\n').replaceAll(/\\(.)/g, '$1');
  };
  const [, cause = 'Error'] = /force_cause: (\w+)/.exec(failure) ?? [];
  const error = new Error(field('message'));
  error.name = field('r#type') || cause;
  error.stack = field('stack_trace');
  return error;
}
