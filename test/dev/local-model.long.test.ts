import Anthropic from '@anthropic-ai/sdk';
import { expect } from 'chai';
import { startLocalModel, type LocalModel } from '../../dev/local-model.js';
import { startTurnService } from '../support/turns.js';

type Params = Anthropic.MessageCreateParamsNonStreaming;

describe('local model', () => {
  let model: LocalModel;
  let client: Anthropic;

  before(async () => {
    model = await startLocalModel({ wordsPerSecond: 0 });
    client = new Anthropic({ apiKey: 'none', baseURL: model.url, maxRetries: 0 });
  });
  after(() => model.close());

  const tools: Anthropic.Tool[] = ['mcp__calc__add', 'clock'].map((name) => ({
    name,
    input_schema: { type: 'object' },
  }));
  const params = (content: string, more: Partial<Params> = {}): Params => ({
    model: 'local-rules',
    max_tokens: 4096,
    tools,
    messages: [{ role: 'user', content }],
    ...more,
  });
  const ask = (content: string, more: Partial<Params> = {}): Promise<Anthropic.Message> =>
    client.messages.stream(params(content, more)).finalMessage();
  const textOf = (answer: Anthropic.Message): string =>
    answer.content.map((block) => (block.type === 'text' ? block.text : '')).join('');
  const callsOf = (answer: Anthropic.Message): Anthropic.ToolUseBlock[] =>
    answer.content.filter((block) => block.type === 'tool_use');
  const failed = async (call: Promise<unknown>): Promise<InstanceType<typeof Anthropic.APIError>> => {
    const error: unknown = await call.then(
      () => expect.fail('the call did not fail'),
      (reason: unknown) => reason,
    );
    return error as InstanceType<typeof Anthropic.APIError>;
  };

  it('the local model describes itself and its commands', async () => {
    const answer = await ask('Good morning');
    expect(textOf(answer)).to.match(/^I am the local rule-based model of this service, not an LLM/);
    expect(textOf(answer)).to.contain('Good morning').and.contain('call TOOL');
    expect(answer.stop_reason).to.equal('end_turn');
    expect(answer.usage.output_tokens).to.equal(Math.ceil(textOf(answer).length / 4));
    expect(answer.usage.input_tokens).to.be.above(10);
  });

  it('the local model thinks when it may, and signs it', async () => {
    const { content } = await ask('hello', { thinking: { type: 'enabled', budget_tokens: 1024 } });
    expect(content.map((block) => block.type)).to.deep.equal(['thinking', 'text']);
    expect(content[0]).to.have.property('thinking').that.contains('hello');
    expect(content[0]).to.have.property('signature').that.is.not.empty;
    expect((await ask('hello')).content).to.have.length(1);
  });

  it('the local model calls a tool, also by the last part of its name', async () => {
    const answer = await ask('please call add with {"a": "}{", "b": {"c": [1]}}');
    expect(answer.stop_reason).to.equal('tool_use');
    expect(callsOf(answer)).to.have.length(1);
    expect(callsOf(answer)[0]).to.deep.include({ name: 'mcp__calc__add', input: { a: '}{', b: { c: [1] } } });
  });

  it('the local model calls several tools at once, and others in the next step', async () => {
    const content = 'call clock and mcp__calc__add with {"a":1}, then call clock with {"again": true}';
    const first = await ask(content);
    expect(callsOf(first).map((call) => call.name)).to.deep.equal(['clock', 'mcp__calc__add']);
    const messages: Anthropic.MessageParam[] = [
      { role: 'user', content },
      { role: 'assistant', content: first.content },
      {
        role: 'user',
        content: callsOf(first).map(({ id }) => ({ type: 'tool_result', tool_use_id: id, content: 'x' })),
      },
    ];
    expect(callsOf(await ask('', { messages }))[0]?.input).to.deep.equal({ again: true });
  });

  it('the local model reports the results of its tools', async () => {
    const messages: Anthropic.MessageParam[] = [
      { role: 'user', content: 'call clock' },
      { role: 'assistant', content: [{ type: 'tool_use', id: 'toolu_1', name: 'clock', input: {} }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'noon', is_error: true }] },
    ];
    expect(textOf(await ask('', { messages }))).to.contain('clock failed: "noon"');
  });

  const WORDS: Record<string, [string, RegExp]> = {
    'a tool that it was not offered': ['call rm with {}', /no tool rm, only mcp__calc__add, clock/],
    'an input that is no JSON': ['call clock with {a}', /not a JSON object/],
    'a call that is none': ['call me Bob', /I follow a few rules/],
    'its tools': ['which tools do you have?', /I have mcp__calc__add, clock/],
    'a first message': ['what did I say before?', /your first message/],
  };
  for (const [what, [said, pattern]] of Object.entries(WORDS)) {
    it(`the local model answers ${what}`, async () => {
      expect(textOf(await ask(said))).to.match(pattern);
    });
  }

  it('the local model remembers earlier messages', async () => {
    const messages: Anthropic.MessageParam[] = [
      { role: 'user', content: 'I like tea' },
      { role: 'assistant', content: 'Good' },
      { role: 'user', content: 'What did I say before?' },
    ];
    expect(textOf(await ask('', { messages }))).to.contain('1. "I like tea"');
  });

  it('the local model writes as many words as asked, up to max_tokens', async () => {
    expect(textOf(await ask('write 500 words')).split(' ')).to.have.length(500);
    const cut = await ask('write 500 words', { max_tokens: 10 });
    expect(cut.stop_reason).to.equal('max_tokens');
    expect(cut.usage.output_tokens).to.equal(10);
  });

  it('the local model keeps the pace that is asked for, and waits as long as asked', async () => {
    // A timer may end a millisecond early, and there are eleven.
    const start = performance.now();
    await ask('write 11 words at 50 words per second');
    expect(performance.now() - start).to.be.at.least(185);
    expect(textOf(await ask('wait 1 seconds'))).to.contain('I have waited 1 seconds');
    expect(performance.now() - start).to.be.at.least(1180);
  });

  const FAILURES = { overloaded: 529, rate_limit: 429, api: 500, invalid_request: 400 };
  for (const [name, status] of Object.entries(FAILURES)) {
    it(`the local model fails with ${name}`, async () => {
      const error = await failed(ask(`fail with ${name}`));
      expect(error.status).to.equal(status);
      expect(error.type).to.equal(`${name}_error`);
      expect(error.headers?.get('retry-after')).to.equal(name === 'rate_limit' ? '1' : null);
    });
  }

  it('the local model gives each call of the same tool its own input', async () => {
    const calls = callsOf(await ask('call clock with {"a": "}"} and clock with {"b": {"c": 1}}'));
    expect(calls.map(({ input }) => input)).to.deep.equal([{ a: '}' }, { b: { c: 1 } }]);
  });

  it('the local model reads a long message in linear time, and writes no more words than an answer may have', async () => {
    const before = process.cpuUsage();
    expect(textOf(await ask(`call clock with {"${'\\"'.repeat(150_000)}`))).to.contain('not a JSON object');
    expect(textOf(await ask('write 9999999 words', { max_tokens: 10 }))).to.have.length(40);
    // An unfinished string, searched for its end from each of its quotes, takes a minute.
    expect(process.cpuUsage(before).user / 1000).to.be.lessThan(5000);
  });

  it('the local model counts tokens, an image by its kind and not by its base64', async () => {
    const { model: name, messages } = params('write 2 words');
    const { input_tokens } = await client.messages.countTokens({ model: name, tools, messages });
    expect(input_tokens).to.be.within(20, 100);
    const source = { type: 'base64' as const, media_type: 'image/png' as const, data: 'A'.repeat(1_000_000) };
    const { usage } = await ask('', { messages: [{ role: 'user', content: [{ type: 'image', source }] }] });
    expect(usage.input_tokens).to.be.within(1600, 1700);
  });

  it('the local model answers the newest message, also after turns of the session that failed', async () => {
    const service = await startTurnService({ models: [...model.models] });
    try {
      const sessionId = await service.session({ model_id: 'local-rules' });
      const sent = async (content: string) => (await service.run(sessionId, content)).at(-1);
      expect(await sent('fail with invalid_request')).to.include({ type: 'turn.failed' });
      expect(await sent('fail with invalid_request')).to.include({ type: 'turn.failed' });
      expect(await sent('Hello!')).to.include({ type: 'turn.completed' });
      const [, ...events] = await service.history(sessionId);
      const answer = events.find(({ type }) => type === 'agent.message');
      expect(answer.content).to.contain('You said "Hello!"');
    } finally {
      await service.close();
    }
  });

  it('the local model has a price, so a budget can be tried with it', async () => {
    const service = await startTurnService({ models: [...model.models] });
    try {
      const budget = { max_cost: { amount: '0.000001', currency: 'USD' }, on_reached: 'stop' };
      const sessionId = await service.session({ model_id: 'local-rules', budget });
      expect((await service.run(sessionId, 'Hello!')).at(-1)).to.include({ stop_reason: 'budget_reached' });
      const { body } = await service.api('PATCH', `/v1/sessions/${sessionId}`, { budget: null });
      expect(body.cost).to.deep.equal({ amount: '0', currency: 'USD' });
      await service.run(sessionId, 'Hello!');
      const { cost } = (await service.api('GET', `/v1/sessions/${sessionId}`)).body;
      expect(Number(cost.amount)).to.be.above(0);
    } finally {
      await service.close();
    }
  });

  it('the local model describes itself for MODELS_FILE and in the list of models', async () => {
    const { data } = await client.models.list();
    expect(model.models).to.have.length(1);
    expect(model.models[0]).to.include({ model: data[0]?.id, base_url: model.url, supports_thinking: true });
  });
});
