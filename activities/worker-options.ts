import { fileURLToPath } from 'node:url';
import { Worker, type NativeConnection, type WorkerDeploymentOptions, type WorkerOptions } from '@temporalio/worker';
import type { Config } from '../src/platform/config.js';
import { temporalSettings } from '../src/temporal/connection.js';
import type { TemporalTracing } from '../src/temporal/tracing.js';
import type { ActivitySlots } from './activity-slots.js';
import { MAINTENANCE_WORKFLOW, WEBHOOK_DELIVERY_WORKFLOW } from '../workflows/contract.js';

/** `npm run build` writes it to dist. Tests run the sources but use the same bundle. */
const BUNDLES = new URL(import.meta.url.endsWith('.ts') ? '../dist/' : '../', import.meta.url);
/** A dead worker's sticky queue delays a workflow's next task, such as a cancel, for this long. */
const STICKY_TIMEOUT = '2 s';
/** How soon an activity learns from Temporal that its workflow was cancelled or terminated. Each heartbeat is billed. */
const HEARTBEAT_THROTTLE_MS = 6000;
/** Added to the grace period. Activities that ignore their abort after it are abandoned. */
const FORCE_MS = 3000;

/**
 * Workflow tasks take milliseconds. The worker fetches more than it runs at once, so that under load they wait here in
 * order: the server gives new tasks to a free worker before older ones (docs/operations/turns.md "Isolation").
 */
const WORKFLOW_TASKS = 100;

/** Options that all workers share. */
export function sharedOptions(
  config: Config,
  {
    connection,
    identity,
    tracing,
  }: { connection: NativeConnection; identity: string; tracing: TemporalTracing | null },
) {
  const graceMs = config.shutdownGraceSeconds * 1000;
  return {
    connection,
    namespace: temporalSettings().namespace,
    ...workflowOptions(tracing),
    // A nondeterminism error fails these workflows at once: they start again from their rows. A turn's workflow keeps
    // trying: another worker may have the code that it needs (docs/operations/workflow-changes.md).
    workflowFailureErrorTypes: {
      '*': [],
      [WEBHOOK_DELIVERY_WORKFLOW]: ['NondeterminismError'],
      [MAINTENANCE_WORKFLOW]: ['NondeterminismError'],
    },
    identity,
    maxHeartbeatThrottleInterval: HEARTBEAT_THROTTLE_MS,
    defaultHeartbeatThrottleInterval: HEARTBEAT_THROTTLE_MS,
    stickyQueueScheduleToStartTimeout: STICKY_TIMEOUT,
    shutdownGraceTime: graceMs,
    shutdownForceTime: graceMs + FORCE_MS,
    ...versioned(config),
  } satisfies Partial<WorkerOptions>;
}

export function createTurnWorker(
  shared: ReturnType<typeof sharedOptions>,
  config: Config,
  activities: object,
  activitySlots: ActivitySlots,
): Promise<Worker> {
  return Worker.create({
    ...shared,
    taskQueue: config.taskQueue,
    activities,
    tuner: {
      // More than one project can use (`max_running_turns`, concurrency limit for tools), so other projects find a slot.
      activityTaskSlotSupplier: activitySlots,
      workflowTaskSlotSupplier: { type: 'fixed-size', numSlots: WORKFLOW_TASKS },
      localActivityTaskSlotSupplier: { type: 'fixed-size', numSlots: WORKFLOW_TASKS },
      nexusTaskSlotSupplier: { type: 'fixed-size', numSlots: 1 },
    },
    // Each takes half a MiB. A turn that waits for an answer need not stay in memory: its history brings it back.
    maxCachedWorkflows: Math.max(WORKFLOW_TASKS, config.workerMaxActivities),
  });
}

/** The next task of each workflow goes to the current build, which can replay the histories of older ones (test/histories). */
function versioned({ workerDeployment }: Config): { workerDeploymentOptions?: WorkerDeploymentOptions } {
  if (workerDeployment === null) return {};
  const { name, buildId } = workerDeployment;
  const version = { deploymentName: name, buildId };
  return {
    workerDeploymentOptions: { version, useWorkerVersioning: true, defaultVersioningBehavior: 'AUTO_UPGRADE' },
  };
}

function workflowOptions(tracing: TemporalTracing | null): Partial<WorkerOptions> {
  const bundle = (name: string) => ({ codePath: fileURLToPath(new URL(name, BUNDLES)) });
  if (tracing === null) return { workflowBundle: bundle('workflow-bundle.js') };
  const { sdk, interceptors } = tracing;
  const Inbound = interceptors.OpenTelemetryActivityInboundInterceptor;
  return {
    workflowBundle: bundle('workflow-bundle-traced.js'),
    interceptors: { activity: [(context) => ({ inbound: new Inbound(context) })] },
    sinks: { exporter: interceptors.makeWorkflowExporter(sdk.processor, sdk.resource) } as never,
  };
}
