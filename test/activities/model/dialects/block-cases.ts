import { parseExact } from '../../../../src/platform/exact-json.js';
import { fails, used, type DialectCase } from './outcomes.js';
import * as f from './frames.js';

const HELLO = { type: 'text', text: 'Hello' };
const LOOK = { type: 'tool_use', id: 'toolu_1', name: 'look', input: { a: 1 } };
const thought = (thinking: string, signature = ''): object => ({ type: 'thinking', thinking, signature });
const answer = (...frames: string[]): string => [f.begin(), ...frames, f.end()].join('');
const calls = (...frames: string[]): string => [f.begin(), ...frames, f.end('tool_use')].join('');

export const BLOCK_CASES: Record<string, DialectCase> = {
  'no `message_start`': { body: f.hello() + f.end(), becomes: 'Hello' },
  '`message_start` twice': { body: f.begin() + answer(f.hello()), becomes: 'Hello' },
  'a start without `text`, `thinking` or `signature`': {
    body: answer(
      f.start(0, { type: 'thinking' }) + f.thinking(0, 'Hm.') + f.stop(0),
      f.start(1, { type: 'text' }) + f.text(1, null) + f.text(1, 'Hello') + f.stop(1),
    ),
    becomes: { content: [thought('Hm.'), HELLO], thinking: 'Hm.' },
  },
  'the beginning of the text in the start': { body: answer(f.startText(0, 'Hel'), f.text(0, 'lo')), becomes: 'Hello' },
  'deltas without a start': { body: answer(f.text(0, 'Hel'), f.text(0, 'lo'), f.stop(0)), becomes: 'Hello' },
  'the start again with each delta': {
    body: calls(
      ...['Hm', '.'].map((part) => f.start(0, { type: 'thinking', thinking: '' }) + f.thinking(0, part)),
      f.stop(0),
      ...['{"a"', ':1}'].map((part) => f.startTool(1) + f.json(1, part)),
    ),
    becomes: used([thought('Hm.'), LOOK]),
  },
  'no `index`, or always the same': {
    body: calls(f.startText(0), f.text(undefined, 'Hello'), f.startTool(0), f.json(undefined, '{"a":1}')),
    becomes: used([HELLO, LOOK]),
  },
  'a start before the end of the block before': {
    body: calls(f.startText(0), f.text(0, 'Hello'), f.startTool(1), f.json(1, '{"a":1}'), f.stop(1)),
    becomes: used([HELLO, LOOK]),
  },
  'a tool call without `content_block_stop`': {
    body: calls(f.startTool(0), f.json(0, '{"a":1}')),
    becomes: used([LOOK]),
  },
  'deltas after the end of their block': {
    body: answer(f.startText(0), f.text(0, 'Hel'), f.stop(0), f.text(0, 'lo')),
    becomes: 'Hello',
  },
  'deltas after `message_stop`': { body: answer(f.hello()) + f.hello(1, ' again') + f.end(), becomes: 'Hello' },
  'the deltas of two calls mixed': {
    body: calls(
      f.startTool(0),
      f.startTool(1, { id: 'toolu_2' }),
      f.json(0, '{"a"'),
      f.json(1, '{}'),
      f.json(0, ':1}'),
    ),
    becomes: { content: [LOOK, { ...LOOK, id: 'toolu_2', input: {} }], stop: 'tool_use' },
  },
  '`thinking_delta` in a text block': {
    body: answer(f.startText(0), f.thinking(0, 'First. '), f.thinking(0, 'Second.'), f.stop(0), f.hello(1)),
    becomes: { content: [thought('First. Second.'), HELLO], thinking: 'First. Second.' },
  },
  '`text_delta` in a thinking block': {
    body: answer(f.start(0, { type: 'thinking' }), f.thinking(0, 'Hm.'), f.text(0, 'Hello'), f.stop(0)),
    becomes: { content: [thought('Hm.'), HELLO], thinking: 'Hm.' },
  },
  '`text_delta` in a tool call': {
    body: calls(f.startTool(0), f.json(0, '{"a"'), f.text(0, 'Hello'), f.json(0, ':1}'), f.stop(0)),
    becomes: used([LOOK, HELLO]),
  },
  'an empty `input_json_delta` in a text block': {
    body: answer(f.startText(0), f.json(0, ''), f.text(0, 'Hello'), f.json(0, ''), f.stop(0)),
    becomes: 'Hello',
  },
  'a delta of type `text`': {
    body: answer(f.delta(0, { type: 'text', text: 'Hel' }), f.text(0, 'lo')),
    becomes: 'Hello',
  },
  'deltas of other types': {
    body: answer(f.startText(0), f.delta(0, { type: 'citations_delta', citation: {} }), f.text(0, 'Hello'), f.stop(0)),
    becomes: 'Hello',
  },
  'thinking without a signature': {
    body: answer(f.start(0, { type: 'thinking', thinking: '' }), f.thinking(0, 'Hm.'), f.stop(0), f.hello(1)),
    becomes: { content: [thought('Hm.'), HELLO] },
  },
  'thinking and text by turns in one block': {
    body: answer(
      f.start(0, { type: 'thinking' }),
      f.thinking(0, 'One.') + f.text(0, 'Hel') + f.thinking(0, 'Two.') + f.text(0, 'lo'),
      f.signature(0, 's') + f.stop(0),
    ),
    becomes: {
      content: [thought('One.'), { type: 'text', text: 'Hel' }, thought('Two.'), { type: 'text', text: 'lo' }],
      thinking: 'One.Two.',
    },
  },
  'thinking after the signature of its block': {
    body: answer(
      f.start(0, { type: 'thinking' }) + f.thinking(0, 'One.') + f.signature(0, 's') + f.signature(0, 't'),
      f.thinking(0, 'Two.') + f.stop(0),
      f.start(1, { type: 'thinking', signature: 'u' }) + f.thinking(1, 'Th') + f.thinking(1, 'ree.') + f.stop(1),
      f.hello(2),
    ),
    becomes: { content: [thought('One.', 'st'), thought('Two.'), thought('Three.', 'u'), HELLO] },
  },
  'thinking though the session has none': {
    body: answer(f.start(0, { type: 'thinking' }) + f.thinking(0, 'Hm.') + f.stop(0), f.hello(1)),
    becomes: { content: [thought('Hm.'), HELLO] },
  },
  '`redacted_thinking` without data': {
    body: answer(f.start(0, { type: 'redacted_thinking' }), f.stop(0), f.hello(1)),
    becomes: 'Hello',
  },
  '`redacted_thinking`': {
    body: answer(f.start(0, { type: 'redacted_thinking', data: 'x' }), f.stop(0), f.hello(1)),
    becomes: { content: [{ type: 'redacted_thinking', data: 'x' }, HELLO] },
  },
  '`server_tool_use`, its results, and blocks of other types': {
    body: answer(
      f.start(0, { type: 'server_tool_use', id: 's', name: 'web_search', input: {} }) +
        f.json(0, '{"q":1}') +
        f.stop(0),
      f.start(1, { type: 'web_search_tool_result', tool_use_id: 's', content: [] }) + f.stop(1),
      f.hello(2),
    ),
    becomes: 'Hello',
  },
  'the input of a tool in the start': {
    body: calls(f.startTool(0, { input: { a: 1 } }), f.stop(0)),
    becomes: used([LOOK]),
  },
  'the input in the start and again in deltas': {
    body: calls(f.startTool(0, { input: { a: 1 } }), f.json(0, '{"a":1}'), f.stop(0)),
    becomes: used([LOOK]),
  },
  'no input, or an empty one': {
    body: calls(f.startTool(0), f.json(0, ''), f.stop(0)),
    becomes: { content: [{ ...LOOK, input: {} }], stop: 'tool_use' },
  },
  '`null`, `[]`, `""` or white space as the input': {
    body: calls(
      ...['null', '[]', '""', '" "', ' \n', ' [ ] ', '"null"', '"[]"'].map(
        (input, index) => f.startTool(index, { id: `toolu_${index}` }) + f.json(index, input) + f.stop(index),
      ),
      f.startTool(8, { id: 'toolu_8' }) + f.json(8, 'nu') + f.json(8, 'll') + f.stop(8),
      ...[null, [], ''].map((input, index) => f.startTool(9 + index, { id: `toolu_${9 + index}`, input })),
    ),
    becomes: {
      content: Array.from({ length: 12 }, (_, index) => ({ ...LOOK, id: `toolu_${index}`, input: {} })),
      stop: 'tool_use',
    },
  },
  'the object of the input as a string with its JSON': {
    body: calls(
      f.startTool(0) + f.json(0, JSON.stringify('{"a":1}')),
      f.startTool(1, { id: 'toolu_2' }) + f.json(1, JSON.stringify(' {"id":1189238471982374913}')),
      f.startTool(2, { id: 'toolu_3', input: JSON.stringify('{"a":"{}"}') }),
    ),
    becomes: {
      content: [
        LOOK,
        { ...LOOK, id: 'toolu_2', input: parseExact('{"id":1189238471982374913}') },
        { ...LOOK, id: 'toolu_3', input: { a: '{}' } },
      ],
      stop: 'tool_use',
    },
  },
  '`partial_json` as an object or a list': {
    body: calls(f.startTool(0), f.json(0, { a: 1 }), f.stop(0), f.startTool(1, { id: 'toolu_2' }), f.json(1, [])),
    becomes: { content: [LOOK, { ...LOOK, id: 'toolu_2', input: {} }], stop: 'tool_use' },
  },
  'a number, a list with entries or a text as the input': {
    body: calls(f.startTool(0), f.json(0, '[1]'), f.stop(0)),
    becomes: fails('The model’s answer has a tool call that is not JSON.'),
  },
  'an input that is not the JSON of an object': {
    body: calls(f.startTool(0), f.json(0, '{"a":'), f.stop(0)),
    becomes: fails('The model’s answer has a tool call that is not JSON.'),
  },
  'the input of a call that was not started': {
    body: calls(f.startTool(0), f.json(3, '{"a":1}')),
    becomes: fails('The model’s answer has the input of a tool call that it did not start.'),
  },
  'ids of calls that are missing, repeated or have other characters': {
    body: calls(f.startTool(0), f.startTool(1), f.startTool(2, { id: 'a b' }), f.startTool(3, { id: null })),
    becomes: {
      content: ['toolu_1', 'toolu_NEW', 'toolu_NEW', 'toolu_NEW'].map((id) => ({ ...LOOK, id, input: {} })),
      stop: 'tool_use',
    },
  },
  'a call without a name': {
    body: calls(f.startTool(0, { name: undefined }), f.json(0, '{}')),
    becomes: fails('The model’s answer has a tool call without a name.'),
  },
};
