import { expect } from 'chai';
import { ERROR_STATUS, type ErrorType } from '../../../src/platform/errors.js';
import type { ApiResponse } from '../../support/client.js';
import { insertMcpServer, insertTurn } from '../../support/factories.js';
import { reachedLimit } from '../../support/rows.js';
import { createSchedule, inSeconds, newSchedule, ofSchedule, runsOf, type Shown } from '../../support/schedules.js';
import { useService } from '../../support/use.js';

const existing = (session_id: string): object => ({ target: { type: 'existing_session', session_id } });
const inNewSession = (session: object): object => ({
  target: { type: 'new_session', session: { model_id: 'test-model', ...session } },
});
const BUDGET = { max_cost: { amount: '1', currency: 'USD' }, on_reached: 'stop' };

describe('schedules', () => {
  const service = useService();
  before(() => insertMcpServer(service.db, 'mcp_one'));

  const create = (fields: object): Promise<ApiResponse> =>
    service.api('POST', '/v1/schedules', newSchedule(fields as Record<string, unknown>));
  const patch = (id: string, body: object): Promise<ApiResponse> => service.api('PATCH', `/v1/schedules/${id}`, body);
  const session = async (): Promise<string> =>
    (await service.api('POST', '/v1/sessions', { model_id: 'test-model' })).body.id as string;
  const refused = ({ status, body }: ApiResponse, type: ErrorType, path?: string): void => {
    expect([status, body?.error?.type], JSON.stringify(body)).to.deep.equal([ERROR_STATUS[type], type]);
    if (path !== undefined) expect(body.error.details.errors[0].path, JSON.stringify(body)).to.equal(path);
  };

  describe('POST /v1/schedules', () => {
    it('POST /v1/schedules answers with the schedule', async () => {
      const schedule = await createSchedule(
        service.api,
        newSchedule({ cron: '30 8 * * MON-FRI', timezone: 'Europe/Berlin', end_at: '2999-01-01T00:00:00.9+01:00' }),
      );
      expect(schedule).to.deep.include({
        name: null,
        cron: '30 8 * * MON-FRI',
        at: null,
        timezone: 'Europe/Berlin',
        overlap: 'skip',
        end_at: '2998-12-31T23:00:00.000000Z',
        state: 'active',
        paused_reason: null,
        last_run: null,
        message: { content: 'Report.', files: [], skills: [] },
      });
      expect(schedule.id).to.match(/^sched_[0-9a-hjkmnp-tv-z]{26}$/);
      expect(schedule.target.session.model_id).to.equal('test-model');
      expect(schedule.next_runs_at).to.have.lengthOf(5);
      expect(schedule.updated_at).to.equal(schedule.created_at);
      expect(await ofSchedule(service.api, 'GET', schedule.id)).to.deep.equal(schedule);
      expect((await service.api('GET', '/v1/schedules?limit=1')).body.items).to.deep.equal([schedule]);
    });

    it('POST /v1/schedules takes one time, cut to the second, in any offset', async () => {
      const schedule = await createSchedule(service.api, newSchedule({ at: '2998-05-01T10:00:00.7+02:00' }));
      expect(schedule).to.deep.include({
        cron: null,
        at: '2998-05-01T08:00:00.000000Z',
        next_runs_at: ['2998-05-01T08:00:00.000000Z'],
      });
    });

    const wrong: [string, object, string][] = [
      ['neither cron nor at', { cron: undefined }, '/cron'],
      ['cron and at', { cron: '* * * * *', at: inSeconds(60) }, '/at'],
      ['four fields', { cron: '0 8 * *' }, '/cron'],
      ['six fields', { cron: '0 0 8 * * *' }, '/cron'],
      ['@daily', { cron: '@daily' }, '/cron'],
      ['a zone in the expression', { cron: 'CRON_TZ=UTC 0 8 * * *' }, '/cron'],
      ['minute 60', { cron: '60 * * * *' }, '/cron'],
      ['hour 24', { cron: '0 24 * * *' }, '/cron'],
      ['day 0', { cron: '0 0 0 * *' }, '/cron'],
      ['month 13', { cron: '0 0 1 13 *' }, '/cron'],
      ['day of week 8', { cron: '0 0 * * 8' }, '/cron'],
      ['an unknown name', { cron: '0 0 * * MOO' }, '/cron'],
      ['a name of another field', { cron: '0 0 * MON *' }, '/cron'],
      ['a step of 0', { cron: '*/0 * * * *' }, '/cron'],
      ['a range that ends first', { cron: '0 9-8 * * *' }, '/cron'],
      ['an empty item', { cron: '0, * * * *' }, '/cron'],
      ['30 February', { cron: '0 0 30 2 *' }, '/cron'],
      ['a time in the past', { at: '2020-01-01T00:00:00Z' }, '/at'],
      ['a time without an offset', { at: '2998-01-01T00:00:00' }, '/at'],
      ['30 February as a time', { at: '2998-02-30T00:00:00Z' }, '/at'],
      ['an end before the next time', { cron: '0 0 1 1 *', end_at: inSeconds(1) }, '/end_at'],
      ['an end before the time', { at: inSeconds(600), end_at: inSeconds(60) }, '/end_at'],
      ['an end that is no time', { end_at: 'never' }, '/end_at'],
      ['an unknown zone', { timezone: 'Europe/Atlantis' }, '/timezone'],
      ['an offset as a zone', { timezone: '+01:00' }, '/timezone'],
      ['an empty name', { name: '' }, '/name'],
      ['another overlap', { overlap: 'steer' }, '/overlap'],
      ['when_running', { message: { content: 'x', when_running: 'queue' } }, '/message/when_running'],
      ['a blank message', { message: { content: ' ' } }, '/message/content'],
      ['a skill twice', { message: { content: 'x', skills: ['skill_a', 'skill_a'] } }, '/message/skills/1'],
      ['no message', { message: undefined }, '/message'],
      ['no model', { target: { type: 'new_session', session: {} } }, '/target/session/model_id'],
      ['an unknown field of the session', inNewSession({ nonsense: 1 }), '/target/session/nonsense'],
      ['a reserved tool name', inNewSession({ tools: [custom('use_skill')] }), '/target/session/tools/0/name'],
      ['no session', { target: { type: 'new_session' } }, '/target/session'],
      ['a budget for a model without a price', inNewSession({ budget: BUDGET }), '/target/session/model_id'],
      ['no session_id', { target: { type: 'existing_session' } }, '/target/session_id'],
      [
        'both targets',
        { target: { type: 'existing_session', session_id: 'ses_1', session: { model_id: 'test-model' } } },
        '/target/session',
      ],
    ];
    for (const [what, fields, path] of wrong) {
      it(`POST /v1/schedules refuses ${what}`, async () => {
        const body = { cron: 'at' in fields ? undefined : '0 8 * * *', ...fields };
        refused(await create(body), 'validation_error', path);
      });
    }

    it('POST /v1/schedules answers as POST sessions and POST messages for what does not exist', async () => {
      refused(await create(inNewSession({ model_id: 'none' })), 'unknown_model');
      refused(await create(inNewSession({ mcp_servers: ['mcp_none'] })), 'mcp_server_not_found');
      const configs = [{ name: 'none', permission_policy: { type: 'always_ask' } }];
      const tools = [{ type: 'mcp_toolset', mcp_server_id: 'mcp_one', configs }];
      refused(await create(inNewSession({ mcp_servers: ['mcp_one'], tools })), 'unknown_mcp_tool');
      refused(await create({ message: { content: 'x', model_id: 'none' } }), 'unknown_model');
      refused(await create({ message: { content: 'x', files: ['file_none'] } }), 'file_not_found');
      refused(await create({ message: { content: 'x', skills: ['skill_none'] } }), 'skill_not_found');
      refused(await create(existing('ses_none')), 'session_not_found');
      const stranger = service.as(await service.newKey({ project: 'strangers' }));
      const theirs = await stranger('POST', '/v1/schedules', { ...newSchedule(), ...existing(await session()) });
      refused(theirs, 'session_not_found');
    });

    it('POST /v1/schedules wants the permissions of what it names', async () => {
      const few = service.as(await service.newKey({ scopes: ['sessions:write', 'sessions:read'] }));
      const { id } = await createSchedule(few, newSchedule());
      for (const [fields, required] of [
        [inNewSession({ mcp_servers: ['mcp_one'] }), 'mcp_servers:read'],
        [{ message: { content: 'x', files: ['file_none'] } }, 'files:read'],
        [{ message: { content: 'x', skills: ['skill_none'] } }, 'skills:read'],
      ] as const) {
        const answers = [await few('POST', '/v1/schedules', { ...newSchedule(), ...fields })];
        if ('message' in fields) answers.push(await few('PATCH', `/v1/schedules/${id}`, fields));
        for (const answer of answers) {
          refused(answer, 'insufficient_scope');
          expect(answer.body.error.details).to.deep.equal({ required });
        }
      }
    });

    it('POST /v1/schedules allows 100 schedules in a project, those that have ended not counted', async () => {
      const many = service.as(await service.newKey({ project: 'many' }));
      const made = [];
      for (let index = 0; index < 100; index += 1) made.push(await createSchedule(many, newSchedule()));
      refused(await many('POST', '/v1/schedules', newSchedule()), 'schedule_limit_reached');
      expect((await many('DELETE', `/v1/schedules/${made[0].id}`)).status).to.equal(204);
      await createSchedule(many, newSchedule());
      reachedLimit('schedules of a project: 100 that have not ended');
      const end = `UPDATE schedules SET state = 'ended', next_run_at = NULL WHERE id = $1`;
      await service.db.query(end, [made[1].id]);
      await createSchedule(many, newSchedule());
      const again = await many('PATCH', `/v1/schedules/${made[1].id}`, { cron: '0 9 * * *' });
      refused(again, 'schedule_limit_reached');
      await service.db.query(end, [made[2].id]);
      const { body } = await many('PATCH', `/v1/schedules/${made[1].id}`, { cron: '0 9 * * *' });
      expect(body.state).to.equal('active');
    });

    it('POST /v1/schedules goes to the limits of its texts', async () => {
      for (const length of [1, 128]) await createSchedule(service.api, newSchedule({ name: '😀'.repeat(length) }));
      refused(await create({ name: '😀'.repeat(129) }), 'validation_error', '/name');
      reachedLimit('schedule name: 1 character');
      reachedLimit('schedule name: 128 characters');
      const cron = (length: number): string => `${'0,'.repeat(length)}0 8 * * *`.slice(-length).replace(/^,/, '0');
      await createSchedule(service.api, newSchedule({ cron: cron(256) }));
      refused(await create({ cron: cron(257) }), 'validation_error', '/cron');
      reachedLimit('cron: 256 characters');
    });
  });

  describe('PATCH /v1/schedules/{schedule_id}', () => {
    it('PATCH /v1/schedules/{schedule_id} changes what is given', async () => {
      const before = await createSchedule(service.api, newSchedule({ name: 'one', cron: '0 8 * * *' }));
      const { body } = await patch(before.id, { name: null, cron: '0 9 * * *', message: { content: 'Other.' } });
      expect(body).to.deep.include({ name: null, cron: '0 9 * * *', target: before.target, state: 'active' });
      expect(body.message.content).to.equal('Other.');
      expect(body.next_runs_at).to.not.deep.equal(before.next_runs_at);
      expect(body.updated_at > before.updated_at).to.equal(true);
      expect((await patch(before.id, {})).body).to.deep.equal(body);
      expect((await patch(before.id, { timezone: 'Asia/Tokyo' })).body.next_runs_at[0]).to.contain('T00:00:00');
      refused(await patch(before.id, { target: before.target }), 'validation_error', '/target');
      refused(await patch(before.id, { message: { content: 'x', files: ['file_none'] } }), 'file_not_found');
      refused(await patch(before.id, { message: { content: 'x', skills: ['skill_none'] } }), 'skill_not_found');
      refused(await patch(before.id, { message: { content: 'x', model_id: 'none' } }), 'unknown_model');
      refused(await patch(before.id, { end_at: inSeconds(1) }), 'validation_error', '/end_at');
      const { body: last } = await patch(before.id, { overlap: 'queue', end_at: '2999-01-01T00:00:00Z' });
      expect(last).to.include({ overlap: 'queue', end_at: '2999-01-01T00:00:00.000000Z', cron: '0 9 * * *' });
      expect((await patch(before.id, { end_at: null })).body).to.include({ end_at: null, overlap: 'queue' });
    });

    it('PATCH /v1/schedules/{schedule_id} replaces cron by at, and at by cron', async () => {
      const { id } = await createSchedule(service.api, newSchedule({ at: inSeconds(600) }));
      expect((await patch(id, { cron: '0 8 * * *' })).body).to.include({ cron: '0 8 * * *', at: null });
      const at = '2998-01-01T00:00:00.000000Z';
      expect((await patch(id, { at })).body).to.deep.include({ cron: null, at, next_runs_at: [at] });
      refused(await patch(id, { at, cron: '0 8 * * *' }), 'validation_error', '/at');
    });

    it('PATCH /v1/schedules/{schedule_id} makes an ended schedule active again with a new time, and with nothing else', async () => {
      const { id } = await createSchedule(service.api, newSchedule({ at: inSeconds(600) }));
      await service.db.query(
        `UPDATE schedules SET state = 'ended', next_run_at = NULL, at = now() - interval '1 hour' WHERE id = $1`,
        [id],
      );
      expect((await patch(id, { name: 'ended', end_at: '2999-01-01T00:00:00Z' })).body.state).to.equal('ended');
      refused(await patch(id, { at: '2020-01-01T00:00:00Z' }), 'validation_error', '/at');
      const { body } = await patch(id, { at: inSeconds(600) });
      expect([body.state, body.next_runs_at.length]).to.deep.equal(['active', 1]);
    });
  });

  describe('pause, resume, run', () => {
    it('POST pause and resume pause and resume a schedule', async () => {
      const { id } = await createSchedule(service.api, newSchedule());
      const paused = await ofSchedule(service.api, 'POST', id, '/pause');
      expect(paused).to.deep.include({ state: 'paused', paused_reason: null, next_runs_at: [] });
      expect(await ofSchedule(service.api, 'POST', id, '/pause')).to.deep.equal(paused);
      const changed = (await patch(id, { cron: '0 9 * * *' })).body;
      expect(changed).to.deep.include({ state: 'paused', next_runs_at: [] });
      const resumed = await ofSchedule(service.api, 'POST', id, '/resume');
      expect([resumed.state, resumed.next_runs_at.length]).to.deep.equal(['active', 5]);
      expect(await ofSchedule(service.api, 'POST', id, '/resume')).to.deep.equal(resumed);
    });

    it('POST resume ends a schedule whose times were over, without a run', async () => {
      const { id } = await createSchedule(service.api, newSchedule({ at: inSeconds(600) }));
      await ofSchedule(service.api, 'POST', id, '/pause');
      await service.db.query(`UPDATE schedules SET at = now() - interval '1 minute' WHERE id = $1`, [id]);
      expect((await ofSchedule(service.api, 'POST', id, '/resume')).state).to.equal('ended');
      expect(await runsOf(service.api, id)).to.deep.equal([]);
    });

    it('POST run runs a schedule now, also while paused, and reports why a run failed', async () => {
      const sessionId = await session();
      const { id } = await createSchedule(service.api, { ...newSchedule(), ...existing(sessionId) });
      const before = await ofSchedule(service.api, 'POST', id, '/pause');
      const ran = await ofSchedule(service.api, 'POST', id, '/run');
      expect(ran).to.deep.equal({ ...before, last_run: ran.last_run });
      expect(ran.last_run).to.include({ state: 'started', session_id: sessionId, reason: null });
      const second = (await ofSchedule(service.api, 'POST', id, '/run')).last_run;
      const nothing = { started_at: null, state: 'skipped', session_id: null, turn_id: null };
      expect(second).to.include({ ...nothing, reason: 'session_running' });
      expect((await runsOf(service.api, id)).map(({ turn_id }: Shown) => turn_id)).to.deep.equal([
        null,
        ran.last_run.turn_id,
      ]);
      const events = (await service.api('GET', `/v1/sessions/${sessionId}/events`)).body.items;
      expect(events).to.have.lengthOf(1);
      expect(events[0]).to.include({ type: 'user.message', schedule_id: id, turn_id: ran.last_run.turn_id });
    });

    it('POST run changes no time of a schedule, also when it has ended', async () => {
      const before = await createSchedule(service.api, newSchedule({ cron: '0 0 1 1 *' }));
      const ran = await ofSchedule(service.api, 'POST', before.id, '/run');
      expect(ran).to.deep.equal({ ...before, last_run: ran.last_run });
      await service.db.query(`UPDATE schedules SET state = 'ended', next_run_at = NULL WHERE id = $1`, [before.id]);
      const again = await ofSchedule(service.api, 'POST', before.id, '/run');
      expect(again).to.deep.include({ state: 'ended', next_runs_at: [] });
      expect(again.last_run).to.include({ state: 'started' });
      expect(again.last_run.turn_id).to.not.equal(ran.last_run.turn_id);
    });

    it('POST run leaves no session behind at the limit of running turns', async () => {
      const few = service.as(await service.newKey({ project: 'few', maxRunningTurns: 1 }));
      const { id } = await createSchedule(few, newSchedule());
      expect((await ofSchedule(few, 'POST', id, '/run')).last_run.state).to.equal('started');
      expect((await ofSchedule(few, 'POST', id, '/run')).last_run.reason).to.equal('too_many_running_turns');
      expect((await few('GET', '/v1/sessions')).body.items).to.have.lengthOf(1);
    });

    it('GET runs pages through the runs of a schedule', async () => {
      const sessionId = await session();
      await insertTurn(service.db, sessionId, 'running');
      const { id } = await createSchedule(service.api, { ...newSchedule(), ...existing(sessionId) });
      for (let time = 0; time < 3; time += 1) await ofSchedule(service.api, 'POST', id, '/run');
      const first = await ofSchedule(service.api, 'GET', id, '/runs?limit=2');
      const rest = await ofSchedule(service.api, 'GET', id, `/runs?limit=2&cursor=${first.meta.next_cursor}`);
      expect([...first.items, ...rest.items]).to.deep.equal(await runsOf(service.api, id));
      expect(rest).to.deep.include({ meta: { next_cursor: null } });
    });
  });

  it('a schedule is paused at once when its session is deleted', async () => {
    const sessionId = await session();
    const { id } = await createSchedule(service.api, { ...newSchedule(), ...existing(sessionId) });
    expect((await service.api('DELETE', `/v1/sessions/${sessionId}`)).status).to.equal(204);
    const paused = { state: 'paused', paused_reason: 'session_deleted', next_runs_at: [] };
    expect(await ofSchedule(service.api, 'GET', id)).to.deep.include(paused);
    for (const path of ['resume', 'run']) {
      refused(await service.api('POST', `/v1/schedules/${id}/${path}`), 'session_not_found');
    }
    expect((await patch(id, { at: inSeconds(600) })).body).to.deep.include(paused);
    await service.db.query(`UPDATE schedules SET state = 'ended', paused_reason = NULL WHERE id = $1`, [id]);
    refused(await patch(id, { at: inSeconds(600) }), 'session_not_found');
    expect((await service.api('DELETE', `/v1/schedules/${id}`)).status).to.equal(204);
    refused(await service.api('GET', `/v1/schedules/${id}`), 'schedule_not_found');
    const [row] = await service.db.query<Shown[]>('SELECT target, message FROM schedules WHERE id = $1', [id]);
    expect(row).to.deep.equal({ target: '{}', message: '{}' });
  });
});

