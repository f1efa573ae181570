import { parseExact } from '../../src/platform/exact-json.js';
import { isJsonObject, type JsonObject } from '../../src/platform/json-object.js';
import { ModelStreamError } from './failures.js';
import { refusalReason } from './refusal.js';

/** An event of the Messages API's stream. Only its type is checked. */
export type ModelEvent = { type: string } & Record<string, unknown>;

/**
 * Parses the bytes of an answer, chunk by chunk. Gateways may send the whole message as JSON, or an error with status
 * 200. The first character shows it; their content types do not.
 */
export class ModelEventReader {
  // Drops a byte order mark.
  readonly #decoder = new TextDecoder();
  #form: 'unknown' | 'events' | 'json' = 'unknown';
  /** What was received after the last end of a line. */
  #pieces: string[] = [];
  #endedWithReturn = false;
  #event = '';
  #data: string[] = [];

  /** @throws ModelStreamError */
  push(chunk: Uint8Array): ModelEvent[] {
    return this.#feed(this.#decoder.decode(chunk, { stream: true }));
  }

  /**
   * Returns the last event: a server may leave out the empty line after it.
   * @throws ModelStreamError
   */
  end(): ModelEvent[] {
    const events = this.#feed(this.#decoder.decode());
    return this.#form === 'json' ? eventsOfJson(this.#pieces.join('')) : [...events, ...this.#feed('\n\n')];
  }

  #feed(text: string): ModelEvent[] {
    if (this.#form === 'unknown') this.#form = formOf(text);
    if (this.#form === 'json') this.#pieces.push(text);
    return this.#form === 'events' ? this.#takeLines(this.#withNewlines(text)) : [];
  }

  /** Replaces the other line ends of the format, which may be split between two chunks. */
  #withNewlines(text: string): string {
    const rest = this.#endedWithReturn && text.startsWith('\n') ? text.slice(1) : text;
    if (text !== '') this.#endedWithReturn = text.endsWith('\r');
    return rest.includes('\r') ? rest.replaceAll(/\r\n?/g, '\n') : rest;
  }

  #takeLines(text: string): ModelEvent[] {
    this.#pieces.push(text);
    if (!text.includes('\n')) return [];
    const lines = this.#pieces.join('').split('\n');
    this.#pieces = [lines.pop()!];
    const events: ModelEvent[] = [];
    for (const line of lines) {
      if (line.startsWith('data:')) this.#data.push(line.slice(line[5] === ' ' ? 6 : 5));
      else if (line.startsWith('event:')) this.#event = line.slice(6).trim();
      else if (line === '') events.push(...this.#takeFrame());
    }
    return events;
  }

  #takeFrame(): ModelEvent[] {
    const data = this.#data.length === 1 ? this.#data[0]! : this.#data.join('\n');
    const events = data === '' ? [] : eventsOf(this.#event, data);
    this.#event = '';
    if (data !== '') this.#data = [];
    return events;
  }
}

function formOf(text: string): 'unknown' | 'events' | 'json' {
  const first = text.trimStart()[0];
  if (first === '<') {
    throw new ModelStreamError('The model’s server answered with a web page instead of an event stream.');
  }
  if (first === undefined) return 'unknown';
  return first === '{' || first === '[' ? 'json' : 'events';
}

/** The event of a frame, if it has one. The name of a frame may be missing: the data has it, too. */
function eventsOf(name: string, data: string): ModelEvent[] {
  if (data === '[DONE]' || name === 'ping') return [];
  const value = parse(data);
  if (name === 'error') return [errorOf(value ?? data)];
  if (!isJsonObject(value)) throw new ModelStreamError('The model’s answer is not valid.');
  if (isError(value)) return [errorOf(value)];
  const type = value.type ?? name;
  return typeof type === 'string' ? [{ ...value, type }] : [];
}

/** The forms in which servers report an error inside a stream. */
function isError({ type, object, error }: JsonObject): boolean {
  return (
    type === 'error' ||
    object === 'error' ||
    typeof error === 'string' ||
    (typeof type !== 'string' && isJsonObject(error))
  );
}

/** The events that a message would have had as a stream. */
function eventsOfJson(text: string): ModelEvent[] {
  const message = parse(text);
  if (!isJsonObject(message) || !Array.isArray(message.content)) {
    if (refusalReason(message) !== '') return [errorOf(message)];
    throw new ModelStreamError('The model’s server answered with JSON that is not a message of the Messages API.');
  }
  const { content, stop_reason, usage } = message;
  return [
    { type: 'message_start', message },
    ...content.flatMap((content_block: unknown, index): ModelEvent[] => [
      { type: 'content_block_start', index, content_block },
      { type: 'content_block_stop', index },
    ]),
    { type: 'message_delta', delta: { stop_reason }, usage },
    { type: 'message_stop' },
  ];
}

function errorOf(body: unknown): ModelEvent {
  return { type: 'error', body };
}

function parse(text: string): unknown {
  try {
    return parseExact(text);
  } catch {
    return undefined;
  }
}
