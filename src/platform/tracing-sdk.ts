import { context, propagation, trace } from '@opentelemetry/api';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { detectResourcesSync, envDetectorSync, Resource } from '@opentelemetry/resources';
import { BasicTracerProvider, BatchSpanProcessor, type SpanProcessor } from '@opentelemetry/sdk-trace-base';

export interface TracingSdk {
  processor: SpanProcessor;
  resource: Resource;
  stop(): Promise<void>;
}

/** The standard OTEL_* variables set exporter, sampler and resource. Spans are exported in batches. */
export function startSdk(): TracingSdk {
  const named = new Resource({ 'service.name': 'agent-session-service' });
  const resource = named.merge(detectResourcesSync({ detectors: [envDetectorSync] }));
  const processor = new BatchSpanProcessor(new OTLPTraceExporter());
  const provider = new BasicTracerProvider({ resource, spanProcessors: [processor] });
  provider.register({
    contextManager: new AsyncLocalStorageContextManager().enable(),
    // No baggage propagation, which is on by default: clients could write into Temporal's headers.
    propagator: new W3CTraceContextPropagator(),
  });
  return {
    processor,
    resource,
    async stop() {
      await provider.shutdown();
      trace.disable();
      context.disable();
      propagation.disable();
    },
  };
}
