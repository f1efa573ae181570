import {
  context,
  propagation,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
  type Attributes,
  type Context,
  type Span,
} from '@opentelemetry/api';
import type { TracingSdk } from './tracing-sdk.js';

/** Tracing is on if OpenTelemetry's standard variables name an endpoint. */
export function isTracingConfigured(env: NodeJS.ProcessEnv): boolean {
  const receiver = env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT || env.OTEL_EXPORTER_OTLP_ENDPOINT;
  return Boolean(receiver) && env.OTEL_SDK_DISABLED !== 'true' && env.OTEL_TRACES_EXPORTER !== 'none';
}

let started: Promise<TracingSdk> | null = null;

/** Starts tracing once per process, if it is configured. Otherwise the SDK is not even loaded. */
export async function startTracing(env: NodeJS.ProcessEnv): Promise<TracingSdk | null> {
  if (!isTracingConfigured(env)) return null;
  return (started ??= import('./tracing-sdk.js').then(({ startSdk }) => startSdk()));
}

export function isTracing(): boolean {
  return started !== null;
}

/** Exports the remaining spans and stops tracing. It can be started again. */
export async function stopTracing(): Promise<void> {
  const running = started;
  started = null;
  await (await running)?.stop();
}

/**
 * Runs `work` in a child span of the active one. An error marks the span as failed. Costs almost nothing while tracing
 * is off.
 */
export async function withSpan<T>(
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
    // Error messages can contain user content: record only the kind of error.
    span.setStatus({ code: SpanStatusCode.ERROR, message: error instanceof Error ? error.name : 'error' });
    throw error;
  } finally {
    span.end();
  }
}

/**
 * Records a span of the past, in ms since 1970. It continues the trace of `trace`, a `traceparent`, or begins one. An
 * attribute `error.type` marks it as failed. Times are dates: OpenTelemetry takes a number from before the process' start
 * for a duration.
 */
export function recordSpan(
  name: string,
  attributes: Attributes,
  { started, ended, trace: parent }: { started: number; ended: number; trace: string | null },
): void {
  const context = parent === null ? ROOT_CONTEXT : propagation.extract(ROOT_CONTEXT, { traceparent: parent });
  const options = { kind: SpanKind.INTERNAL, attributes, startTime: new Date(started) };
  const span = trace.getTracer('agent-session-service').startSpan(name, options, context);
  if (attributes['error.type'] !== undefined) span.setStatus({ code: SpanStatusCode.ERROR });
  span.end(new Date(ended));
}

/**
 * The active span as a W3C `traceparent`, to continue the trace later or in another process; null while tracing is off.
 */
export function traceparent(): string | null {
  const carrier: { traceparent?: string } = {};
  propagation.inject(context.active(), carrier);
  return carrier.traceparent ?? null;
}

export function extractTrace(carrier: Record<string, unknown>): Context {
  return propagation.extract(context.active(), carrier);
}

/** Runs `work` in the trace of `parent`, when no span is active. */
export function withTrace<T>(parent: string | null, work: () => T): T {
  if (parent === null || trace.getActiveSpan() !== undefined) return work();
  return context.with(extractTrace({ traceparent: parent }), work);
}
