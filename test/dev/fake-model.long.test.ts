import Anthropic from '@anthropic-ai/sdk';
import { expect } from 'chai';
import { startScriptedModel, type ScriptedModel } from '../support/scripted-model.js';

type Params = Anthropic.MessageCreateParamsNonStreaming;

/** What no test of the service would notice: that a script failed, and tokens that are read from the cache by mistake. */
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

  it('the scripted model fails the request and the test when a handler throws', async () => {
    const own = await startScriptedModel();
    own.script(() => {
      throw new Error('expected something else');
    });
    const answer = await fetch(`${own.url}/v1/messages`, { method: 'POST', body: JSON.stringify(params('hi')) });
    expect(answer.status).to.equal(400);
    expect(await own.close().catch((error: Error) => error.message)).to.equal('expected something else');
  });

  const system = (mark: boolean): Anthropic.TextBlockParam[] => [
    { type: 'text', text: 's'.repeat(400), ...(mark ? { cache_control: { type: 'ephemeral' as const } } : {}) },
  ];
  const total = ({ usage }: Anthropic.Message): number =>
    usage.input_tokens + (usage.cache_read_input_tokens ?? 0) + (usage.cache_creation_input_tokens ?? 0);

  it('the scripted model counts like count_tokens, wherever the breakpoints are', async () => {
    const messages: Anthropic.MessageParam[] = [{ role: 'user', content: 'hi' }];
    const counted = await client.messages.countTokens({ model: 'm', system: system(false), messages });
    expect(counted.input_tokens).to.be.above(100);
    expect(total(await ask('hi', { system: system(true) }))).to.equal(counted.input_tokens);
    expect(total(await ask('hi', { system: system(false) }))).to.equal(counted.input_tokens);
    expect(model.counted).to.equal(1);
  });

  it('the scripted model writes a prefix once and reads it from then on, also when the breakpoint has moved', async () => {
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

  it('the scripted model reads no prefix that was written more than 20 blocks before the breakpoint', async () => {
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
