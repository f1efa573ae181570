import { expect } from 'chai';
import { MAX_FORKED_BYTES, MAX_FORKED_EVENTS } from '../../src/turns/fork.js';
import { cleanStorage } from '../../src/files/maintenance.js';
import { openStorage } from '../../src/files/open-storage.js';
import { purgeSessions } from '../../src/sessions/purge.js';
import { insertEndedTurns, insertWait } from '../support/factories.js';
import { holdStatement } from '../support/held-statement.js';
import { streaming } from '../support/open-turn.js';
import {
  failure,
  startScriptedModel,
  text,
  thinking,
  toolUse,
  type ReceivedRequest,
  type ScriptedModel,
} from '../support/scripted-model.js';
import { TEST_MODEL } from '../support/config.js';
import { PRICE } from '../support/money.js';
import { startTurnService, type TurnService } from '../support/turns.js';
import { skillMd, zip } from '../src/skills/zip.js';
import type { ModelEntry } from '../../src/models/catalogue.js';
import { upload } from '../support/upload.js';
import { confirmation, customResult, customTool, requiredActions, sendAnswers } from '../support/waiting-turns.js';
import { expectAcceptedRequests, useRegisteredMcp } from '../support/use.js';

const WINDOW = 8000;
/** What is new in a copy. Tool ids and message ids stay. */
const NEW_IDS = /(ses|turn|evt)_[0-9a-z]{26}/g;
const TIMES = /\d{4}-\d\d-\d\d[T ]\d\d:\d\d[^\s"\\<,]*/g;

/** decisions.md "Forks". */
describe('a fork of a session', function () {
  this.timeout(170_000);
  let found = 'Found it. '.repeat(250);
  const { mcp, service, registered } = useRegisteredMcp(
    'shop',
    { tools: [{ name: 'look', run: () => found }, { name: 'buy' }] },
    { model: { context_window: WINDOW, max_output_tokens: 1000, price: PRICE }, scripted: { contextWindow: WINDOW } },
  );
  expectAcceptedRequests(service);

  const session = async (id: string) => (await service.api('GET', `/v1/sessions/${id}`)).body;
  const fork = (id: string, body: object = {}) => service.api('POST', `/v1/sessions/${id}/fork`, body);
  const forked = async (id: string, body: object = {}) => {
    const { status, body: copy } = await fork(id, body);
    expect(status, JSON.stringify(copy)).to.equal(201);
    return copy;
  };
  const turnsOf = async (id: string) => {
    const { body } = await service.api('GET', `/v1/sessions/${id}/turns?limit=100`);
    return (body.items as { id: string; created_at: string }[]).reverse();
  };

  /** What one turn of the long session does: it sends the message and waits for the end. */
  const kinds: Record<string, (id: string, message: string) => Promise<unknown>> = {
    plain: async (id, message) => {
      service.model.reply([thinking('Hm.'), text(`Answer to ${message}`)]);
      await service.run(id, message);
    },
    tool: async (id, message) => {
      service.model.reply([text('I look.'), toolUse('mcp__shop__look', { for: message })], 'Found.');
      await service.run(id, message);
    },
    approval: async (id, message) => {
      service.model.reply([toolUse('mcp__shop__buy', { n: 1 }), toolUse('mcp__shop__buy', { n: 2 })], 'Bought one.');
      await service.send(id, message);
      const [first, second] = await requiredActions(service, id, 2);
      await sendAnswers(service, id, [
        confirmation(first!.tool_use_id, 'allow'),
        confirmation(second!.tool_use_id, 'deny', 'Too dear'),
      ]);
      await service.ended(id);
    },
    custom: async (id, message) => {
      service.model.reply([toolUse('get_weather')], 'It rains.');
      await service.send(id, message);
      const [action] = await requiredActions(service, id, 1);
      await sendAnswers(service, id, [customResult(action!.tool_use_id, 'rain')]);
      await service.ended(id);
    },
    steered: async (id, message) => {
      const { gate } = await streaming(service, { sessionId: id, content: message, then: [toolUse('list_files')] });
      await service.api('POST', `/v1/sessions/${id}/messages`, { content: 'And red', when_running: 'steer' });
      service.model.reply('Red it is.');
      gate.open();
      await service.ended(id);
    },
    cancelled: async (id, message) => {
      await streaming(service, { sessionId: id, content: message });
      await service.api('POST', `/v1/sessions/${id}/cancel`);
      await service.ended(id);
    },
    continued: async (id, message) => {
      service.model.reply([toolUse('mcp__shop__look')], failure('invalid_request_error'));
      await service.run(id, message);
      service.model.reply('It continues.');
      await service.api('POST', `/v1/sessions/${id}/continue`);
      await service.ended(id);
    },
    file: async (id, message) => {
      const { body: file } = await upload(service, 'notes.txt', `Notes about ${message}`);
      service.model.reply([toolUse('deliver_file', { filename: 'out.txt', content: 'Out' })], 'Delivered.');
      await service.send(id, message, { files: [file.id] });
      await service.ended(id);
    },
    skill: async (id, message) => {
      service.model.reply([toolUse('use_skill', { name: 'report' })], 'Reported.');
      await service.send(id, message, { skills });
      await service.ended(id);
    },
  };

  const skills: string[] = [];
  before(async () => {
    const form = new FormData();
    form.set(
      'file',
      new Blob([new Uint8Array(zip([{ name: 'SKILL.md', content: skillMd('report', 'About it.', 'Secret.') }]))]),
      'a.zip',
    );
    skills.push((await service.api('POST', '/v1/skills', form)).body.id);
  });

  it('a fork of a session gives the model what the original gave it, at every turn of a session with all that turns can have', async () => {
    const original = await service.session({
      thinking_enabled: false,
      mcp_servers: [registered.id],
      instruction: 'Mind the words.',
      tools: [
        {
          type: 'mcp_toolset',
          mcp_server_id: registered.id,
          configs: [{ name: 'buy', permission_policy: { type: 'always_ask' } }],
        },
        customTool('get_weather'),
      ],
    });
    service.model.on(/<transcript>/, () => text('SUMMARY'));
    const order = [...Object.keys(kinds), 'tool', 'tool', 'tool', ...Object.keys(kinds).reverse(), 'tool', 'plain'];
    for (const [index, kind] of order.entries()) await kinds[kind]!(original, `Message ${index} (${kind})`);
    const history = await service.history(original);
    expect(history.map(({ type }) => type)).to.include('agent.context_compacted');

    const turns = await turnsOf(original);
    const messages = history.filter(({ type, delivered_at_step }) => type === 'user.message' && !delivered_at_step);
    const firstRequestOf = (content: string, requests: readonly ReceivedRequest[]) =>
      requests.find(({ userText, step }) => step === 0 && userText.includes(content) && !isSummary(userText))!.body;
    const requests = [...service.model.requests];
    for (const { turn_id, content, files, skills: chosen } of messages) {
      const copy = await forked(original, { before_turn_id: turn_id });
      const number = turns.findIndex(({ id }) => id === turn_id);
      expect((await turnsOf(copy.id)).map(({ created_at }) => created_at)).to.deep.equal(
        turns.slice(0, number).map(({ created_at }) => created_at),
      );
      service.model.reset();
      service.model.on(/<transcript>/, () => text('SUMMARY'));
      await service.send(copy.id, content, { files: idsOf(files), skills: idsOf(chosen) });
      await service.ended(copy.id);
      const [got, wanted] = [service.model.requests, requests].map((all) =>
        shown(firstRequestOf(content, all), content),
      );
      expect(got, content).to.deep.equal(wanted);
    }
    expect(mcp.calls.filter(({ name }) => name === 'buy')).to.have.length(2);
  });

  it('a fork of a session has the history of the original under new ids, and names where it comes from', async () => {
    const original = await service.session({ metadata: { team: 'red' } });
    await kinds.plain!(original, 'One');
    await kinds.tool!(original, 'Two');
    await kinds.continued!(original, 'Three');
    const copy = await forked(original, { metadata: { team: 'blue' } });
    const source = await session(original);
    expect(copy).to.deep.include({
      ...{ status: source.status, preview: source.preview, continuable: source.continuable, model_id: source.model_id },
      forked_from: { session_id: original, turn_id: source.last_turn_id, workspace: null },
      metadata: { team: 'blue' },
      queue: { length: 0, state: 'open' },
    });
    const [before, after] = await Promise.all([service.history(original), service.history(copy.id)]);
    expect(JSON.stringify(after).replaceAll(NEW_IDS, '$1')).to.equal(JSON.stringify(before).replaceAll(NEW_IDS, '$1'));
    const old = new Set(JSON.stringify(before).match(NEW_IDS));
    expect((JSON.stringify(after).match(NEW_IDS) ?? []).filter((id) => old.has(id))).to.deep.equal([]);
    const continued = after.find(({ type }) => type === 'turn.continued');
    expect(continued.continues_turn_id).to.equal((await turnsOf(copy.id))[2]!.id);
    const stream = await service.stream(copy.id);
    const end = await stream.until(({ event }) => event === 'turn.completed');
    expect(end.data.id).to.equal(after.at(-1).id);
    stream.close();
    expect(await session(original)).to.deep.equal(source);
    expect((await session(await service.session())).forked_from).to.equal(null);
  });

  it('a fork of a session costs nothing for what was copied, and has the whole budget', async () => {
    const budget = { max_cost: { amount: '5', currency: 'USD' }, on_reached: 'stop' };
    const original = await service.session({ budget });
    await kinds.plain!(original, 'One');
    const spent = (await session(original)).cost;
    expect(Number(spent.amount)).to.be.above(0);
    const usage = async () => (await service.api('GET', '/v1/usage?group_by=session')).body.items;
    const before = await usage();
    const copy = await forked(original);
    expect(copy).to.deep.include({ cost: { amount: '0', currency: 'USD' }, budget });
    expect(await usage()).to.deep.equal(before);
    service.model.reply([thinking('Hm.'), text('Answer to One')]);
    await service.run(copy.id, 'Again');
    const own = (await service.history(copy.id)).at(-1).usage_details.cost;
    expect((await session(copy.id)).cost).to.deep.equal(own);
    expect((await session(original)).cost).to.deep.equal(spent);
    const again = await forked(copy.id);
    expect(again.cost.amount).to.equal('0');
    expect(again.forked_from.session_id).to.equal(copy.id);
  });

  it('a fork of a session copies the ended turns while another one is open, and refuses the open one itself', async () => {
    const original = await service.session();
    await kinds.plain!(original, 'One');
    const { turnId, gate } = await streaming(service, { sessionId: original });
    await service.api('POST', `/v1/sessions/${original}/messages`, { content: 'Later', when_running: 'queue' });
    const [first] = await turnsOf(original);
    for (const body of [{}, { before_turn_id: turnId }, { after_turn_id: first!.id }]) {
      const copy = await forked(original, body);
      expect(copy).to.deep.include({ status: 'COMPLETE', required_actions: [], queue: { length: 0, state: 'open' } });
      expect(copy.forked_from.turn_id).to.equal(first!.id);
      expect(await turnsOf(copy.id)).to.have.length(1);
    }
    expect((await fork(original, { after_turn_id: turnId })).body.error.type).to.equal('session_running');
    const empty = await forked(original, { before_turn_id: first!.id });
    expect(empty).to.deep.include({ status: 'IDLE', preview: null, last_turn_id: null });
    expect(empty.forked_from).to.deep.equal({ session_id: original, turn_id: null, workspace: null });
    service.model.reply('Later.');
    gate.open();
    await service.ended(original);
  });

  it('a fork of a session leaves nothing behind when its transaction is lost in the middle, and happens once when it is sent again', async () => {
    const original = await service.session();
    await kinds.plain!(original, 'One');
    const counts = async () =>
      service.db.query(
        `SELECT (SELECT count(*) FROM sessions) AS sessions, (SELECT count(*) FROM turns) AS turns,
           (SELECT count(*) FROM events) AS events, (SELECT count(*) FROM model_steps) AS steps`,
      );
    const before = await counts();
    const key = { 'Idempotency-Key': `fork-${original}` };
    const send = () => service.api('POST', `/v1/sessions/${original}/fork`, {}, key);
    const held = await holdStatement(service.db, 'INSERT ON events');
    const lost = send();
    await held.reached();
    await held.lose();
    expect((await lost).status).to.equal(503);
    await held.release();
    expect(await counts()).to.deep.equal(before);
    const copy = await send();
    expect(copy.status).to.equal(201);
    expect((await send()).body).to.deep.equal(copy.body);
    const other = await service.api('POST', `/v1/sessions/${original}/fork`, { metadata: { a: 'b' } }, key);
    expect([other.status, other.body.error.type]).to.deep.equal([422, 'idempotency_key_reused']);
  });

  it('a fork of a session has every column of the rows that it copies, but those that are its own', async () => {
    const original = await service.session({ thinking_enabled: false, mcp_servers: [registered.id] });
    await kinds.tool!(original, 'One');
    const [turn] = await turnsOf(original);
    const place = { turnId: turn!.id, sessionId: original, state: 'cancelled' };
    await insertWait(service.db, place);
    const ask = { mcp_server_id: registered.id, end_user: 'ada' };
    await insertWait(service.db, { ...place, kind: 'mcp_authorization', ask });
    const copy = await forked(original);
    for (const [table, [key, own]] of Object.entries(OWN_COLUMNS)) {
      const rows = (id: string): Promise<Record<string, unknown>[]> =>
        service.db.query(
          `SELECT t.* FROM ${table} t WHERE ${key} = $1 OR ${key} IN (SELECT id FROM turns WHERE session_id = $1)
           ORDER BY to_jsonb(t)->>'number', to_jsonb(t)->>'turn_number', to_jsonb(t)->>'step', to_jsonb(t)->>'position', to_jsonb(t)->>'index'`,
          [id],
        );
      const [before, after] = (await Promise.all([rows(original), rows(copy.id)])).map((all) =>
        all.map((row) => Object.fromEntries(Object.entries(row).filter(([name]) => !own.includes(name)))),
      );
      expect(before, table).not.to.have.length(0);
      expect(after, table).to.deep.equal(before);
    }
  });

  it('a fork of a session is refused for turns that the session does not have, and for two places at once', async () => {
    const [original, other] = [await service.session(), await service.session()];
    await kinds.plain!(other, 'One');
    const [turn] = await turnsOf(other);
    for (const field of ['before_turn_id', 'after_turn_id']) {
      const { status, body } = await fork(original, { [field]: turn!.id });
      expect([status, body.error.type]).to.deep.equal([404, 'turn_not_found']);
    }
    const both = await fork(original, { before_turn_id: turn!.id, after_turn_id: turn!.id });
    expect([both.status, both.body.error.details.errors[0].path]).to.deep.equal([422, '/after_turn_id']);
    const without = await service.api('POST', `/v1/sessions/${other}/fork`);
    expect(without.status).to.equal(201);
  });

  it('a fork of a session keeps what the original loses: a result that is stored apart outlives the session that made it', async () => {
    const original = await service.session({ thinking_enabled: false, mcp_servers: [registered.id] });
    const before = found;
    found = 'A long line of text.\n'.repeat(6000);
    service.model.reply([toolUse('mcp__shop__look', {}, { id: 'toolu_long' })], 'Seen.');
    await service.run(original, 'Look');
    found = before;
    const copy = await forked(original);
    const second = await forked(copy.id);
    for (const gone of [original, copy.id]) {
      expect((await service.api('DELETE', `/v1/sessions/${gone}`)).status).to.equal(204);
      await service.db.query(`UPDATE sessions SET deleted_at = deleted_at - interval '2 hours' WHERE id = $1`, [gone]);
    }
    await purgeSessions(service.db, 1000);
    await cleanStorage(service.db, await openStorage(service.config), { olderThanSeconds: 0, limit: 10_000 });
    expect(await service.db.query('SELECT FROM sessions WHERE id = $1', [original])).to.have.length(0);
    service.model.reply([toolUse('read_file', { file_id: 'toolu_long' })], 'Read.');
    const events = await service.run(second.id, 'Read it');
    expect(events.find(({ type }) => type === 'agent.tool_result').content).to.include('A long line');
  });

  it('a fork of a session has at most 20,000 events, and is whole or not there', async () => {
    const original = await service.session();
    await insertEndedTurns(service.db, original, { count: MAX_FORKED_EVENTS / 200, results: 197 });
    const copy = await forked(original);
    const count = async (id: string) =>
      (
        await service.db.query<[{ n: number }]>('SELECT count(*)::integer AS n FROM events WHERE session_id = $1', [id])
      )[0].n;
    expect(await count(copy.id)).to.equal(MAX_FORKED_EVENTS);
    await kinds.plain!(original, 'One more');
    const { status, body } = await fork(original);
    expect([status, body.error.type]).to.deep.equal([422, 'fork_too_large']);
    expect(body.error.details).to.deep.equal({ max_events: MAX_FORKED_EVENTS, max_bytes: MAX_FORKED_BYTES });
  });
});

describe('a fork with another model', () => {
  let model: ScriptedModel;
  let service: TurnService;
  before(async () => {
    model = await startScriptedModel();
    const entry = (id: string, price?: ModelEntry['price']): ModelEntry => ({
      ...TEST_MODEL,
      ...{ id, model: `${id}-1`, base_url: model.url, ...(price && { price }) },
    });
    service = await startTurnService({ models: [entry('own', PRICE), entry('other', PRICE), entry('unpriced')] });
  });
  after(async () => {
    await service.close();
    await model.close();
  });
  const fork = (id: string, body: object) => service.api('POST', `/v1/sessions/${id}/fork`, body);

  it('a fork with another model can have another model, which its fallback models and its budget must fit', async () => {
    const budget = { max_cost: { amount: '5', currency: 'USD' }, on_reached: 'stop' };
    const original = await service.session({ model_id: 'own', fallback_model_ids: ['other'] });
    const limited = await service.session({ model_id: 'own', budget });
    await service.run(original, 'One');
    const { body: copy } = await fork(original, { model_id: 'unpriced' });
    expect(copy).to.deep.include({ model_id: 'unpriced', cost: null, thinking_enabled: true });
    const turn = (await service.api('GET', `/v1/sessions/${copy.id}/turns`)).body.items[0];
    expect(turn.model_id).to.equal('own');
    await service.run(copy.id, 'Two');
    expect(model.requests.at(-1)!.body.model).to.equal('unpriced-1');
    expect((await fork(original, { model_id: 'nope' })).body.error.type).to.equal('unknown_model');
    for (const [id, model_id] of [
      [original, 'other'],
      [limited, 'unpriced'],
    ]) {
      const { status, body } = await fork(id!, { model_id });
      expect([status, body.error.details.errors[0].path]).to.deep.equal([422, '/model_id']);
    }
  });
});

/** Of each table: the column that names the session or the turn, and the columns that a copy has of its own. */
const OWN_COLUMNS: Record<string, [key: string, own: string[]]> = {
  sessions: [
    'id',
    [
      ...['id', 'last_turn_id', 'created_at', 'metadata_updated_at', 'forked_from_session_id', 'forked_from_turn_id'],
      ...['metadata_terms', 'configuration_id'],
    ],
  ],
  configurations: ['id', ['id']],
  turns: [
    'session_id',
    [
      ...['id', 'session_id', 'copied_from', 'model_id', 'trace', 'cost', 'is_unpriced', 'cost_before', 'was_unpriced'],
      ...['continues_turn_id', 'has_waiting', 'configuration_id', 'sent_by_key', 'sent_by_actor'],
    ],
  ],
  events: ['session_id', ['id', 'session_id', 'turn_id']],
  turn_servers: ['turn_id', ['turn_id']],
  // What names the activity of a call: it has ended.
  model_calls: ['turn_id', ['turn_id', 'task_token']],
  model_steps: ['turn_id', ['turn_id']],
  tool_calls: ['turn_id', ['turn_id', 'task_token', 'holds_task']],
  waits: ['turn_id', ['turn_id', 'session_id']],
  session_states: ['session_id', ['session_id', 'created_at', 'active_at']],
};

const idsOf = (items: { id: string }[]): string[] => items.map(({ id }) => id);
const isSummary = (userText: string): boolean => userText.includes('<transcript>');

/** A request without the ids that a copy has anew, and without the time of the message that was sent again. */
function shown({ messages, ...rest }: { messages: object[] }, content: string): unknown {
  const [last] = messages.slice(-1);
  const sent = JSON.stringify(last);
  expect(sent).to.include(content);
  return JSON.parse(
    JSON.stringify({ ...rest, messages: [...messages.slice(0, -1), sent.replaceAll(TIMES, 'TIME')] }).replaceAll(
      NEW_IDS,
      '$1',
    ),
  );
}
