import { expect } from 'chai';
import { eventually } from '../support/eventually.js';
import { budget, PRICE, tokens } from '../support/money.js';
import { TEST_MODEL } from '../support/config.js';
import {
  failure,
  message,
  startScriptedModel,
  text,
  toolUse,
  type Reply,
  type ScriptedModel,
} from '../support/scripted-model.js';
import { startTurnService, type TurnService } from '../support/turns.js';
import { confirmation, requiredActions, sendAnswers } from '../support/waiting-turns.js';
import { expectAcceptedRequests, useRegisteredMcp, useTurnService } from '../support/use.js';

const SCHEMA = {
  type: 'object',
  properties: { late: { type: 'array', items: { type: 'integer' } }, note: { type: 'string' } },
  required: ['late'],
  additionalProperties: false,
};
const VALUE = { late: [4711, 4712] };
const give = (value: Record<string, unknown> = VALUE): Reply => [toolUse('give_output', value)];
const WRONG = { late: ['4711'] };

/** decisions.md "Output schema". */
describe('the output of a turn by a schema', () => {
  const service = useTurnService({ model: { price: PRICE } });
  expectAcceptedRequests(service);

  const post = (id: string, more: object = {}) =>
    service.api('POST', `/v1/sessions/${id}/messages`, { content: 'Which are late?', output_schema: SCHEMA, ...more });
  const turnOf = async (id: string, turnId: string) =>
    (await service.api('GET', `/v1/sessions/${id}/turns/${turnId}`)).body;
  /** Sends a message with the schema to a new session, and waits for the end of its turn. */
  const run = async (replies: Reply[], { session = '', more = {} } = {}) => {
    service.model.reply(...replies);
    const id = session === '' ? await service.session() : session;
    const { status, body } = await post(id, more);
    expect(status, JSON.stringify(body)).to.equal(201);
    const end = await service.ended(id);
    const events = (await service.history(id)).filter(({ turn_id }) => turn_id === body.turn_id);
    return { id, end, events, types: events.map(({ type }) => type), turn: await turnOf(id, body.turn_id) };
  };
  /** The last blocks of the user in the request of that number. */
  const lastOf = (index: number): { type: string; text?: string; content?: { text: string }[]; is_error?: boolean }[] =>
    service.model.requests.at(index)!.body.messages.at(-1)!.content as never;

  it('the output of a turn by a schema is the value of give_output, the last tool, and makes no events of a call', async () => {
    const { id, end, events, types, turn } = await run([[text('Two are late.'), toolUse('give_output', VALUE)]]);
    expect(types).to.deep.equal(['user.message', 'agent.message', 'turn.completed']);
    expect(events[0].output_schema).to.deep.equal(SCHEMA);
    expect(end).to.deep.include({ stop_reason: 'end_turn', output: VALUE });
    expect(turn).to.deep.include({
      status: 'completed',
      stop_reason: 'end_turn',
      output: VALUE,
      message: 'Two are late.',
    });
    expect((await service.api('GET', `/v1/sessions/${id}/turns`)).body.items[0].output).to.deep.equal(VALUE);
    const { tools, system } = service.model.requests.at(-1)!.body;
    expect(tools!.at(-1)).to.deep.include({ name: 'give_output', input_schema: SCHEMA });
    expect(JSON.stringify(system)).to.contain('End this turn with a call of give_output');
  });

  it('the output of a turn by a schema is no part of a turn without a schema, and later turns see what was given', async () => {
    const { id } = await run([give()]);
    service.model.reply('Done.');
    const events = await service.run(id, 'And now?');
    expect(events.at(-1)).not.to.have.property('output');
    expect(await turnOf(id, events[0].turn_id)).not.to.have.property('output');
    const { tools, system, messages } = service.model.requests.at(-1)!.body;
    expect(tools!.map((tool) => (tool as { name: string }).name)).not.to.include('give_output');
    expect(JSON.stringify(system)).not.to.contain('give_output');
    expect(JSON.stringify(messages)).to.contain('"input":{"late":[4711,4712]}').and.to.contain('Accepted.');
  });

  it('the output of a turn by a schema keeps the digits of its numbers', async () => {
    const schema = { type: 'object', properties: { id: { type: 'integer' } } };
    service.model.reply([{ ...toolUse('give_output', {}), source: '{"id":1189238471982374913}' } as never]);
    const id = await service.session();
    const { body } = await post(id, { output_schema: schema });
    await service.ended(id);
    const get = async (path: string): Promise<string> =>
      (
        await fetch(`${service.url}/v1/sessions/${id}/${path}`, { headers: { authorization: `Bearer ${service.key}` } })
      ).text();
    for (const path of [`turns/${body.turn_id}`, 'turns', 'events']) {
      expect(await get(path)).to.contain('"output":{"id":1189238471982374913}');
    }
  });

  it('the output of a turn by a schema is repaired twice: the model gets the errors of a wrong value, and a reminder after an end without one', async () => {
    const { end, types } = await run([give(WRONG), 'They are late.', give()]);
    expect(types).to.deep.equal(['user.message', 'agent.message', 'turn.completed']);
    expect(end).to.deep.include({ stop_reason: 'end_turn', output: VALUE });
    const [result] = lastOf(-2);
    expect(result).to.include({ type: 'tool_result', is_error: true });
    expect(result!.content![0]!.text).to.match(/does not fit the schema.*\n- \/late\/0: .*Expected "integer"/);
    expect(lastOf(-1).at(-1)!.text).to.contain('call give_output');
  });

  it('the output of a turn by a schema ends as output_invalid after the third answer that gives none', async () => {
    for (const replies of [
      [give(WRONG), give({}), give(WRONG)],
      ['One.', 'Two.', 'Three.'],
      [give(WRONG), 'Two.', give(WRONG)],
    ]) {
      const { end, turn } = await run(replies);
      expect(end).to.deep.include({ type: 'turn.completed', stop_reason: 'output_invalid', output: null });
      expect(turn).to.deep.include({ stop_reason: 'output_invalid', output: null });
      expect(service.model.requests).to.have.length(3);
      service.model.reset();
    }
  });

  it('the output of a turn by a schema is not taken beside other calls, which run, and that does not count', async () => {
    const beside: Reply = [toolUse('give_output', VALUE), toolUse('list_files')];
    const { end, types } = await run([
      beside,
      give(WRONG),
      beside,
      [toolUse('give_output', VALUE), toolUse('give_output', VALUE)],
      'No.',
      give(),
    ]);
    expect(types.filter((type) => type === 'agent.tool_use')).to.have.length(2);
    expect(end).to.deep.include({ stop_reason: 'end_turn', output: VALUE });
    const results = service.model.requests[1]!.body.messages.at(-1)!.content as { content: { text: string }[] }[];
    expect(results[0]!.content[0]!.text).to.match(/call give_output alone/);
    expect(results[1]!.content[0]!.text).not.to.match(/alone/);
  });

  it('the output of a turn by a schema waits beside a call that needs an approval', async () => {
    const ask = { type: 'custom', name: 'ask', description: 'Asks.', input_schema: { type: 'object' } };
    const session = await service.session({ tools: [ask] });
    service.model.reply([toolUse('give_output', VALUE), toolUse('ask', {}, {})], give());
    await post(session);
    let waiting: { tool_use_id: string }[] = [];
    await eventually('the tool waits', async () => {
      waiting = (await service.api('GET', `/v1/sessions/${session}`)).body.required_actions;
      return waiting.length === 1;
    });
    const answer = { type: 'user.custom_tool_result', tool_use_id: waiting[0]!.tool_use_id, content: 'yes' };
    expect((await service.api('POST', `/v1/sessions/${session}/events`, { events: [answer] })).status).to.equal(201);
    expect(await service.ended(session)).to.deep.include({ stop_reason: 'end_turn', output: VALUE });
  });

  it('the output of a turn by a schema is null after a refusal, a cut answer, a failure and a cancel', async () => {
    for (const stopReason of ['refusal', 'max_tokens'] as const) {
      const { end, turn } = await run([message(text('No.'), { stopReason })]);
      const expected = stopReason === 'refusal' ? 'refusal' : 'max_output_tokens';
      expect(end).to.deep.include({ stop_reason: expected, output: null });
      expect(turn.output).to.equal(null);
    }
    const gate = service.model.gate();
    service.model.reply([text('Slow'), { kind: 'wait', for: gate }]);
    const id = await service.session();
    const { turn_id } = (await post(id)).body;
    await gate.reached;
    expect((await turnOf(id, turn_id)).output).to.equal(null);
    await service.api('POST', `/v1/sessions/${id}/cancel`);
    const end = await service.ended(id);
    expect(end.type).to.equal('turn.cancelled');
    expect(end).not.to.have.property('output');
    expect((await turnOf(id, turn_id)).output).to.equal(null);
    // What goes on after it must end with an output, too.
    service.model.reply(give());
    const { body } = await service.api('POST', `/v1/sessions/${id}/continue`);
    expect(await service.ended(id)).to.deep.include({ stop_reason: 'end_turn', output: VALUE });
    expect((await turnOf(id, body.turn_id)).output).to.deep.equal(VALUE);
  });

  it('the output of a turn by a schema is null when the budget is reached, also in a turn that continues', async () => {
    const session = await service.session({ budget: budget('0.5', 'stop'), thinking_enabled: false });
    service.model.reply(message([toolUse('list_files')], tokens(300)));
    const { body } = await post(session);
    expect(await service.ended(session)).to.deep.include({ stop_reason: 'budget_reached', output: null });
    expect((await turnOf(session, body.turn_id)).output).to.equal(null);
    await service.api('POST', `/v1/sessions/${session}/continue`);
    expect(await service.ended(session)).to.deep.include({ stop_reason: 'budget_reached', output: null });
    const plain = await service.session({ budget: budget('0.1', 'stop'), thinking_enabled: false });
    expect((await service.run(plain, 'Hello')).at(-1)).not.to.have.property('output');
  });

  it('the output of a turn by a schema is given by a message that waits in the queue, and refused for one that steers', async () => {
    const gate = service.model.gate();
    service.model.reply([text('Slow'), { kind: 'wait', for: gate }], give());
    const id = await service.session();
    await service.send(id, 'Hello');
    await gate.reached;
    const steer = await post(id, { when_running: 'steer' });
    expect(steer.status).to.equal(422);
    expect(steer.body.error.details.errors[0].path).to.equal('/output_schema');
    const { status, body } = await post(id, { when_running: 'queue' });
    expect([status, body.state, body.output_schema]).to.deep.equal([201, 'queued', SCHEMA]);
    gate.open();
    await eventually('the queue is empty', async () => {
      const { queue, status } = (await service.api('GET', `/v1/sessions/${id}`)).body;
      return queue.length === 0 && status !== 'RUNNING';
    });
    expect(await service.ended(id)).to.deep.include({ stop_reason: 'end_turn', output: VALUE });
  });

  it('the output of a turn by a schema is refused with 422 where the schema is too large, broken or slow', async () => {
    const id = await service.session();
    const deep = (levels: number): object =>
      levels === 0
        ? { type: 'string' }
        : { allOf: [{ $ref: `#/$defs/d${levels - 1}` }, { $ref: `#/$defs/d${levels - 1}` }] };
    const cases: [object, RegExp][] = [
      [{ type: 'array' }, /equal/],
      [{ type: 'object', description: 'x'.repeat(33_000) }, /at most 32 KiB/],
      [{ type: 'object', enum: Array(5).fill(Array(900).fill(0)) }, /at most 4000 JSON values/],
      [{ type: 'object', properties: { a: { type: 'text' } } }, /\/properties\/a\/type/],
      [{ type: 'object', $ref: 'https://example.com/a.json' }, /must lead to a part of the schema/],
      [
        {
          type: 'object',
          $ref: '#/$defs/d40',
          $defs: Object.fromEntries(Array.from({ length: 41 }, (_, n) => [`d${n}`, deep(n)])),
        },
        /longer than 100 ms/,
      ],
    ];
    for (const [schema, reason] of cases) {
      const { status, body } = await post(id, { output_schema: schema });
      const [error] = body.error.details.errors;
      expect([status, error.path.startsWith('/output_schema')], reason.source).to.deep.equal([422, true]);
      expect(error.message, reason.source).to.match(reason);
      const message = { content: 'Hi', output_schema: schema };
      const target = { type: 'existing_session', session_id: id };
      const schedule = await service.api('POST', '/v1/schedules', { cron: '0 8 * * *', target, message });
      expect(schedule.body.error.details.errors[0].path).to.match(/^\/message\/output_schema/);
    }
    expect((await service.history(id)).length).to.equal(0);
  });

  it('the output of a turn by a schema does not run for ever where a pattern does: the value is wrong', async () => {
    const schema = { type: 'object', properties: { a: { type: 'string', pattern: '^(a+)+$' } }, required: ['a'] };
    const slow = give({ a: `${'a'.repeat(60)}!` });
    const { end } = await run([slow, slow, slow], { more: { output_schema: schema } });
    expect(end).to.deep.include({ stop_reason: 'output_invalid', output: null });
    expect(lastOf(-1)[0]!.content![0]!.text).to.match(/takes longer than 100 ms/);
  });

  it('the output of a turn by a schema sets no more breakpoints of the prompt cache than the API allows, with an instruction', async () => {
    const session = await service.session({ instruction: 'Be brief.' });
    await run([give(WRONG), 'One.', give()], { session });
    const marked = JSON.stringify(service.model.requests.at(-1)!.body).match(/"cache_control"/g);
    expect(marked!.length).to.be.within(3, 4);
  });

  it('the output of a turn by a schema is a name that custom tools cannot have', async () => {
    const tool = { type: 'custom', name: 'give_output', description: '', input_schema: { type: 'object' } };
    const { status, body } = await service.api('POST', '/v1/sessions', { model_id: 'scripted', tools: [tool] });
    expect([status, body.error.details.errors[0].path]).to.deep.equal([422, '/tools/0/name']);
  });
});

