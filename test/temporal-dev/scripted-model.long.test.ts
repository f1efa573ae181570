import Anthropic from '@anthropic-ai/sdk';
import { expect } from 'chai';
import {
  cut,
  failure,
  http,
  message,
  raw,
  redactedThinking,
  silence,
  startScriptedModel,
  steps,
  streamError,
  text,
  thinking,
  toolUse,
  wait,
  type ScriptedModel,
} from '../support/scripted-model.js';

type Params = Anthropic.MessageCreateParamsNonStreaming;

describe('scripted model', () => {
  let model: ScriptedModel;
  let client: Anthropic;

  beforeEach(async () => {
    model = await startScriptedModel();
    client = new Anthropic({ apiKey: 'none', baseURL: model.url, maxRetries: 0, logLevel: 'off' });
  });
  afterEach(() => model.close());

  const params = (content: string, more: Partial<Params> = {}): Params => ({
    model: 'm',
    max_tokens: 4096,
    messages: [{ role: 'user', content }],
    ...more,
  });
  const ask = (content = 'hi', more: Partial<Params> = {}): Promise<Anthropic.Message> =>
    client.messages.stream(params(content, more)).finalMessage();
  const failed = async (call: Promise<unknown>): Promise<InstanceType<typeof Anthropic.APIError>> => {
    const error: unknown = await call.then(
      () => expect.fail('the call did not fail'),
      (reason: unknown) => reason,
    );
    return error as InstanceType<typeof Anthropic.APIError>;
  };
  const textOf = (answer: Anthropic.Message): string =>
    answer.content.map((block) => (block.type === 'text' ? block.text : '')).join('');

  describe('answers', () => {
    it('answers ok unless scripted otherwise', async () => {
      const answer = await ask();
      expect(textOf(answer)).to.equal('ok');
      expect(answer.stop_reason).to.equal('end_turn');
    });

    it('gives blocks of every kind, streamed and as a body alike', async () => {
      const parts = [
        thinking('Let me see.'),
        redactedThinking(),
        text('Hello there, 👋 world '),
        toolUse('a', { deep: { er: [1, 'ü'] } }, { id: 'toolu_1' }),
        toolUse('b', {}, { id: 'toolu_2' }),
      ];
      model.reply(parts, parts);
      const streamed = await ask();
      const whole = await client.messages.create(params('hi'));
      expect(streamed.stop_reason).to.equal('tool_use');
      expect(JSON.parse(JSON.stringify(streamed.content))).to.deep.equal(whole.content);
      expect(streamed.usage).to.deep.equal(whole.usage);
      expect(whole.content.map((block) => block.type)).to.deep.equal([
        'thinking',
        'redacted_thinking',
        'text',
        'tool_use',
        'tool_use',
      ]);
      expect(whole.content[2]).to.include({ text: 'Hello there, 👋 world ' });
      expect(whole.content[3]).to.deep.include({ name: 'a', input: { deep: { er: [1, 'ü'] } } });
    });

    it('sends chunks of the size, one by one at the pace', async () => {
      model.reply(text('aabb👋cc', { chunk: 2, every: 10 }));
      const deltas: string[] = [];
      await client.messages
        .stream(params('hi'))
        .on('text', (delta) => deltas.push(delta))
        .finalMessage();
      expect(deltas).to.deep.equal(['aa', 'bb', '👋', 'cc']);
      const { sentAt } = await model.request(0);
      expect((sentAt[3] ?? 0) - (sentAt[0] ?? 0)).to.be.at.least(25);
    });

    it('takes chunks from a generator no earlier than it sends them', async () => {
      const gate = model.gate();
      let made = 0;
      const source = function* (): Iterable<string> {
        for (; made < 4; made++) yield `${made} `;
      };
      model.reply(text(source(), { before: { 2: wait(gate) } }));
      const answer = ask();
      await gate.reached;
      expect(made).to.equal(2);
      gate.open();
      expect(textOf(await answer)).to.equal('0 1 2 3 ');
    });

    it('holds a stream at a gate, with what came before delivered', async () => {
      const gate = model.gate();
      model.reply(text('one two three', { before: { 2: wait(gate) } }));
      const stream = client.messages.stream(params('hi'));
      const arrived = new Promise<void>((resolve) => stream.on('text', (_, all) => all === 'one two' && resolve()));
      await Promise.all([gate.reached, arrived]);
      gate.open();
      expect(textOf(await stream.finalMessage())).to.equal('one two three');
    });

    it('overrides stop reason and usage', async () => {
      model.reply(message(text('half'), { stopReason: 'refusal', usage: { input_tokens: 7, output_tokens: 9 } }));
      const answer = await ask();
      expect(answer.stop_reason).to.equal('refusal');
      expect(answer.usage).to.include({ input_tokens: 7, output_tokens: 9 });
    });

    it('stops at max_tokens and at the end of the context window', async () => {
      model.script(() => text('x'.repeat(100), { chunk: 7 }));
      const answer = await ask('hi', { max_tokens: 10 });
      expect(answer.stop_reason).to.equal('max_tokens');
      expect(textOf(answer)).to.have.length(40);
      expect(answer.usage.output_tokens).to.equal(10);

      const small = await startScriptedModel({ contextWindow: 20 });
      small.reply(text('x'.repeat(1000)));
      const other = new Anthropic({ apiKey: 'none', baseURL: small.url, maxRetries: 0 });
      const full = await other.messages.create(params('hi'));
      expect(full.stop_reason).to.equal('model_context_window_exceeded');
      await small.close();
    });

    it('lists models', async () => {
      const page = await client.models.list();
      expect(page.data.map((one) => one.id)).to.deep.equal(['scripted']);
    });
  });

  describe('scripts', () => {
    it('routes by text, by predicate and by step; then the queue, then the script', async () => {
      model.script((_, index) => `scripted ${index}`);
      model.reply('queued');
      model.on(/weather/, 'first', ({ userText }, index) => `${userText} ${index}`);
      model.on((request) => request.body.model === 'other', 'by model');
      expect(textOf(await ask('weather?'))).to.equal('first');
      expect(textOf(await ask('weather?'))).to.equal('weather? 1');
      expect(textOf(await ask('weather?', { model: 'other' }))).to.equal('by model');
      expect(textOf(await ask())).to.equal('queued');
      expect(textOf(await ask())).to.equal('scripted 0');
      expect(textOf(await ask())).to.equal('scripted 1');
    });

    it('runs a loop of calls by its steps, for sessions in parallel', async () => {
      model.on(/go/, steps([thinking('hm'), toolUse('a'), toolUse('b')], 'done'));
      const run = async (): Promise<string> => {
        const more: Partial<Params> = { thinking: { type: 'enabled', budget_tokens: 1024 } };
        const first = await ask('go', more);
        const results = first.content.flatMap((block) =>
          block.type === 'tool_use' ? [{ type: 'tool_result' as const, tool_use_id: block.id, content: 'r' }] : [],
        );
        const messages: Anthropic.MessageParam[] = [
          { role: 'user', content: 'go' },
          { role: 'assistant', content: first.content },
          { role: 'user', content: results },
        ];
        return textOf(await ask('', { ...more, messages }));
      };
      expect(await Promise.all([run(), run(), run()])).to.deep.equal(['done', 'done', 'done']);
      expect(model.refused).to.be.empty;
    });

    it('fails the request and the test when a handler throws', async () => {
      const own = await startScriptedModel();
      own.script(() => {
        throw new Error('expected something else');
      });
      const other = new Anthropic({ apiKey: 'none', baseURL: own.url });
      const error = await failed(other.messages.create(params('hi')));
      expect(error.status).to.equal(400);
      expect(own.requests).to.have.length(1);
      expect(
        await own.close().then(
          () => 'closed',
          (reason: Error) => reason.message,
        ),
      ).to.equal('expected something else');
    });
  });

  describe('faults', () => {
    it('fails with an envelope and headers', async () => {
      model.reply(failure('rate_limit_error', { headers: { 'retry-after': '2', 'x-should-retry': 'true' } }));
      const error = await failed(ask());
      expect(error).to.be.instanceOf(Anthropic.RateLimitError);
      expect(error.type).to.equal('rate_limit_error');
      expect(error.headers?.get('retry-after')).to.equal('2');
      expect(error.requestID).to.match(/^req_/);
    });

    it('fails inside of a stream', async () => {
      model.reply([text('a b'), streamError('overloaded_error')]);
      const error = await failed(ask());
      expect(error.type).to.equal('overloaded_error');
      expect(error.status).to.be.undefined;
    });

    it('cuts the connection in a block', async () => {
      model.reply(text('one two three', { before: { 2: cut() } }));
      const stream = client.messages.stream(params('hi'));
      let seen = '';
      stream.on('text', (_, all) => (seen = all));
      await failed(stream.finalMessage());
      expect(seen).to.equal('one two');
      const request = await model.request(0);
      await request.finished;
      expect(request.abortedAt).to.be.null;
    });

    it('goes silent, and tells when the client went away', async () => {
      model.reply([text('one two'), silence()]);
      const abort = new AbortController();
      const stream = client.messages.stream(params('hi'), { signal: abort.signal });
      await new Promise<void>((resolve) => stream.on('text', (_, all) => all === 'one two' && resolve()));
      const before = performance.now();
      abort.abort();
      await failed(stream.finalMessage());
      expect((await (await model.request(0)).aborted) - before).to.be.below(5000);
    });

    it('gives up on a client that left while the script was thinking', async () => {
      const never = model.gate();
      let reply!: () => void;
      model.script(async () => {
        await new Promise<void>((resolve) => (reply = resolve));
        return text('late', { before: { 0: wait(never) } });
      });
      const stream = client.messages.stream(params('hi'));
      const request = await model.request(0);
      stream.abort();
      await failed(stream.finalMessage());
      await request.aborted;
      reply();
      await never.reached;
      await new Promise((resolve) => setTimeout(resolve, 20));
      expect(request.sentAt).to.be.empty;
    });

    it('sends garbage, as a body and in a stream', async () => {
      model.reply(http(502, '<html>', { 'content-type': 'text/html' }), [
        text('a'),
        raw('data: {not json\n\n'),
        text('b'),
      ]);
      expect((await failed(ask())).status).to.equal(502);
      const answer = await ask();
      expect(answer.content).to.have.length(2);
      model.reply(raw('event: content_block_delta\ndata: {not json\n\n'));
      await failed(ask());
    });

    it('sends broken tool input as scripted', async () => {
      model.reply(message(toolUse('a', '{"x": "cut o'), { stopReason: 'max_tokens' }));
      let input = '';
      for await (const event of client.messages.stream(params('hi'))) {
        if (event.type === 'content_block_delta' && event.delta.type === 'input_json_delta') {
          input += event.delta.partial_json;
        }
      }
      expect(input).to.equal('{"x": "cut o');
    });

    it('refuses prompts over the context window in the words of the API', async () => {
      const small = await startScriptedModel({ contextWindow: 100 });
      const other = new Anthropic({ apiKey: 'none', baseURL: small.url, maxRetries: 0 });
      const error = await failed(other.messages.create(params('x'.repeat(1000))));
      expect(error.apiMessage).to.match(/^prompt is too long: \d+ tokens > 100 maximum$/);
      await small.close();
    });
  });

  describe('counts', () => {
    const system = (mark: boolean): Anthropic.TextBlockParam[] => [
      { type: 'text', text: 's'.repeat(400), ...(mark ? { cache_control: { type: 'ephemeral' as const } } : {}) },
    ];
    const total = ({ usage }: Anthropic.Message): number =>
      usage.input_tokens + (usage.cache_read_input_tokens ?? 0) + (usage.cache_creation_input_tokens ?? 0);

    it('counts like count_tokens, wherever the breakpoints are', async () => {
      const messages: Anthropic.MessageParam[] = [{ role: 'user', content: 'hi' }];
      const counted = await client.messages.countTokens({ model: 'm', system: system(false), messages });
      expect(counted.input_tokens).to.be.above(100);
      expect(total(await ask('hi', { system: system(true) }))).to.equal(counted.input_tokens);
      expect(total(await ask('hi', { system: system(false) }))).to.equal(counted.input_tokens);
      expect(model.counted).to.equal(1);
    });

    it('writes a prefix once and reads it from then on, also when the breakpoint has moved', async () => {
      const marked = (content: string): Anthropic.MessageParam => ({
        role: 'user',
        content: [{ type: 'text', text: content, cache_control: { type: 'ephemeral' } }],
      });
      const first = await ask('', { system: system(true), messages: [marked('one')] });
      expect(first.usage).to.include({ input_tokens: 0, cache_read_input_tokens: 0 });
      const second = await ask('', {
        system: system(true),
        messages: [{ role: 'user', content: 'one' }, { role: 'assistant', content: 'ok' }, marked('two')],
      });
      expect(second.usage.cache_read_input_tokens).to.equal(first.usage.cache_creation_input_tokens);
      expect(second.usage.cache_creation_input_tokens).to.be.within(1, 50);
      const other = await ask('', { system: system(true), messages: [marked('else')] });
      expect(other.usage.cache_read_input_tokens).to.be.within(100, first.usage.cache_creation_input_tokens ?? 0);
    });

    it('reads no prefix that was written more than 20 blocks before the breakpoint', async () => {
      const blocks = (count: number): Anthropic.ContentBlockParam[] =>
        Array.from({ length: count }, (_, at) => ({
          type: 'text',
          text: `block ${at}`,
          ...(at === count - 1 ? { cache_control: { type: 'ephemeral' as const } } : {}),
        }));
      const read = async (count: number): Promise<number | null> => {
        const answer = await ask('', { messages: [{ role: 'user', content: blocks(count) }] });
        return answer.usage.cache_read_input_tokens;
      };
      await read(1);
      expect(await read(21)).to.be.above(0);
      expect(await read(42)).to.equal(0);
    });
  });
});
