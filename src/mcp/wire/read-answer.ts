import { ResponseTooLargeError } from '../../network/bounded-body.js';
import type { McpRequest, OnStreamEnd } from '../mcp-request.js';
import { AnswerBody, LARGE_BYTES, LARGE_VALUES } from './answer-body.js';
import { MAX_UNASKED_BYTES, MAX_UNASKED_VALUES, type AnswerLimits } from './answer-limits.js';
import { AnswerRefusedError, McpProtocolError } from './errors.js';
import { JsonScan } from '../../platform/json-scan.js';
import type { Pacer } from './pacer.js';
import { ofRequest, sdkMessage, type FindRequest } from './sdk-message.js';
import { SseEvents, type EventLimits, type SseEvent } from './sse-events.js';

const IS_ARRAY =
  'its answer is a JSON array (a batch), which MCP has removed: it has to answer each request with one message';
/** Work that costs as much as a ping: values that the SDK checks, values that are parsed and dropped, bytes. */
const CHECKED_PER_PING = 20;
const PARSED_PER_PING = 100;
const BYTES_PER_PING = 16 * 1024;

/** Reads a JSON answer and returns what the SDK gets instead. @throws AnswerRefusedError, SyntaxError */
export async function readJsonAnswer(response: Response, request: McpRequest): Promise<Response> {
  const { limits, onLarge } = request;
  const body = new AnswerBody(response.body!, onLarge, declaredLength(response) ?? limits.bytes);
  const scan = new JsonScan();
  const decoder = new TextDecoder();
  const pieces: string[] = [];
  const size = { bytes: 0, values: 0 };
  try {
    for (let piece = await body.read(); piece !== undefined; piece = await body.read()) {
      scan.feed(piece);
      if (scan.isArray) throw new AnswerRefusedError(IS_ARRAY);
      size.bytes += piece.length;
      size.values = scan.values;
      if (size.values > limits.values) throw new AnswerRefusedError(limits.tooMany);
      pieces.push(decoder.decode(piece, { stream: true }));
      await body.weigh(size);
    }
  } catch (error) {
    await body.cancel(error);
    throw error;
  }
  const { text } = sdkMessage(pieces.join('') + decoder.decode(), size, ofRequest(request));
  if (text === null) throw new McpProtocolError('it sent another message than the answer');
  return new Response(text, { status: response.status, headers: headersOf(response, 'application/json') });
}

interface StreamOptions {
  /** Undefined for a stream of the server's own messages. */
  request: McpRequest | undefined;
  /** The open requests of the connection, by id: servers also send answers on their own stream. */
  open: ReadonlyMap<number, McpRequest>;
  pacer: Pacer;
  onEnd: OnStreamEnd;
}

/** Reads an event stream and returns what the SDK gets instead. */
export function readEventStream(response: Response, options: StreamOptions): Response {
  const { request, onEnd } = options;
  const body = new AnswerBody(response.body!, request?.onLarge, request?.limits.bytes ?? MAX_UNASKED_BYTES);
  const frames = framesOf(body, options);
  const encoder = new TextEncoder();
  const stream = new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const next = await frames.next();
        if (next.done !== true) return controller.enqueue(encoder.encode(next.value));
        controller.close();
        onEnd(false);
      } catch (error) {
        if (error instanceof AnswerRefusedError || error instanceof ResponseTooLargeError) request?.fail(error);
        controller.error(error);
        await body.cancel(error);
        onEnd(true);
      }
    },
    async cancel(reason) {
      onEnd(true);
      await body.cancel(reason);
    },
  });
  return new Response(stream, { status: response.status, headers: headersOf(response, 'text/event-stream') });
}

async function* framesOf(body: AnswerBody, { request, open, pacer }: StreamOptions): AsyncGenerator<string, void> {
  const events = new SseEvents(request === undefined ? ownStreamLimits(open) : eventLimits(request.limits));
  const find = request === undefined ? (id: number | null) => open.get(id ?? NaN) : ofRequest(request);
  for (let piece = await body.read(); piece !== undefined; piece = await body.read()) {
    for (const event of events.feed(piece)) {
      await body.weigh(event);
      const { frame, isAnswer } = frameOf(event, find);
      if (frame !== '') yield frame;
      if (!isAnswer) await pacer.charge(costOf(event, frame !== ''));
    }
    await body.weigh(events.pending);
  }
}

/** The cost of an event that is not the answer, in pings. */
function costOf({ values, bytes }: SseEvent, isPassedOn: boolean): number {
  return 1 + values / (isPassedOn ? CHECKED_PER_PING : PARSED_PER_PING) + bytes / BYTES_PER_PING;
}

/** Events on the server's own stream are dropped when they are too large. Only while a request is open it may be its answer. */
function ownStreamLimits(open: ReadonlyMap<number, McpRequest>): EventLimits {
  return {
    get bytes() {
      return open.size > 0 ? LARGE_BYTES : MAX_UNASKED_BYTES;
    },
    get values() {
      return open.size > 0 ? LARGE_VALUES : MAX_UNASKED_VALUES;
    },
    onExceeded: () => undefined,
  };
}

function eventLimits(limits: AnswerLimits): EventLimits {
  return {
    bytes: limits.bytes,
    values: limits.values,
    onExceeded: (isArray) => {
      throw new AnswerRefusedError(isArray ? IS_ARRAY : limits.tooMany);
    },
  };
}

function frameOf(event: SseEvent, find: FindRequest): { frame: string; isAnswer: boolean } {
  const { id, retry } = event;
  const { text, isAnswer } = messageOf(event, find);
  const lines = [
    ...(/^\d{1,9}$/.test(retry) ? [`retry: ${retry}`] : []),
    ...(id === '' || id.includes('\0') ? [] : [`id: ${id}`]),
    ...(text === null ? [] : [`data: ${text}`]),
  ];
  if (lines.length === 0) return { frame: '', isAnswer };
  // The SDK takes note of an id only with data.
  return { frame: `${lines.join('\n')}\n${text === null ? 'data:\n' : ''}\n`, isAnswer };
}

function messageOf(event: SseEvent, find: FindRequest): ReturnType<typeof sdkMessage> {
  const { data, event: name } = event;
  if (data === null || data === '' || (name !== '' && name !== 'message')) return { text: null, isAnswer: false };
  try {
    const { text, isAnswer } = sdkMessage(data, event, find);
    return { text: text === null ? null : text.replaceAll('\n', ' '), isAnswer };
  } catch (error) {
    if (error instanceof AnswerRefusedError) throw error;
    return { text: null, isAnswer: false };
  }
}

function declaredLength({ headers }: Response): number | null {
  const length = headers.get('content-length');
  return length === null || headers.has('content-encoding') ? null : Number(length);
}

function headersOf({ headers }: Response, contentType: string): Headers {
  const kept = new Headers({ 'content-type': contentType });
  const session = headers.get('mcp-session-id');
  if (session !== null) kept.set('mcp-session-id', session);
  return kept;
}
