import {
  context,
  propagation,
  SpanKind,
  SpanStatusCode,
  trace,
  type Attributes,
  type Context,
  type Span,
} from '@opentelemetry/api';
import type { TracingSdk } from './tracing-sdk.js';

/** OpenTelemetry's own switch: traces are on where the standard variables name a receiver. */
export function tracingWanted(env: NodeJS.ProcessEnv): boolean {
  const receiver = env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT || env.OTEL_EXPORTER_OTLP_ENDPOINT;
  return Boolean(receiver) && env.OTEL_SDK_DISABLED !== 'true' && env.OTEL_TRACES_EXPORTER !== 'none';
}

let started: Promise<TracingSdk> | null = null;

/** Starts tracing where it is wanted, once per process; the SDK is not even loaded elsewhere. */
export async function startTracing(env: NodeJS.ProcessEnv): Promise<TracingSdk | null> {
  if (!tracingWanted(env)) return null;
  return (started ??= import('./tracing-sdk.js').then(({ startSdk }) => startSdk()));
}

/** Sends what is waiting and ends tracing; it may be started again. */
export async function stopTracing(): Promise<void> {
  const running = started;
  started = null;
  await (await running)?.stop();
}

/** Runs `work` as a span under the active one; a fault marks it as failed. Costs next to nothing while tracing is off. */
export async function traced<T>(
  name: string,
  attributes: Attributes,
  work: (span: Span) => Promise<T>,
  kind = SpanKind.CLIENT,
  parent: Context = context.active(),
): Promise<T> {
  const span = trace.getTracer('agent-session-service').startSpan(name, { kind, attributes }, parent);
  try {
    return await context.with(trace.setSpan(parent, span), () => work(span));
  } catch (error) {
    // Messages can hold content: the kind of the fault is enough.
    span.setStatus({ code: SpanStatusCode.ERROR, message: error instanceof Error ? error.name : 'error' });
    throw error;
  } finally {
    span.end();
  }
}

/** The active span as W3C's `traceparent`, for what goes on later or elsewhere; null while tracing is off. */
export function traceparent(): string | null {
  const carrier: { traceparent?: string } = {};
  propagation.inject(context.active(), carrier);
  return carrier.traceparent ?? null;
}

/** The context that carriers such as request headers or a stored `traceparent` continue. */
export function continued(carrier: Record<string, unknown>): Context {
  return propagation.extract(context.active(), carrier);
}

/** Runs `work` as part of the trace that `parent` names, where no span is active. */
export function within<T>(parent: string | null, work: () => T): T {
  if (parent === null || trace.getActiveSpan() !== undefined) return work();
  return context.with(continued({ traceparent: parent }), work);
}