describe('the output of a turn at its last step', () => {
  const service = useTurnService({
    config: { maxSteps: 2 },
    model: { context_window: 2_000_000, max_output_tokens: 500_000 },
  });
  expectAcceptedRequests(service);

  it('the output of a turn at its last step is taken if it is valid; else the turn ends as max_steps', async () => {
    const run = async (...replies: Reply[]) => {
      service.model.reply(...replies);
      const id = await service.session();
      await service.send(id, 'Which?', { output_schema: SCHEMA });
      return service.ended(id);
    };
    expect(await run([toolUse('list_files')], give())).to.deep.include({ stop_reason: 'end_turn', output: VALUE });
    for (const last of [give(WRONG), 'No.', [toolUse('give_output', VALUE), toolUse('list_files')] as Reply]) {
      expect(await run([toolUse('list_files')], last)).to.deep.include({ stop_reason: 'max_steps', output: null });
    }
  });

  it('the output of a turn at its last step has at most 256 KiB', async () => {
    const schema = { type: 'object', properties: { a: { type: 'string' } } };
    const fits = { a: 'x'.repeat(256 * 1024 - 8) };
    service.model.reply(give({ a: `${fits.a}x` }), give(fits));
    const id = await service.session();
    await service.send(id, 'Which?', { output_schema: schema });
    expect(await service.ended(id)).to.deep.include({ stop_reason: 'end_turn', output: fits });
    expect(JSON.stringify(service.model.requests.at(-1)!.body.messages.at(-1))).to.match(/at most 262144/);
  });
});

