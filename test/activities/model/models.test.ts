import { expect } from 'chai';
import type { ModelEntry } from '../../../src/models/catalogue.js';
import { text, thinking, toolUse, type ScriptedModel } from '../../support/scripted-model.js';
import { useScriptedModel, useTurnService } from '../../support/use.js';
import { TEST_MODEL } from '../../support/config.js';

/** Any server that speaks the Messages API, each with its key, its limits and its way to think. */
describe('the models of the catalogue', () => {
  const KEYS = {
    FIRST_KEY: 'key-of-the-first',
    SECOND_KEY: 'key-of-the-second',
    ANTHROPIC_API_KEY: 'key-of-anthropic',
  };
  before(() => Object.assign(process.env, KEYS));
  const first = useScriptedModel();
  const second = useScriptedModel();
  const entry = (id: string, base_url: string, more: Partial<ModelEntry>): ModelEntry => ({
    ...TEST_MODEL,
    ...{ id, display_name: id, model: `${id}-at-its-api`, base_url },
    ...more,
  });
  const service = useTurnService(() => ({
    models: [
      entry('adaptive', first.url, { api_key_env: 'FIRST_KEY', thinking: 'adaptive' }),
      entry('budget', second.url, { api_key_env: 'SECOND_KEY', thinking: 'budget', max_output_tokens: 40_000 }),
      entry('by-default', second.url, { api_key_env: 'SECOND_KEY', max_output_tokens: 4000 }),
      entry('short-answers', second.url, { max_output_tokens: 1000 }),
      entry('local', second.url, { supports_thinking: false }),
      entry('style-none', second.url, { thinking: 'none' }),
    ],
  }));
  after(() => {
    for (const name of Object.keys(KEYS)) delete process.env[name];
  });
  afterEach(() => {
    expect([...first.refused, ...second.refused]).to.deep.equal([]);
    first.reset();
    second.reset();
  });

  const run = async (model_id: string, body: Record<string, unknown> = {}): Promise<void> => {
    const sessionId = await service.session({ model_id, ...body });
    await service.send(sessionId, 'Go');
    expect(await service.ended(sessionId)).to.include({ type: 'turn.completed' });
  };

  it('the models of the catalogue are called at their own address, under their own name, with their own key', async () => {
    await Promise.all([run('adaptive'), run('budget')]);
    const seen = ({ requests }: ScriptedModel): unknown[] =>
      requests.map(({ headers, body }) => [headers['x-api-key'], headers.authorization, body.model]);
    expect(seen(first)).to.deep.equal([['key-of-the-first', 'Bearer key-of-the-first', 'adaptive-at-its-api']]);
    expect(seen(second)).to.deep.equal([['key-of-the-second', 'Bearer key-of-the-second', 'budget-at-its-api']]);
  });

  it('the models of the catalogue never get the key of Anthropic at an address of their own', async () => {
    await run('local');
    expect(second.requests[0]!.headers).to.not.have.any.keys('x-api-key', 'authorization');
  });

  it('the models of the catalogue are asked to think in their own way, or not at all', async () => {
    for (const [model, id, thinking, max_tokens, body] of [
      [first, 'adaptive', { type: 'adaptive', display: 'summarized' }, 8000],
      [second, 'budget', { type: 'enabled', budget_tokens: 16_000 }, 40_000],
      [second, 'by-default', { type: 'enabled', budget_tokens: 2000 }, 4000],
      [second, 'short-answers', undefined, 1000],
      [second, 'local', undefined, 8000],
      [second, 'style-none', undefined, 8000],
      [first, 'adaptive', undefined, 8000, { thinking_enabled: false }],
    ] as const) {
      await run(id, body);
      const sent = model.requests.at(-1)!.body;
      expect([sent.thinking, sent.max_tokens], id).to.deep.equal([thinking, max_tokens]);
    }
  });

  it('the models of the catalogue get back their thinking as it was signed, within a turn and later', async () => {
    first.on(/Go/, ({ step }) =>
      step === 0 ? [thinking('Hm, \ud83d\ude42.'), toolUse('list_files')] : [thinking('So.'), text('Done.')],
    );
    const sessionId = await service.session({ model_id: 'adaptive' });
    await service.run(sessionId, 'Go');
    await service.run(sessionId, 'Further');
    const kinds = first.requests
      .at(-1)!
      .body.messages.map(({ role, content }) => [
        role,
        typeof content === 'string' ? content : content.map(({ type }) => type),
      ]);
    expect(kinds).to.deep.equal([
      ['user', ['text', 'text']],
      ['assistant', ['thinking', 'tool_use']],
      ['user', ['tool_result']],
      ['assistant', ['thinking', 'text']],
      ['user', ['text', 'text']],
    ]);
  });

  it('the models of the catalogue may think with a budget, call without a thought, and go on', async () => {
    second.on(/Go/, ({ step }) => (step < 2 ? toolUse('list_files') : [thinking('Now.'), text('Done.')]));
    await run('budget');
    expect(second.requests.map(({ body }) => body.thinking?.type)).to.deep.equal(['enabled', undefined, undefined]);
  });

  it('the models of the catalogue may count their calls from zero in each answer', async () => {
    second.on(/Go/, ({ step }) =>
      step < 2 ? [toolUse('list_files', {}, { id: 'call_0' }), toolUse('list_files', {}, { id: 'call:1' })] : 'Done.',
    );
    await run('local');
    const uses = second.requests
      .at(-1)!
      .body.messages.flatMap(({ content }) =>
        typeof content === 'string' ? [] : content.flatMap((block) => (block.type === 'tool_use' ? [block.id] : [])),
      );
    expect(uses[0]).to.equal('call_0');
    expect(new Set(uses)).to.have.property('size', 4);
  });
});
