import { createRequire } from 'node:module';
import type * as InterceptorsModule from '@temporalio/interceptors-opentelemetry';
import type { WorkflowClientInterceptor } from '@temporalio/client';
import { startTracing } from '../platform/tracing.js';

type Interceptors = typeof InterceptorsModule;

/** Temporal's OpenTelemetry interceptors for the client and the worker of a traced process. */
export interface TemporalTracing {
  client: WorkflowClientInterceptor[];
  sdk: NonNullable<Awaited<ReturnType<typeof startTracing>>>;
  interceptors: Interceptors;
}

let client: WorkflowClientInterceptor[] = [];

/** Starts tracing where it is wanted, and with it the interceptors that carry a trace through Temporal; else null. */
export async function traceTemporal(env: NodeJS.ProcessEnv): Promise<TemporalTracing | null> {
  const sdk = await startTracing(env);
  client = [];
  if (sdk === null) return null;
  // A CommonJS module: neither Node nor tsx detects its export names.
  const interceptors = createRequire(import.meta.url)('@temporalio/interceptors-opentelemetry') as Interceptors;
  client = [new interceptors.OpenTelemetryWorkflowClientInterceptor()];
  return { client, sdk, interceptors };
}

/** The client interceptors of this process; empty while tracing is off. */
export function clientInterceptors(): WorkflowClientInterceptor[] {
  return client;
}
