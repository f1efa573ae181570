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

/** Exporter, sampler and resource follow the standard OTEL_* variables; spans leave in batches. */
export function startSdk(): TracingSdk {
  const named = new Resource({ 'service.name': 'agent-session-service' });
  const resource = named.merge(detectResourcesSync({ detectors: [envDetectorSync] }));
  const processor = new BatchSpanProcessor(new OTLPTraceExporter());
  const provider = new BasicTracerProvider({ resource, spanProcessors: [processor] });
  provider.register({
    contextManager: new AsyncLocalStorageContextManager().enable(),
    // Without baggage, which the default carries on: clients would write into Temporal's headers.
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
