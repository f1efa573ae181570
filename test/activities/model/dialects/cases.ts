import { BLOCK_CASES } from './block-cases.js';
import { fails, used, type DialectCase } from './outcomes.js';
import { begin, end, END, frame, hello, json, reason, startTool, stop, startText, text, thinking } from './frames.js';

const HELLO = { type: 'text', text: 'Hello' };
const LOOK = { type: 'tool_use', id: 'toolu_1', name: 'look', input: { a: 1 } };
const whole = begin() + hello() + end();
const error = { type: 'overloaded_error', message: 'Busy' };
const message = {
  type: 'message',
  content: [{ type: 'thinking', thinking: 'Hm.', signature: 's' }, HELLO, LOOK],
  stop_reason: 'tool_use',
  usage: { input_tokens: 10, output_tokens: 5 },
};

const FRAME_CASES: Record<string, DialectCase> = {
  'no `event:` lines': { body: whole.replaceAll(/^event:.*\n/gm, ''), becomes: 'Hello' },
  'CRLF or CR, a byte order mark, comments, `data` in several lines': {
    body: `\ufeff: hi\r\n${whole.replaceAll('\n', '\r\n')}`.replaceAll('"type":', '"type":\r\ndata: '),
    becomes: 'Hello',
  },
  'no empty line after the last frame': { body: whole.trimEnd(), becomes: 'Hello' },
  'a frame `data: [DONE]`': { body: `${begin() + hello() + reason('end_turn')}data: [DONE]\n\n`, becomes: 'Hello' },
  'pings without data, or with other data': {
    body: `event: ping\ndata: now\n\nevent: ping\n\n${whole}`,
    becomes: 'Hello',
  },
  'events of other types': {
    body: `${begin()}${frame('heartbeat', { at: 1 })}data: {"usage":{}}\n\n${hello()}${end()}`,
    becomes: 'Hello',
  },
  'the whole message as JSON': {
    body: JSON.stringify(message, null, 2),
    becomes: {
      content: [message.content[0]!, HELLO, LOOK],
      stop: 'tool_use',
      usage: { input_tokens: 10, output_tokens: 5 },
    },
  },
  'a web page with status 200': {
    body: '<!doctype html><title>Sign in</title>',
    becomes: fails('The model’s server answered with a web page instead of an event stream.'),
  },
  'an error as JSON with status 200': {
    body: JSON.stringify({ type: 'error', error }),
    becomes: { fails: 'The model is overloaded. Busy.', type: 'model_overloaded' },
  },
  'an answer of another API, or nothing, with status 200': {
    body: 'data: {"object":"chat.completion.chunk","choices":[{"delta":{"content":"Hello"}}]}\n\ndata: [DONE]\n\n',
    becomes: fails('The model’s server sent no event of the Messages API.'),
  },
  'an error without `event:`, as a text, or with a code instead of a type': {
    body: `${begin()}data: {"error":{"message":"Upstream gone","code":"502"}}\n\n`,
    becomes: fails('The model refused the call (inside its answer). Upstream gone.'),
  },
  'a frame that is not JSON': {
    body: `${begin()}event: content_block_delta\ndata: {{{\n\n${end()}`,
    becomes: fails('The model’s answer is not valid.'),
  },
};

const END_CASES: Record<string, DialectCase> = {
  '`message_stop`, and the connection stays open': { body: whole, then: 'stays open', becomes: 'Hello' },
  '`message_stop`, then pings without end': { body: whole, then: 'pings', becomes: 'Hello' },
  'no `message_stop`; the response ends after the stop reason': {
    body: begin() + startText(0) + text(0, 'Hello') + reason('end_turn'),
    becomes: 'Hello',
  },
  'no `message_stop`; the connection stays open, perhaps with pings': {
    body: begin() + hello() + reason('end_turn'),
    then: 'pings',
    becomes: 'Hello',
  },
  'no `message_stop`; the stop reason, `message_start` or empty deltas again and again': {
    body: begin() + hello() + reason('end_turn'),
    then: { repeats: reason('end_turn', { output_tokens: 7 }) + begin({}) + text(0, '') + stop(0) },
    becomes: { content: [HELLO], usage: { output_tokens: 7 } },
  },
  'an error after the stop reason': {
    body: `${begin() + hello() + reason('end_turn')}data: ${JSON.stringify({ type: 'error', error })}\n\n`,
    becomes: 'Hello',
  },
  'no `message_stop`; the connection breaks after ended blocks and a stop reason': {
    body: begin() + hello() + reason('end_turn'),
    then: 'breaks',
    becomes: 'Hello',
  },
  'a stop reason without the end of a block, then only pings': {
    body: begin() + startText(0) + text(0, 'Hel') + reason('end_turn'),
    then: 'pings',
    isInVain: true,
    becomes: fails('The model sent nothing but pings for 1 s.'),
  },
  'no stop reason, though `message_stop` comes': {
    body: begin() + hello() + reason(null) + END,
    becomes: fails('The model’s answer ended without a stop reason, so it may be cut off.'),
  },
  'the stop reason before the end of the blocks': {
    body: begin() + startText(0) + text(0, 'Hel') + reason('end_turn') + text(0, 'lo') + stop(0) + END,
    becomes: 'Hello',
  },
  '`stop`, `length`, `tool_calls`, `content_filter`': {
    body: begin() + hello() + startTool(1) + json(1, '{"a":1}') + stop(1) + end('tool_calls'),
    becomes: used([HELLO, LOOK]),
  },
  '`error`, `abort`, `network_error` and the like as a stop reason': {
    body: begin() + hello() + end('abort'),
    becomes: fails('The model’s answer broke off (stop reason "abort").'),
  },
  'a stop reason that is not known': {
    body: begin() + hello() + end('new_reason'),
    becomes: { content: [HELLO], stop: 'new_reason' },
  },
  '`end_turn` with a tool call': {
    body: begin() + startTool(0) + json(0, '{"a":1}') + stop(0) + end(),
    becomes: { content: [LOOK], stop: 'end_turn' },
  },
  '`tool_use` without a tool call': {
    body: begin() + hello() + end('tool_use'),
    becomes: fails('The model’s answer ended for a tool call but has none.'),
  },
  'pings without end and no content': {
    body: begin(),
    then: 'pings',
    isInVain: true,
    becomes: fails('The model sent nothing but pings for 0.3 s.'),
  },
  'deltas without content, or `message_start`, without end': {
    body: begin(),
    then: { repeats: begin() + text(0, '') + thinking(0, '') },
    isInVain: true,
    becomes: fails('The model sent nothing but pings for 0.3 s.'),
  },
  'the end of the response in the middle of an answer': {
    body: begin() + startText(0) + text(0, 'Hel'),
    becomes: fails('The model’s answer was cut off.'),
  },
  'usage only at the start, only at the end, or 0 at one of them': {
    body:
      begin({ input_tokens: 10, output_tokens: 0, cache_read_input_tokens: 7 }) +
      hello() +
      reason('end_turn', { input_tokens: 0, output_tokens: 5 }) +
      END,
    becomes: {
      content: [HELLO],
      usage: { input_tokens: 10, output_tokens: 5, cache_read_input_tokens: 7, cache_creation_input_tokens: 0 },
    },
  },
};

/** By the row of the table in docs/models.md. */
export const DIALECT_CASES: Record<string, DialectCase> = { ...FRAME_CASES, ...BLOCK_CASES, ...END_CASES };
