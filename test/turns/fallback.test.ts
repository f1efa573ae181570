import { expect } from 'chai';
import type { ModelEntry } from '../../src/models/catalogue.js';
import { TEST_MODEL } from '../support/config.js';
import {
  cut,
  failure,
  message,
  startScriptedModel,
  text,
  thinking,
  toolUse,
  type Reply,
  type ScriptedModel,
} from '../support/scripted-model.js';
import { PRICE } from '../support/money.js';
import { startTurnService, type TurnService } from '../support/turns.js';

describe('the fallback models of a session', () => {
  let service: TurnService;
  let own: ScriptedModel;
  let other: ScriptedModel;
  before(async () => {
    [own, other] = await Promise.all([startScriptedModel(), startScriptedModel()]);
    const entry = (id: string, { url }: ScriptedModel, more: Partial<ModelEntry> = {}): ModelEntry => ({
      ...TEST_MODEL,
      ...{ id, base_url: url, model: id, ...more },
    });
    const models = [entry('own', own, { price: PRICE }), entry('other', other, { price: { ...PRICE, output: 1 } })];
    models.push(entry('unpriced', other));
    service = await startTurnService({ models, config: { fallbackAfterSeconds: 2, rateLimitPerMinute: 0 } });
  });
  after(async () => {
    await service.close();
    await Promise.all([own.close(), other.close()]);
  });

  const session = (more: object = {}) =>
    service.session({ model_id: 'own', fallback_model_ids: ['other'], thinking_enabled: false, ...more });
  const changeOf = (events: { type: string }[]) => events.find(({ type }) => type === 'agent.model_changed');

  for (const [name, reply, reason] of [
    ['refuses the request', failure('invalid_request_error'), 'model_error'],
    ['asks for a longer wait', failure('overloaded_error', { headers: { 'retry-after': '60' } }), 'model_overloaded'],
    ['stays overloaded', failure('overloaded_error'), 'model_overloaded'],
    ['limits the rate', failure('rate_limit_error'), 'model_rate_limited'],
    ['breaks off its answer', message([text('Half an answer', { chunk: 4, before: { 2: cut() } })]), 'model_error'],
  ] as [string, Reply, string][]) {
    it(`are called when the model ${name}`, async () => {
      own.on(/./, reply);
      const events = await service.run(await session(), 'Hello');
      expect(changeOf(events)).to.deep.include({ from: 'own', to: 'other', reason });
      expect(events.filter(({ type }) => type === 'agent.message')).to.have.length(1);
      expect(events.at(-1)).to.deep.include({ type: 'turn.completed', stop_reason: 'end_turn' });
      const places = ['agent.model_changed', 'agent.message'].map((type) =>
        events.findIndex((event) => event.type === type),
      );
      expect(places[0]).to.be.below(places[1]!);
    });
  }

  it('are kept for the rest of the turn and not for the next one, and never get thinking of another model', async () => {
    own.on(/Work/, message([thinking('secret plan'), toolUse('list_files')]), failure('invalid_request_error'));
    other.on(/Work/, message([toolUse('list_files')]), message([text('done')]));
    own.on(/Again/, message([text('back')]));
    const id = await session({ thinking_enabled: true });
    const events = await service.run(id, 'Work');
    expect(changeOf(events)).to.deep.include({ from: 'own', to: 'other' });
    expect(events.at(-1).usage_details.model_calls).to.equal(4);
    expect(JSON.stringify(other.requests.at(-1)!.body)).to.not.contain('secret plan');
    const next = await service.run(id, 'Again');
    expect(changeOf(next)).to.equal(undefined);
    expect(next.find(({ type }) => type === 'agent.message').content).to.equal('back');
    const { items } = (await service.api('GET', '/v1/usage?group_by=model')).body;
    expect(items.map(({ group }: { group: string }) => group)).to.deep.equal(['other', 'own']);
  });

  it('are not called after a refusal, nor for a request that is too long', async () => {
    own.on(/Refuse/, message([text('No.')], { stopReason: 'refusal' }));
    expect((await service.run(await session(), 'Refuse')).at(-1).stop_reason).to.equal('refusal');
    own.on(/Long/, failure('invalid_request_error', { message: 'prompt is too long: 9 tokens > 8 maximum' }));
    const events = await service.run(await session(), 'Long');
    expect(changeOf(events)).to.equal(undefined);
    expect(events.at(-1).error.type).to.equal('context_too_long');
  });

  it('leave the turn to fail when the last one fails', async () => {
    own.on(/Both/, failure('invalid_request_error'));
    other.on(/Both/, failure('invalid_request_error'));
    const events = await service.run(await session(), 'Both');
    expect(events.filter(({ type }) => type === 'agent.model_changed')).to.have.length(1);
    expect(events.at(-1).error.type).to.equal('model_error');
  });

  it('are called for a model that is gone from the catalogue', async () => {
    const id = await session();
    await service.db.query(`UPDATE sessions SET model_id = 'gone' WHERE id = $1`, [id]);
    const events = await service.run(id, 'Hello');
    expect(changeOf(events)).to.deep.include({ from: 'gone', to: 'other', reason: 'model_error' });
    expect(events.at(-1).type).to.equal('turn.completed');
  });

  it('are of the catalogue, unique, at most three, not the session’s own, and priced in a session with a budget', async () => {
    const create = (body: object) => service.api('POST', '/v1/sessions', { model_id: 'own', ...body });
    expect((await create({})).body.fallback_model_ids).to.deep.equal([]);
    const wrong = async (body: object) => (await create(body)).body.error;
    expect((await wrong({ fallback_model_ids: ['none'] })).type).to.equal('unknown_model');
    for (const [ids, path] of [
      [['own'], '/fallback_model_ids/0'],
      [['other', 'other'], '/fallback_model_ids'],
    ] as const) {
      expect((await wrong({ fallback_model_ids: ids })).details.errors[0].path).to.equal(path);
    }
    const budget = { max_cost: { amount: '1', currency: 'USD' }, on_reached: 'stop' };
    const unpriced = await wrong({ fallback_model_ids: ['other', 'unpriced'], budget });
    expect(unpriced.details.errors[0].path).to.equal('/fallback_model_ids/1');
    const id = await service.session({ model_id: 'own', budget });
    const sent = await service.api('POST', `/v1/sessions/${id}/messages`, { content: 'x', model_id: 'unpriced' });
    expect([sent.status, sent.body.error.details.errors[0].path]).to.deep.equal([422, '/model_id']);
  });
});
