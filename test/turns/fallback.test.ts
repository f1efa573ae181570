import { expect } from 'chai';
import type { ModelEntry } from '../../src/models/catalogue.js';
import { TEST_MODEL } from '../support/config.js';
import { cut, failure, message, streamError, text, thinking, toolUse, wait } from '../support/scripted-model.js';
import type { Reply, ScriptedModel } from '../support/scripted-model.js';
import { PRICE } from '../support/money.js';
import type { SseReader } from '../support/sse-reader.js';
import { useScriptedModel, useTurnService } from '../support/use.js';

describe('the fallback models of a session', () => {
  const own = useScriptedModel();
  const other = useScriptedModel();
  const entry = (id: string, { url }: ScriptedModel, more: Partial<ModelEntry> = {}): ModelEntry => ({
    ...TEST_MODEL,
    ...{ id, base_url: url, model: id, ...more },
  });
  const narrow = { context_window: 8_000, max_output_tokens: 500 };
  const service = useTurnService(() => ({
    models: [
      entry('own', own, { price: PRICE }),
      entry('other', other, { price: { ...PRICE, output: 1 } }),
      entry('unpriced', other),
      { ...TEST_MODEL, id: 'away' },
      entry('narrow', own, narrow),
      entry('narrow other', other, narrow),
    ],
    config: { fallbackAfterSeconds: 2, rateLimitPerMinute: 0 },
  }));

  const session = (more: object = {}) =>
    service.session({ model_id: 'own', fallback_model_ids: ['other'], thinking_enabled: false, ...more });
  const changeOf = (events: { type: string }[]) => events.find(({ type }) => type === 'agent.model_changed');

  const final = { headers: { 'x-should-retry': 'false' } };
  const later = { headers: { 'retry-after': '60' } };
  for (const [name, reply, reason] of [
    ['refuses the request', failure('invalid_request_error'), 'model_error'],
    ['fails, and asks for a longer wait', failure('api_error', later), 'model_error'],
    ['keeps failing', failure('api_error'), 'model_error'],
    ['breaks off its answer', message([text('Half an answer', { chunk: 4, before: { 2: cut() } })]), 'model_error'],
    ['is overloaded for good', failure('overloaded_error', final), 'model_overloaded'],
    ['is overloaded, and asks for a longer wait', failure('overloaded_error', later), 'model_overloaded'],
    ['stays overloaded', failure('overloaded_error'), 'model_overloaded'],
    ['is overloaded inside its answer', [text('Half'), streamError('overloaded_error')], 'model_overloaded'],
    ['limits the rate for good', failure('rate_limit_error', final), 'model_rate_limited'],
    ['limits the rate, and asks for a longer wait', failure('rate_limit_error', later), 'model_rate_limited'],
    ['keeps limiting the rate', failure('rate_limit_error'), 'model_rate_limited'],
  ] as [string, Reply, string][]) {
    it(`the fallback models of a session are called when the model ${name}`, async () => {
      own.on(/./, reply);
      const asked = own.requests.length;
      const id = await session();
      const events = await service.run(id, 'Hello');
      // What is final, or asks for more time than there is, is not tried again.
      const isTriedAgain = /keeps|stays|breaks|inside/.test(name);
      expect(own.requests.length - asked).to.satisfy((calls: number) => (isTriedAgain ? calls > 1 : calls === 1));
      expect(own.requests.at(-1)!.receivedAt - own.requests[asked]!.receivedAt).to.be.below(10_000);
      expect(changeOf(events)).to.deep.include({ from: 'own', to: 'other', reason });
      expect(events.filter(({ type }) => type === 'agent.message')).to.have.length(1);
      expect(events.at(-1)).to.deep.include({ type: 'turn.completed', stop_reason: 'end_turn' });
      const places = ['agent.model_changed', 'agent.message'].map((type) =>
        events.findIndex((event) => event.type === type),
      );
      expect(places[0]).to.be.below(places[1]!);
    });
  }

  it('the fallback models of a session are kept for the rest of the turn and not for the next one, and never get thinking of another model', async () => {
    own.on(/Work/, message([thinking('secret plan'), toolUse('list_files')]), failure('invalid_request_error'));
    other.on(/Work/, message([thinking('other plan'), toolUse('list_files')]), message([text('done')]));
    own.on(/Again/, message([text('back')]));
    const id = await session({ thinking_enabled: true });
    const events = await service.run(id, 'Work');
    expect(changeOf(events)).to.deep.include({ from: 'own', to: 'other' });
    expect(events.at(-1).usage_details.model_calls).to.equal(4);
    const sent = JSON.stringify(other.requests.at(-1)!.body);
    expect(sent).to.not.contain('secret plan');
    expect(sent).to.contain('other plan');
    const next = await service.run(id, 'Again');
    const sentBack = JSON.stringify(own.requests.at(-1)!.body);
    expect(sentBack).to.contain('secret plan');
    expect(sentBack).to.not.contain('other plan');
    expect(changeOf(next)).to.equal(undefined);
    expect(next.find(({ type }) => type === 'agent.message').content).to.equal('back');
    const { items } = (await service.api('GET', '/v1/usage?group_by=model')).body;
    expect(items.map(({ group }: { group: string }) => group)).to.deep.equal(['other', 'own']);
  });

  it('the fallback models of a session take the place of a server that nothing answers for', async () => {
    const events = await service.run(await session({ model_id: 'away' }), 'Hello');
    expect(changeOf(events)).to.deep.include({ from: 'away', to: 'other', reason: 'model_error' });
  });

  it('the fallback models of a session drop the answer of the model before, for open and for later readers', async () => {
    const gate = other.gate();
    own.on(/Watch/, message([text('Half an answer that is dropped', { chunk: 4, every: 1, before: { 5: cut() } })]));
    other.on(/Watch/, [wait(gate), text('A whole answer', { chunk: 4, every: 1 })]);
    const id = await session();
    const live = await service.stream(id);
    await service.send(id, 'Watch');
    await live.until(({ event }) => event === 'agent.model_changed');
    const late = await service.stream(id);
    await late.until(({ event }) => event === 'agent.model_changed');
    gate.open();
    await Promise.all([live.ended, late.ended]);
    // A notice that the model is away is not repeated.
    const told = (reader: SseReader) => reader.frames.filter(({ event }) => event !== 'agent.retry.delta');
    const frames = told(live);
    const stored = frames.find(({ event }) => event === 'agent.message')!.data;
    expect(stored.content).to.equal('A whole answer');
    const deltas = frames.filter(({ event }) => event === 'agent.message.delta').map(({ data }) => data);
    const dropped = deltas.filter(({ message_id }) => message_id !== stored.message_id);
    expect(dropped.map(({ content }) => content).join('')).to.contain('Half');
    const kept = deltas.filter(({ message_id }) => message_id === stored.message_id);
    expect(kept.map(({ content }) => content).join('')).to.equal(stored.content);
    // The change comes between the two, and a reader that comes later sees the same.
    const places = frames.map(({ event, data }) =>
      event === 'agent.model_changed' ? 'change' : event === 'agent.message.delta' ? data.message_id : null,
    );
    const change = places.indexOf('change');
    for (const { message_id } of dropped) expect(places.lastIndexOf(message_id)).to.be.below(change);
    expect(places.indexOf(stored.message_id)).to.be.above(change);
    expect(told(late).map(({ data }) => data)).to.deep.equal(frames.map(({ data }) => data));
    const history = JSON.stringify(await service.history(id));
    for (const { message_id } of dropped) expect(history).to.not.contain(message_id);
  });

  it('the fallback models of a session are called for a summary too', async () => {
    own.on(/<transcript>/, failure('overloaded_error', final));
    other.on(/<transcript>/, 'SUMMARY');
    own.on(/^Long/, 'fine');
    other.on(/^Long/, 'fine too');
    const id = await session({ model_id: 'narrow', fallback_model_ids: ['narrow other'] });
    let events = await service.run(id, `Long ${'word '.repeat(1600)}`);
    for (let turn = 0; turn < 5 && changeOf(events) === undefined; turn += 1) {
      events = await service.run(id, `Long ${'word '.repeat(1600)}`);
    }
    const types = events.map(({ type }) => type as string).filter((type) => type !== 'agent.thinking');
    expect(types).to.deep.equal([
      ...['user.message', 'agent.model_changed', 'agent.context_compacted', 'agent.message', 'turn.completed'],
    ]);
    expect(events.find(({ type }) => type === 'agent.message').content).to.equal('fine too');
    expect(JSON.stringify(other.requests.at(-1)!.body.messages)).to.contain('SUMMARY');
  });

  it('the fallback models of a session are not called after a refusal, nor for a request that is too long', async () => {
    own.on(/Refuse/, message([text('No.')], { stopReason: 'refusal' }));
    expect((await service.run(await session(), 'Refuse')).at(-1).stop_reason).to.equal('refusal');
    own.on(/Long/, failure('invalid_request_error', { message: 'prompt is too long: 9 tokens > 8 maximum' }));
    const events = await service.run(await session(), 'Long');
    expect(changeOf(events)).to.equal(undefined);
    expect(events.at(-1).error.type).to.equal('context_too_long');
  });

  it('the fallback models of a session leave the turn to fail when the last one fails', async () => {
    own.on(/Both/, failure('invalid_request_error'));
    other.on(/Both/, failure('invalid_request_error'));
    const events = await service.run(await session(), 'Both');
    expect(events.filter(({ type }) => type === 'agent.model_changed')).to.have.length(1);
    expect(events.at(-1).error.type).to.equal('model_error');
  });

  it('the fallback models of a session are called for a model that is gone from the catalogue', async () => {
    const id = await session();
    await service.db.query(`UPDATE configurations SET model_id = 'gone' WHERE id = $1`, [id]);
    const events = await service.run(id, 'Hello');
    expect(changeOf(events)).to.deep.include({ from: 'gone', to: 'other', reason: 'model_error' });
    expect(events.at(-1).type).to.equal('turn.completed');

    // A fallback model that is gone is passed over.
    own.on(/Both gone/, failure('invalid_request_error'));
    const second = await session({ fallback_model_ids: ['unpriced', 'other'] });
    await service.db.query(`UPDATE configurations SET fallback_model_ids = '{gone,other}' WHERE id = $1`, [second]);
    expect(changeOf(await service.run(second, 'Both gone'))).to.deep.include({ from: 'own', to: 'other' });
  });

  it('the fallback models of a session are of the catalogue, unique, at most three, not the session’s own, and priced in a session with a budget', async () => {
    const create = (body: object) => service.api('POST', '/v1/sessions', { model_id: 'own', ...body });
    expect((await create({})).body.fallback_model_ids).to.deep.equal([]);
    const wrong = async (body: object) => (await create(body)).body.error;
    expect((await wrong({ fallback_model_ids: ['none'] })).type).to.equal('unknown_model');
    for (const [ids, path] of [
      [['own'], '/fallback_model_ids/0'],
      [['other', 'other'], '/fallback_model_ids'],
      [['other', 'unpriced', 'away', 'narrow'], '/fallback_model_ids'],
    ] as const) {
      expect((await wrong({ fallback_model_ids: ids })).details.errors[0].path).to.equal(path);
    }
    const three = await session({ fallback_model_ids: ['other', 'unpriced', 'away'] });
    const changed = await service.api('PATCH', `/v1/sessions/${three}`, { fallback_model_ids: [] });
    expect([changed.status, changed.body.error.type]).to.deep.equal([422, 'validation_error']);
    const budget = { max_cost: { amount: '1', currency: 'USD' }, on_reached: 'stop' };
    const own = await service.api('PATCH', `/v1/sessions/${three}`, { budget });
    expect([own.status, own.body.error.details.errors[0].path]).to.deep.equal([422, '/budget']);
    const created = await wrong({ model_id: 'unpriced', budget });
    expect(created.details.errors[0].path).to.equal('/model_id');
    const unpriced = await wrong({ fallback_model_ids: ['other', 'unpriced'], budget });
    expect(unpriced.details.errors[0].path).to.equal('/fallback_model_ids/1');
    const id = await service.session({ model_id: 'own', budget });
    const sent = await service.api('POST', `/v1/sessions/${id}/messages`, { content: 'x', model_id: 'unpriced' });
    expect([sent.status, sent.body.error.details.errors[0].path]).to.deep.equal([422, '/model_id']);
  });
});
