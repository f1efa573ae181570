import { expect } from 'chai';
import { findTurnOfSession, listTurns } from '../../../src/turns/find-turns.js';
import { failure, message, text, toolUse, wait } from '../../support/scripted-model.js';
import { insertEndedTurns, insertSessions } from '../../support/factories.js';
import { countRowsRead } from '../../support/rows-read.js';
import { keyIdOf } from '../../support/tokens.js';
import { startTurnService, type TurnService } from '../../support/turns.js';
import { useTurnService } from '../../support/use.js';

const tool = { type: 'custom', name: 'ask', description: 'Asks.', input_schema: { type: 'object' } };

/** decisions.md "Results", "Turns". */
describe('turns', () => {
  const service = useTurnService();
  afterEach(() => service.model.reset());

  // oxlint-disable-next-line typescript/no-explicit-any -- tests look into fields of many types
  const turn = async (sessionId: string, turnId: string): Promise<any> => {
    const { status, body } = await service.api('GET', `/v1/sessions/${sessionId}/turns/${turnId}`);
    expect(status).to.equal(200);
    return body;
  };
  const eventsOf = async (sessionId: string, turnId: string) =>
    (await service.history(sessionId)).filter(({ turn_id }) => turn_id === turnId);

  const nothing = {
    ended_at: null,
    stop_reason: null,
    error: null,
    usage: null,
    usage_details: null,
    timing: null,
    message: null,
    continues_turn_id: null,
    agent: null,
    parent_turn_id: null,
  };
  const senderOf = async ({ db, key }: Pick<TurnService, 'db' | 'key'>) => ({
    key_id: await keyIdOf(db, key),
    actor: null,
  });

  it('turns show what a completed turn has come to', async () => {
    service.model.reply([text('First.'), toolUse('list_files')]);
    service.model.reply(message(text('And last.')));
    const sessionId = await service.session();
    const turnId = await service.send(sessionId, 'Go');
    const end = await service.ended(sessionId);
    const events = await eventsOf(sessionId, turnId);
    const { started_at, ...rest } = await turn(sessionId, turnId);
    expect(rest).to.deep.equal({
      ...nothing,
      id: turnId,
      session_id: sessionId,
      status: 'completed',
      model_id: 'scripted',
      created_at: events[0].created_at,
      ended_at: end.created_at,
      stop_reason: 'end_turn',
      usage: end.usage,
      usage_details: end.usage_details,
      timing: end.timing,
      message: 'And last.',
      sent_by: await senderOf(service),
    });
    expect(started_at >= rest.created_at && started_at <= rest.ended_at).to.equal(true);
    expect(end.usage_details.model_calls).to.equal(2);
  });

  it('turns show why a turn failed, and the part of a message that was cut off', async () => {
    service.model.reply(failure('invalid_request_error'));
    const sessionId = await service.session();
    const failed = await service.send(sessionId, 'Go');
    const { error } = await service.ended(sessionId);
    expect(await turn(sessionId, failed)).to.deep.include({
      status: 'failed',
      error,
      stop_reason: null,
      message: null,
    });
    expect(error.type).to.equal('model_error');

    const gate = service.model.gate();
    service.model.reply([text('Half of '), wait(gate)]);
    const cancelled = await service.send(sessionId, 'Go on');
    const live = await service.stream(sessionId);
    await live.until(({ event }) => event === 'agent.message.delta');
    await service.api('POST', `/v1/sessions/${sessionId}/cancel`);
    const end = await service.ended(sessionId);
    live.close();
    const shown = await turn(sessionId, cancelled);
    expect(shown).to.deep.include({ status: 'cancelled', error: null, stop_reason: null, usage: end.usage });
    expect(shown.message).to.equal('Half of ');
    expect(shown.timing).to.deep.equal(end.timing);
  });

  it('turns show a turn as it goes: queued, running, waiting', async () => {
    const idle = await startTurnService({ workers: 0 });
    try {
      const sessionId = await idle.session({ tools: [tool] });
      const turnId = await idle.send(sessionId, 'Go');
      const path = `/v1/sessions/${sessionId}/turns/${turnId}`;
      const get = async () => (await idle.api('GET', path)).body;
      const [{ created_at }] = await idle.history(sessionId);
      const shown = {
        ...nothing,
        started_at: null,
        id: turnId,
        session_id: sessionId,
        model_id: 'scripted',
        created_at,
        sent_by: await senderOf(idle),
      };
      expect(await get()).to.deep.equal({ ...shown, status: 'queued' });

      // One that is cancelled before a worker takes it has no start.
      const other = await idle.session();
      const cancelled = await idle.send(other, 'Go');
      await idle.api('POST', `/v1/sessions/${other}/cancel`);
      const end = await idle.ended(other);
      const { body } = await idle.api('GET', `/v1/sessions/${other}/turns/${cancelled}`);
      expect(body).to.deep.include({ status: 'cancelled', started_at: null, usage: null, ended_at: end.created_at });
      expect(body.timing).to.deep.equal(end.timing);

      const gate = idle.model.gate();
      idle.model.reply([text('Let me '), wait(gate), text('ask.'), toolUse('ask', {}, { id: 'toolu_1' })]);
      idle.model.reply(message(text('Done.')));
      await idle.startWorker();
      await gate.reached;
      const running = await get();
      expect(running).to.deep.equal({ ...shown, status: 'running', started_at: running.started_at });
      expect(running.started_at).to.be.a('string');

      const live = await idle.stream(sessionId);
      gate.open();
      await live.until(({ event }) => event === 'agent.requires_action');
      live.close();
      expect(await get()).to.deep.equal({ ...running, status: 'waiting', message: 'Let me ask.' });
      const answer = { type: 'user.custom_tool_result', tool_use_id: 'toolu_1', content: 'Yes.' };
      await idle.api('POST', `/v1/sessions/${sessionId}/events`, { events: [answer] });
      await idle.ended(sessionId);
      expect(await get()).to.include({ status: 'completed', message: 'Done.' });
    } finally {
      await idle.close();
    }
  });

  it('turns are listed newest first, in pages that new turns do not shift', async () => {
    const sessionId = await service.session();
    const list = async (query: string) => (await service.api('GET', `/v1/sessions/${sessionId}/turns?${query}`)).body;
    expect(await list('')).to.deep.equal({ items: [], meta: { next_cursor: null } });
    const ids: string[] = [];
    const send = async () => {
      ids.unshift(await service.send(sessionId, 'Go'));
      await service.ended(sessionId);
    };
    for (let count = 0; count < 5; count += 1) await send();
    const first = await list('limit=2');
    await send();
    const second = await list(`limit=2&cursor=${first.meta.next_cursor}`);
    const third = await list(`limit=2&cursor=${second.meta.next_cursor}`);
    const shown = [first, second, third].flatMap(({ items }) => items as { id: string }[]);
    expect(shown.map(({ id }) => id)).to.deep.equal(ids.slice(1));
    expect(third.meta.next_cursor).to.equal(null);
    expect(shown[0]).to.deep.equal(await turn(sessionId, ids[1]!));

    const another = await service.session();
    const foreign = await service.api('GET', `/v1/sessions/${another}/turns?cursor=${first.meta.next_cursor}`);
    expect(foreign.body.error.type).to.equal('invalid_cursor');
  });

  it('turns are those of their session', async () => {
    const sessionId = await service.session();
    const turnId = await service.send(sessionId, 'Go');
    await service.ended(sessionId);
    const another = await service.session();
    for (const path of [`${another}/turns/${turnId}`, `${sessionId}/turns/turn_none`, `${sessionId}/turns/%00`]) {
      const { status, body } = await service.api('GET', `/v1/sessions/${path}`);
      expect(`${status} ${body.error.type}`, path).to.equal('404 turn_not_found');
    }
    await service.api('DELETE', `/v1/sessions/${sessionId}`);
    const { body } = await service.api('GET', `/v1/sessions/${sessionId}/turns/${turnId}`);
    expect(body.error.type).to.equal('session_not_found');
  });

  it('turns are read without reading the events between', async () => {
    const [project] = await service.db.query<[{ id: string }]>('SELECT id FROM projects');
    const [sessionId] = (await insertSessions(service.db, project.id, 1)) as [string];
    await insertEndedTurns(service.db, sessionId, { count: 300, results: 100 });
    await service.db.query('ANALYZE');
    const page = await countRowsRead(service.db, (db) => listTurns(db, sessionId, 250, 100));
    expect(page.result.rows.map(({ message: last }) => last)).to.deep.equal(
      Array.from({ length: 100 }, (_, n) => `Answer ${249 - n}`),
    );
    expect(page.read).to.be.lessThan(5000);
    const one = await countRowsRead(service.db, (db) =>
      findTurnOfSession(db, project.id, sessionId, `turn_7${sessionId}`),
    );
    expect(one.result?.turn?.message).to.equal('Answer 7');
    expect(one.read).to.be.lessThan(50);
  });
});