describe('schedules where operators set a shortest pause', () => {
  const service = useService({ config: { scheduleMinPeriodSeconds: 300 } });

  it('schedules where operators set a shortest pause keep to it when they are created and changed', async () => {
    const { id } = await createSchedule(service.api, newSchedule({ cron: '*/5 * * * *' }));
    await service.db.query(`UPDATE schedules SET cron = '* * * * *' WHERE id = $1`, [id]);
    for (const cron of ['* * * * *', '0,4 8 * * *', '1,58 * * * *']) {
      for (const [method, path] of [
        ['POST', '/v1/schedules'],
        ['PATCH', `/v1/schedules/${id}`],
      ] as const) {
        const { status, body } = await service.api(method, path, method === 'POST' ? newSchedule({ cron }) : { cron });
        expect([status, body.error?.details.errors[0]], cron).to.deep.equal([
          422,
          { path: '/cron', message: 'must leave at least 5 minutes between two times' },
        ]);
      }
    }
    const { body } = await service.api('PATCH', `/v1/schedules/${id}`, { name: 'as before' });
    expect(body).to.include({ cron: '* * * * *', state: 'active' });
    await createSchedule(service.api, newSchedule({ at: inSeconds(60) }));
  });
});

function custom(name: string): object {
  return { type: 'custom', name, description: '', input_schema: { type: 'object' } };
}
