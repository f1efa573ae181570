import type { ModelErrorType, StopReason, UsageOverride } from './wire.js';
import { ModelFailure } from './wire.js';

/** What tests say a model answers: blocks, waits and faults, in the order in which they happen. */

/** A stop that a test opens: whoever streams waits there. */
export class Gate {
  /** Resolves when the model has arrived at the gate: everything before it has left the model. */
  readonly reached: Promise<void>;
  /** Lets everyone pass, now and later. */
  open!: () => void;
  /** @internal */
  arrive!: () => void;
  /** @internal */
  readonly opened: Promise<void>;

  constructor() {
    this.reached = new Promise((resolve) => (this.arrive = resolve));
    this.opened = new Promise((resolve) => (this.open = resolve));
  }
}

/** Waits for a gate, for any promise, or for milliseconds. */
export interface Wait {
  kind: 'wait';
  for: number | Gate | PromiseLike<unknown>;
}

/** What ends a message before its time. `raw` alone lets it go on. */
export type Fault =
  | { kind: 'cut' }
  | { kind: 'silence' }
  | { kind: 'raw'; bytes: string }
  | { kind: 'error'; type: ModelErrorType; message: string };

/** Something that happens before a chunk, or between blocks. */
export type Step = Wait | Fault;

/** How the content of a block is sent. */
export interface Pacing {
  /** Characters in a chunk. Default: words for text and thinking, 20 characters for the input of a tool. */
  chunk?: number;
  /** Milliseconds from chunk to chunk; 0 is one write for each. Default: everything in one write. */
  every?: number;
  /** What happens before the chunk of that number, from 0: `{3: wait(gate)}`, `{2: cut()}`. */
  before?: Record<number, Step>;
}

/** One block of an answer. `source` is taken chunk by chunk, as late as it is sent. */
export type Block =
  | { kind: 'text' | 'thinking'; source: string | Iterable<string>; pacing: Pacing }
  | { kind: 'redacted_thinking'; data: string }
  | { kind: 'tool_use'; id: string | undefined; name: string; source: string; pacing: Pacing };

export type Part = Block | Step;

export interface MessageReply {
  kind: 'message';
  parts: Part[];
  /** Default: `tool_use` when there is one, else `end_turn`. */
  stopReason?: StopReason;
  usage?: UsageOverride;
}

/** An answer that is no message: any status, headers and body. */
export interface HttpReply {
  kind: 'http';
  status: number;
  headers: Record<string, string>;
  body: string;
}

/** Everything a script may return. A string is a text; an array a message of these parts. */
export type Reply = string | Part | Part[] | MessageReply | HttpReply | ModelFailure;

/** A text block: `text('Hello there')`, `text(words(), {every: 20})` with a generator of chunks. */
export const text = (source: string | Iterable<string>, pacing: Pacing = {}): Block => ({
  kind: 'text',
  source,
  pacing,
});

/** A thinking block; the model signs it. */
export const thinking = (source: string | Iterable<string>, pacing: Pacing = {}): Block => ({
  kind: 'thinking',
  source,
  pacing,
});

/** A thinking block that nobody can read. */
export const redactedThinking = (): Block => ({
  kind: 'redacted_thinking',
  data: Buffer.from('redacted').toString('base64'),
});

/**
 * A tool call. Without `id` each reply gets a fresh one. A string as `input` is sent as it is, so that it can be
 * broken JSON.
 */
export const toolUse = (
  name: string,
  input: Record<string, unknown> | string = {},
  { id, ...pacing }: Pacing & { id?: string } = {},
): Block => ({
  kind: 'tool_use',
  id,
  name,
  source: typeof input === 'string' ? input : JSON.stringify(input),
  pacing,
});

/** Waits before what follows: `wait(gate)`, `wait(500)`, `wait(promise)`. */
export const wait = (what: Wait['for']): Wait => ({ kind: 'wait', for: what });

/** Cuts the connection here. */
export const cut = (): Fault => ({ kind: 'cut' });

/** Sends nothing more, but stays connected. */
export const silence = (): Fault => ({ kind: 'silence' });

/** Sends bytes that are no frame, then goes on. */
export const raw = (bytes: string): Fault => ({ kind: 'raw', bytes });

/** An `error` frame in the stream, after which it ends. */
export const streamError = (type: ModelErrorType, message = `Scripted ${type}`): Fault => ({
  kind: 'error',
  type,
  message,
});

/** A message with more than its parts: `message([text('cut o')], {stopReason: 'max_tokens'})`. */
export const message = (parts: Part | Part[], more: Omit<MessageReply, 'kind' | 'parts'> = {}): MessageReply => ({
  kind: 'message',
  parts: [parts].flat(),
  ...more,
});

/** An HTTP error in the API's envelope: `failure('rate_limit_error', {headers: {'retry-after': '2'}})`. */
export const failure = (
  type: ModelErrorType,
  { message = `Scripted ${type}`, headers = {} }: { message?: string; headers?: Record<string, string> } = {},
): ModelFailure => new ModelFailure(type, message, headers);

/** Any HTTP answer at all: `http(200, 'not json')`, `http(502, '<html>', {'content-type': 'text/html'})`. */
export const http = (
  status: number,
  body: string,
  headers: Record<string, string> = { 'content-type': 'application/json' },
): HttpReply => ({ kind: 'http', status, headers, body });

/** What a reply means as a message or an HTTP answer. */
export function normalise(reply: Reply): MessageReply | HttpReply | ModelFailure {
  if (typeof reply === 'string') return message(text(reply));
  if (reply instanceof ModelFailure || Array.isArray(reply)) return Array.isArray(reply) ? message(reply) : reply;
  return reply.kind === 'message' || reply.kind === 'http' ? reply : message(reply);
}
