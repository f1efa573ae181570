import { createServer } from 'node:http';
import protobuf from 'protobufjs';
import { closeServer, listen } from './listen.js';

/** The part of OTLP's trace export that a tree needs. */
const SCHEMA = `syntax = "proto3";
message Export { repeated ResourceSpans resource_spans = 1; }
message ResourceSpans { repeated ScopeSpans scope_spans = 2; }
message ScopeSpans { repeated Span spans = 2; }
message Span { bytes trace_id = 1; bytes span_id = 2; bytes parent_span_id = 4; string name = 5;
  fixed64 start_time_unix_nano = 7; fixed64 end_time_unix_nano = 8; repeated KeyValue attributes = 9; }
message KeyValue { string key = 1; AnyValue value = 2; }
message AnyValue { oneof value { string string_value = 1; bool bool_value = 2; int64 int_value = 3;
  double double_value = 4; ArrayValue array_value = 5; } }
message ArrayValue { repeated AnyValue values = 1; }`;

export interface ReceivedSpan {
  traceId: string;
  spanId: string;
  parentId: string;
  name: string;
  ms: number;
  start: number;
  attributes: Record<string, unknown>;
}

/** A receiver of traces over OTLP/HTTP, as a collector is one. */
export interface OtlpReceiver {
  url: string;
  spans: ReceivedSpan[];
  /** The trace as indented lines. */
  tree(traceId: string): string;
  close(): Promise<void>;
}

export async function startOtlpReceiver(): Promise<OtlpReceiver> {
  const message = protobuf.parse(SCHEMA).root.lookupType('Export');
  const spans: ReceivedSpan[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const decoded = message.toObject(message.decode(Buffer.concat(chunks)), { bytes: Buffer, longs: Number });
      for (const resource of decoded.resourceSpans ?? []) {
        for (const scope of resource.scopeSpans ?? []) spans.push(...(scope.spans ?? []).map(spanOf));
      }
      response.writeHead(200, { 'content-type': 'application/x-protobuf' }).end();
    });
  });
  const { url } = await listen(server);

  const lines = (parent: ReceivedSpan, depth: number): string[] => [
    `${'  '.repeat(depth)}${parent.name} (${parent.ms.toFixed(0)} ms)`,
    ...spans
      .filter(({ parentId, traceId }) => parentId === parent.spanId && traceId === parent.traceId)
      .sort((a, b) => a.start - b.start)
      .flatMap((child) => lines(child, depth + 1)),
  ];
  return {
    url,
    spans,
    tree(traceId) {
      const known = new Set(spans.map(({ spanId }) => spanId));
      const roots = spans.filter((span) => span.traceId === traceId && !known.has(span.parentId));
      return roots.flatMap((root) => lines(root, 0)).join('\n');
    },
    close: () => closeServer(server),
  };
}

function spanOf(span: Record<string, never>): ReceivedSpan {
  const { traceId, spanId, parentSpanId, name, startTimeUnixNano, endTimeUnixNano } = span as Record<string, unknown>;
  const attributes = (span.attributes ?? []) as { key: string; value: AnyValue }[];
  const hex = (bytes: unknown): string => (bytes === undefined ? '' : (bytes as Buffer).toString('hex'));
  return {
    traceId: hex(traceId),
    spanId: hex(spanId),
    parentId: hex(parentSpanId),
    name: String(name),
    start: Number(startTimeUnixNano),
    attributes: Object.fromEntries(attributes.map(({ key, value }) => [key, valueOf(value)])),
    ms: (Number(endTimeUnixNano) - Number(startTimeUnixNano)) / 1e6,
  };
}

interface AnyValue {
  stringValue?: string;
  boolValue?: boolean;
  intValue?: number;
  doubleValue?: number;
  arrayValue?: { values?: AnyValue[] };
}

function valueOf(value: AnyValue): unknown {
  const { stringValue, boolValue, intValue, doubleValue, arrayValue } = value;
  return arrayValue?.values?.map(valueOf) ?? stringValue ?? boolValue ?? intValue ?? doubleValue;
}
