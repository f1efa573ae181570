import { expect } from 'chai';
import { eventually } from '../support/eventually.js';
import { createSchedule, inSeconds, newSchedule, ofSchedule, runsOf, type Shown } from '../support/schedules.js';
import { failure } from '../support/scripted-model.js';
import { useTurnService } from '../support/use.js';

describe('schedules that queue', () => {
  const service = useTurnService();
  before(async () => {
    service.model.on(/Report/, 'Nothing is late.');
    service.model.on(/Fail/, failure('invalid_request_error'));
  });

  const create = (session_id: string, fields: Record<string, unknown> = {}): Promise<Shown> =>
    createSchedule(
      service.api,
      newSchedule({ cron: '0 0 1 1 *', overlap: 'queue', target: { type: 'existing_session', session_id }, ...fields }),
    );
  const get = (id: string): Promise<Shown> => ofSchedule(service.api, 'GET', id);
  const run = async (id: string): Promise<Shown> => (await ofSchedule(service.api, 'POST', id, '/run')).last_run;
  const waiting = async (sessionId: string): Promise<Shown[]> =>
    (await service.api('GET', `/v1/sessions/${sessionId}/queue`)).body.items as Shown[];
  const messages = async (sessionId: string): Promise<Shown[]> =>
    (await service.history(sessionId)).filter(({ type }) => type === 'user.message');
  /** Begins a turn that is open until its gate is opened. */
  const openTurn = async (name: string): Promise<{ sessionId: string; end: () => void }> => {
    const gate = service.model.gate();
    service.model.on(new RegExp(`Wait ${name}$`), () => gate.opened.then(() => 'Done.'));
    const sessionId = await service.session();
    await service.send(sessionId, `Wait ${name}`);
    return { sessionId, end: () => gate.open() };
  };
  const allEnded = (sessionId: string, turns: number): Promise<void> =>
    eventually('the ends of all turns', async () => {
      const ends = (await service.history(sessionId)).filter(({ type }) => /^turn\.(completed|failed)$/.test(type));
      return ends.length === turns;
    });

  it('a schedule that queues lets a time wait for the open turn, and starts its turn after that', async () => {
    const { sessionId, end } = await openTurn('once');
    const { id } = await create(sessionId, { cron: undefined, at: inSeconds(2) });
    await eventually('the time', async () => (await get(id)).state === 'ended');
    const { last_run: taken } = await get(id);
    expect(taken).to.include({ state: 'started', started_at: null, session_id: sessionId, reason: null });
    expect(await runsOf(service.api, id)).to.deep.equal([taken]);
    const [message] = await waiting(sessionId);
    expect(message).to.include({ state: 'queued', turn_id: taken.turn_id, content: 'Report.', schedule_id: id });

    end();
    await allEnded(sessionId, 2);
    const [, delivered] = await messages(sessionId);
    expect(delivered).to.include({ id: message.id, turn_id: taken.turn_id, schedule_id: id });
    const started = { ...taken, started_at: delivered.created_at };
    expect((await get(id)).last_run).to.deep.equal(started);
    expect(await runsOf(service.api, id)).to.deep.equal([started]);
  });

  it('a schedule that queues starts a turn at once where none is open', async () => {
    const sessionId = await service.session();
    const { id } = await create(sessionId);
    const taken = await run(id);
    await service.ended(sessionId);
    const [message] = await messages(sessionId);
    expect(message).to.include({ turn_id: taken.turn_id, created_at: taken.started_at, schedule_id: id });
  });

  it('a schedule that queues skips a time while 20 messages wait', async () => {
    const { sessionId, end } = await openTurn('full');
    const { id } = await create(sessionId);
    for (let n = 0; n < 20; n += 1) expect((await run(id)).state).to.equal('started');
    expect(await run(id)).to.include({ state: 'skipped', reason: 'queue_full', session_id: null, turn_id: null });
    const [first, ...others] = await waiting(sessionId);
    for (const { id: event } of others) await service.api('DELETE', `/v1/sessions/${sessionId}/queue/${event}`);
    end();
    await allEnded(sessionId, 2);
    expect((await messages(sessionId)).map(({ turn_id }) => turn_id)).to.include(first.turn_id);
  });

  it('a schedule that queues opens a queue that is held: what waits runs first', async () => {
    const gate = service.model.gate();
    const failing = failure('invalid_request_error');
    service.model.on(/Hold$/, () => gate.opened.then(() => failing));
    const sessionId = await service.session();
    await service.send(sessionId, 'Hold');
    await service.send(sessionId, 'Report first.', { when_running: 'queue' });
    gate.open();
    await service.ended(sessionId);
    const { body } = await service.api('GET', `/v1/sessions/${sessionId}`);
    expect(body.queue).to.deep.equal({ length: 1, state: 'held' });

    const { id } = await create(sessionId);
    const taken = await run(id);
    expect(taken).to.include({ state: 'started', started_at: null });
    await allEnded(sessionId, 3);
    const [, first, own] = await messages(sessionId);
    expect(first).to.include({ content: 'Report first.' }).and.not.have.property('schedule_id');
    expect(own).to.include({ turn_id: taken.turn_id, schedule_id: id });
    expect((await get(id)).last_run.started_at).to.equal(own.created_at);
  });

  it('a schedule that queues counts a failure of a turn that waited', async () => {
    const { sessionId, end } = await openTurn('failure');
    const { id } = await create(sessionId, { message: { content: 'Fail' } });
    await run(id);
    // Firing counts what has ended: the waiting turn has not.
    await run(id);
    const failures = async (): Promise<number> =>
      (await service.db.query<[{ failures: number }]>('SELECT failures FROM schedules WHERE id = $1', [id]))[0]
        .failures;
    const [, second] = await waiting(sessionId);
    await service.api('DELETE', `/v1/sessions/${sessionId}/queue/${second.id}`);
    end();
    await allEnded(sessionId, 2);
    await eventually('the count', async () => (await failures()) === 1);
  });

  it('a schedule that queues loses no message at the end of a turn, and sends none twice', async () => {
    for (let round = 0; round < 4; round += 1) {
      const { sessionId, end } = await openTurn(`race ${round}`);
      const ids = await Promise.all(Array.from({ length: 3 }, async () => (await create(sessionId)).id as string));
      end();
      const runs = await Promise.all(ids.map(run));
      await allEnded(sessionId, 4);
      const sent = (await messages(sessionId)).slice(1).map(({ turn_id }) => turn_id as string);
      expect(sent).to.have.members(runs.map(({ turn_id }) => turn_id as string));
    }
  });
});
