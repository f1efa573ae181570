import { expect } from 'chai';
import { signThinking } from '../../dev/fake-model/wire.js';
import { startScriptedModel, thinking, toolUse, type ScriptedModel } from '../support/scripted-model.js';

type Fields = Record<string, unknown>;

const PNG = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a]).toString('base64');
const PDF = Buffer.from('%PDF-1.7\n…').toString('base64');
const mark = { cache_control: { type: 'ephemeral' } };
const text = (words: string, more: Fields = {}): Fields => ({ type: 'text', text: words, ...more });
const user = (...content: Fields[]): Fields => ({ role: 'user', content });
const assistant = (...content: Fields[]): Fields => ({ role: 'assistant', content });
const say = (role: string, content: string): Fields => ({ role, content });
const use = (id: string, more: Fields = {}): Fields => ({ type: 'tool_use', id, name: 'a', input: {}, ...more });
const result = (id: string, more: Fields = {}): Fields => ({
  type: 'tool_result',
  tool_use_id: id,
  content: 'r',
  ...more,
});
const thought = (words: string, signature = signThinking(words)): Fields => ({
  type: 'thinking',
  thinking: words,
  signature,
});
const tool = (name: string, more: Fields = {}): Fields => ({ name, input_schema: { type: 'object' }, ...more });
const media = (type: string, media_type: string, data: string): Fields => ({
  type,
  source: { type: 'base64', media_type, data },
});
const messages = (...list: Fields[]): Fields => ({ messages: list });
const hi = say('user', 'hi');
const budget = (budget_tokens: number): Fields => ({ thinking: { type: 'enabled', budget_tokens } });