describe('the output of a turn that more than its own model works on', () => {
  const WINDOW = 8000;
  const { service, registered } = useRegisteredMcp(
    'shop',
    { tools: [{ name: 'look', run: () => 'Something that was found. '.repeat(100) }] },
    { model: { context_window: WINDOW, max_output_tokens: 1000 }, scripted: { contextWindow: WINDOW } },
  );
  expectAcceptedRequests(service);

  it('the output of a turn that more than its own model works on is given after a person has allowed a call', async () => {
    const ask = { permission_policy: { type: 'always_ask' } };
    const id = await service.session({
      mcp_servers: [registered.id],
      tools: [{ type: 'mcp_toolset', mcp_server_id: registered.id, default_config: ask }],
    });
    service.model.reply([toolUse('mcp__shop__look')], give());
    await service.send(id, 'Which?', { output_schema: SCHEMA });
    const [action] = await requiredActions(service, id);
    await sendAnswers(service, id, [confirmation(action!.tool_use_id, 'allow')]);
    expect(await service.ended(id)).to.deep.include({ stop_reason: 'end_turn', output: VALUE });
  });

  it('the output of a turn that more than its own model works on is given in a session whose older turns are summarised', async () => {
    service.model.on(/<transcript>/, () => text('SUMMARY'));
    const id = await service.session({ mcp_servers: [registered.id], thinking_enabled: false });
    const types = async () => (await service.history(id)).map(({ type }) => type as string);
    while (!(await types()).includes('agent.context_compacted')) {
      service.model.reply([toolUse('mcp__shop__look')], give());
      await service.send(id, 'Which?', { output_schema: SCHEMA });
      expect(await service.ended(id)).to.deep.include({ stop_reason: 'end_turn', output: VALUE });
    }
    const { tools } = service.model.requests.at(-1)!.body;
    expect(tools!.at(-1)).to.deep.include({ name: 'give_output' });
  });
});

describe('the output of a turn whose model fails', () => {
  let own: ScriptedModel;
  let other: ScriptedModel;
  let service: TurnService;
  before(async () => {
    [own, other] = await Promise.all([startScriptedModel(), startScriptedModel()]);
    const models = [own, other].map(({ url }, n) => ({
      ...TEST_MODEL,
      ...{ id: ['own', 'other'][n]!, model: 'm', base_url: url },
    }));
    service = await startTurnService({ models });
  });
  after(async () => {
    await service.close();
    await Promise.all([own.close(), other.close()]);
  });

  it('the output of a turn whose model fails is given by the fallback model, which counts the wrong values of the first one', async () => {
    own.reply(give(WRONG), failure('invalid_request_error'));
    other.reply(give(WRONG), give());
    const id = await service.session({ model_id: 'own', fallback_model_ids: ['other'], thinking_enabled: false });
    await service.send(id, 'Which?', { output_schema: SCHEMA });
    expect(await service.ended(id)).to.deep.include({ stop_reason: 'end_turn', output: VALUE });
    expect((await service.history(id)).map(({ type }) => type)).to.include('agent.model_changed');
  });
});
