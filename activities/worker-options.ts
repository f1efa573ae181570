import { fileURLToPath } from 'node:url';
import type { NativeConnection, WorkerDeploymentOptions, WorkerOptions } from '@temporalio/worker';
import type { Config } from '../src/platform/config.js';
import { temporalSettings } from '../src/temporal/connection.js';
import type { TemporalTracing } from '../src/temporal/tracing.js';

/** `npm run build` writes it to dist; the tests run these sources and use the same one. */
const BUNDLES = new URL(import.meta.url.endsWith('.ts') ? '../dist/' : '../', import.meta.url);
/** After a dead worker its sticky queue holds a workflow's next task back that long: a cancel would wait for it. */
const STICKY_TIMEOUT = '2 s';
/** How soon an activity hears from Temporal that its workflow was cancelled or terminated. Each sent heartbeat is billed. */
const HEARTBEAT_THROTTLE_MS = 6000;
/** Beyond the grace: what ignores its abort is left behind. */
const FORCE_MS = 3000;

/**
 * Workflow tasks take milliseconds. The worker takes more than it runs at once, so that under load they wait here in
 * their order: a server gives new tasks to a free worker before those that wait (docs/operations/turns.md "Isolation").
 */
export const WORKFLOW_TASKS = 100;

/** What the workers of turns and of deliveries have in common. */
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
    // Code that cannot go on with a history fails the workflow at once: the reconciler ends the turn, or sends the
    // delivery with a new workflow.
    workflowFailureErrorTypes: { '*': ['NondeterminismError'] },
    identity,
    maxHeartbeatThrottleInterval: HEARTBEAT_THROTTLE_MS,
    defaultHeartbeatThrottleInterval: HEARTBEAT_THROTTLE_MS,
    stickyQueueScheduleToStartTimeout: STICKY_TIMEOUT,
    shutdownGraceTime: graceMs,
    shutdownForceTime: graceMs + FORCE_MS,
  } satisfies Partial<WorkerOptions>;
}

/**
 * A turn is pinned to the build that began it: it is short, and its workers are kept until it is over. A delivery lasts
 * for days: it goes on with the build that replaces the one it began with.
 */
export function versioned(
  { workerDeployment }: Config,
  defaultVersioningBehavior: 'PINNED' | 'AUTO_UPGRADE',
): { workerDeploymentOptions?: WorkerDeploymentOptions } {
  if (workerDeployment === null) return {};
  const { name, buildId } = workerDeployment;
  const version = { deploymentName: name, buildId };
  return { workerDeploymentOptions: { version, useWorkerVersioning: true, defaultVersioningBehavior } };
}

/** A traced worker runs the bundle that has Temporal's tracing in it; what workflows do is the same. */
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