/** What is changed in a valid request, and the message of the refusal. */
const REFUSED: Record<string, [Fields, RegExp]> = {
  'no model': [{ model: undefined }, /^model: Field required/],
  'no max_tokens': [{ max_tokens: undefined }, /^max_tokens: Field required/],
  'max_tokens of 0': [{ max_tokens: 0 }, /^max_tokens: .*greater than or equal to 1/],
  'max_tokens that is no integer': [{ max_tokens: 1.5 }, /valid integer/],
  'a field that is not of the API': [{ maxTokens: 5 }, /^maxTokens: Extra inputs are not permitted/],
  'a system prompt with an empty block': [{ system: [text('')] }, /^system: text content blocks must be non-empty/],
  'a system prompt that is no text': [{ system: [{ type: 'image' }] }, /^system\.0\.type/],

  'no messages': [{ messages: undefined }, /^messages: Field required/],
  'an empty list of messages': [{ messages: [] }, /at least one message is required/],
  'an assistant message first': [messages(say('assistant', 'hi')), /first message must use the "user" role/],
  'a wrong role': [messages(hi, say('system', 'be nice')), /^messages\.1\.role: Input should be 'user' or 'assistant'/],
  'a field that no message has': [messages({ ...hi, id: 'msg_1' }), /^messages\.0\.id: Extra inputs/],
  'an empty user message': [messages(say('user', '')), /must have non-empty content/],
  'an empty list of content': [messages(hi, assistant(), hi), /^messages\.1: all messages must have non-empty content/],
  'an empty text block': [messages(user(text(''))), /text content blocks must be non-empty/],
  'a text block of white space': [messages(user(text(' \n'))), /must contain non-whitespace text/],
  'an unknown block': [messages(user({ type: 'sound' })), /Input tag 'sound'/],
  'a call by the user': [messages(user(use('t1'))), /Input tag 'tool_use'/],
  'an image by the assistant': [messages(hi, assistant(media('image', 'image/png', PNG)), hi), /Input tag 'image'/],
  'a field that no block has': [
    messages(hi, assistant(text('a', { parsed_output: null })), hi),
    /^messages\.1\.content\.0\.text\.parsed_output: Extra inputs/,
  ],
  'a prefill that ends with white space': [
    messages(hi, say('assistant', 'Well, ')),
    /cannot end with trailing whitespace/,
  ],

  'a call without result': [
    messages(hi, assistant(use('t1')), hi),
    /^messages\.1: `tool_use` ids were found without .*: t1\./,
  ],
  'a call at the end': [messages(hi, assistant(use('t1'))), /^messages\.1: `tool_use` ids were found without/],
  'one of two results missing': [
    messages(hi, assistant(use('t1'), use('t2')), user(result('t1'))),
    /without `tool_result` blocks immediately after: t2\./,
  ],
  'text before a result': [
    messages(hi, assistant(use('t1')), user(text('so'), result('t1'))),
    /without `tool_result` blocks immediately after: t1\./,
  ],
  'a result one turn late': [
    messages(hi, assistant(use('t1')), hi, say('assistant', 'a'), user(result('t1'))),
    /^messages\.1: `tool_use` ids/,
  ],
  'a result without call': [
    messages(user(result('t1'))),
    /^messages\.0\.content\.0: unexpected `tool_use_id` found .*: t1\./,
  ],
  'two results of one call': [
    messages(hi, assistant(use('t1')), user(result('t1'), result('t1'))),
    /each tool_use must have a single result/,
  ],
  'two calls of one id': [
    messages(hi, assistant(use('t1'), use('t1')), user(result('t1'))),
    /`tool_use` ids must be unique/,
  ],
  'two calls of one id, turns apart': [
    messages(hi, assistant(use('t1')), user(result('t1')), assistant(use('t1')), user(result('t1'))),
    /`tool_use` ids must be unique/,
  ],
  'a call with a wrong name': [
    messages(hi, assistant(use('t1', { name: 'a.b' })), user(result('t1'))),
    /tool_use\.name: String should match/,
  ],
  'a call with a wrong id': [
    messages(hi, assistant(use('t 1')), user(result('t 1'))),
    /tool_use\.id: String should match/,
  ],
  'a call whose input is no object': [
    messages(hi, assistant(use('t1', { input: '{}' })), user(result('t1'))),
    /tool_use\.input: Input should be a valid dictionary/,
  ],
  'an error without content': [
    messages(hi, assistant(use('t1')), user(result('t1', { content: '', is_error: true }))),
    /content cannot be empty if `is_error` is true/,
  ],
  'an empty text in a result': [
    messages(hi, assistant(use('t1')), user(result('t1', { content: [text('')] }))),
    /text content blocks must be non-empty/,
  ],

  'an altered signature': [
    messages(hi, assistant(thought('hm', 'c2ln'), text('a')), hi),
    /^messages\.1\.content\.0: Invalid `signature`/,
  ],
  'an altered thought': [
    messages(hi, assistant(thought('hm', signThinking('hmm')), text('a')), hi),
    /Invalid `signature`/,
  ],
  'a breakpoint on a thought': [
    messages(hi, assistant({ ...thought('hm'), ...mark }, text('a')), hi),
    /thinking\.cache_control: Extra inputs/,
  ],
  'an answer that ends with a thought': [messages(hi, assistant(thought('hm'))), /final block .* cannot be `thinking`/],
  'a budget under 1024': [budget(1023), /greater than or equal to 1024/],
  'a budget that is all of max_tokens': [budget(4096), /`max_tokens` must be greater than `thinking\.budget_tokens`/],
  'an unknown kind of thinking': [{ thinking: { type: 'deep' } }, /^thinking: Input tag/],
  'thinking with a forced tool': [
    { thinking: { type: 'adaptive' }, tools: [tool('a')], tool_choice: { type: 'any' } },
    /Thinking may not be enabled when tool_choice forces tool use/,
  ],
  'thinking, and a loop without its thought': [
    { ...budget(1024), ...messages(hi, assistant(use('t1')), user(result('t1'))) },
    /^messages\.1\.content\.0\.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`/,
  ],
  'thinking, and a loop whose first answer lost its thought': [
    {
      ...budget(1024),
      ...messages(hi, assistant(use('t1')), user(result('t1')), assistant(thought('b'), use('t2')), user(result('t2'))),
    },
    /Expected `thinking`/,
  ],

  'a tool with a wrong name': [{ tools: [tool('mcp.a')] }, /^tools\.0\.custom\.name: String should match/],
  'a tool with a long name': [{ tools: [tool('a'.repeat(129))] }, /^tools\.0\.custom\.name: String should match/],
  'two tools of one name': [{ tools: [tool('a'), tool('a')] }, /Tool names must be unique/],
  'a tool without schema': [{ tools: [{ name: 'a' }] }, /input_schema: Field required/],
  'a tool whose schema is no object': [
    { tools: [tool('a', { input_schema: { type: 'string' } })] },
    /input_schema\.type: Input should be 'object'/,
  ],
  'five breakpoints': [
    {
      system: [text('s', mark)],
      tools: [tool('a', mark)],
      ...messages(user(text('1', mark), text('2', mark), text('3', mark))),
    },
    /A maximum of 4 blocks with cache_control may be provided\. Found 5\./,
  ],
  'a breakpoint of a wrong type': [
    { system: [text('s', { cache_control: { type: 'forever' } })] },
    /Input should be 'ephemeral'/,
  ],

  'an image of a wrong type': [
    messages(user(media('image', 'image/svg+xml', PNG))),
    /media_type: Input should be 'image\/jpeg'/,
  ],
  'an image that is no base64': [messages(user(media('image', 'image/png', '%%%'))), /invalid base64 data/],
  'an image that is none': [messages(user(media('image', 'image/png', PDF))), /Could not process image/],
  'an image of another type than it says': [
    messages(user(media('image', 'image/gif', PNG))),
    /appears to be image\/png/,
  ],
  'an image in a result that is none': [
    messages(hi, assistant(use('t1')), user(result('t1', { content: [media('image', 'image/png', PDF)] }))),
    /Could not process image/,
  ],
  'a document that is no PDF': [
    messages(user(media('document', 'application/pdf', PNG))),
    /PDF specified was not valid/,
  ],
};

const ACCEPTED: Record<string, Fields> = {
  'messages of one role after each other': messages(
    hi,
    say('user', 'and'),
    say('assistant', 'a'),
    say('assistant', 'b'),
    hi,
  ),
  'results in several messages': messages(
    hi,
    assistant(use('t1'), use('t2')),
    user(result('t1')),
    user(result('t2'), text('so')),
  ),
  'calls of tools that are not offered': messages(
    hi,
    assistant(text('a'), use('t1', { name: 'gone' })),
    user(result('t1')),
  ),
  'a result without content': messages(hi, assistant(use('t1')), user({ type: 'tool_result', tool_use_id: 't1' })),
  'a prefill': messages(hi, say('assistant', 'Well,')),
  'an empty assistant message at the end': messages(hi, assistant()),
  'four breakpoints': {
    system: [text('s', mark)],
    tools: [tool('a', mark)],
    ...messages(user(text('1', mark), text('2', mark))),
  },
  'an image and a PDF': messages(
    user(text('see'), media('image', 'image/png', PNG), media('document', 'application/pdf', PDF)),
  ),
  'thoughts as they were signed': {
    ...budget(1024),
    ...messages(hi, assistant(thought('hm'), use('t1')), user(result('t1'))),
  },
  'thoughts without thinking on': messages(hi, assistant(thought('hm'), text('a')), hi),
  'earlier turns without thoughts': {
    ...budget(1024),
    ...messages(hi, assistant(use('t1')), user(result('t1')), say('assistant', 'a'), hi),
  },
  'later answers of a loop without thoughts': {
    ...budget(1024),
    ...messages(hi, assistant(thought('hm'), use('t1')), user(result('t1')), assistant(use('t2')), user(result('t2'))),
  },
  'adaptive thinking that did not think': {
    thinking: { type: 'adaptive' },
    ...messages(hi, assistant(use('t1')), user(result('t1'))),
  },
};

describe('scripted model, validator', () => {
  let model: ScriptedModel;
  before(async () => void (model = await startScriptedModel()));
  after(() => model.close());

  const post = async (over: Fields, path = '/v1/messages'): Promise<{ status: number; error?: Fields }> => {
    const body = JSON.stringify({ model: 'm', max_tokens: 4096, messages: [hi], ...over });
    const response = await fetch(`${model.url}${path}`, { method: 'POST', body });
    return { status: response.status, error: ((await response.json()) as { error?: Fields }).error };
  };

  for (const [what, [over, pattern]] of Object.entries(REFUSED)) {
    it(`the validator of the scripted model refuses ${what}`, async () => {
      const { status, error } = await post(over);
      expect(status).to.equal(400);
      expect(error).to.include({ type: 'invalid_request_error' });
      expect(error?.message).to.match(pattern);
      expect(model.requests.at(-1)?.refused).to.equal(error?.message);
    });
  }

  for (const [what, over] of Object.entries(ACCEPTED)) {
    it(`the validator of the scripted model accepts ${what}`, async () => {
      expect(await post(over)).to.include({ status: 200 });
    });
  }

  it('the validator of the scripted model refuses a body that is no JSON', async () => {
    const response = await fetch(`${model.url}/v1/messages`, { method: 'POST', body: '{' });
    expect(response.status).to.equal(400);
  });

  it('the validator of the scripted model counts what it would refuse as a message without max_tokens only', async () => {
    const path = '/v1/messages/count_tokens';
    expect(await post({ max_tokens: undefined }, path)).to.include({ status: 200 });
    expect(await post({ messages: [] }, path)).to.include({ status: 400 });
  });

  it('the validator of the scripted model refuses adaptive thinking whose thought was lost on the way', async () => {
    model.reply([thinking('hm'), toolUse('a', {}, { id: 'toolu_lost' })]);
    await post({ thinking: { type: 'adaptive' } });
    const loop = (...content: Fields[]): Fields => messages(hi, assistant(...content), user(result('toolu_lost')));
    const { error } = await post({ thinking: { type: 'adaptive' }, ...loop(use('toolu_lost')) });
    expect(error?.message).to.match(/Expected `thinking`/);
    expect(await post({ thinking: { type: 'adaptive' }, ...loop(thought('hm'), use('toolu_lost')) })).to.include({
      status: 200,
    });
  });
});
