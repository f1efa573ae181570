import { expect } from 'chai';
import { eventually } from '../support/eventually.js';
import { createSchedule, inSeconds, newSchedule, ofSchedule, runsOf, type Shown } from '../support/schedules.js';
import { failure } from '../support/scripted-model.js';
import { useMcpServer, useTurnService } from '../support/use.js';

const FAR = '2998-01-01T00:00:00Z';

describe('schedules that fire', () => {
  const mcp = useMcpServer({ tools: [{ name: 'buy' }] });
  const service = useTurnService(() => ({ config: { mcpAllowedHosts: [mcp.host] } }));
  before(async () => {
    service.model.on(/Report/, 'Nothing is late.');
  });

  const create = (fields: Record<string, unknown>): Promise<Shown> =>
    createSchedule(service.api, newSchedule(fields, 'scripted'));
  const get = (id: string): Promise<Shown> => ofSchedule(service.api, 'GET', id);
  const target = (session_id: string): object => ({ target: { type: 'existing_session', session_id } });
  const isEnded = (id: string): Promise<void> =>
    eventually('the end of the schedule', async () => (await get(id)).state === 'ended');
  /** Moves a schedule's times this many seconds into the past, as after an outage. */
  const makeDue = (id: string, seconds: number): Promise<unknown> =>
    service.db.query(
      `UPDATE schedules SET next_run_at = date_trunc('minute', now()) - $2 * interval '1 s',
         at = CASE WHEN at IS NULL THEN NULL ELSE date_trunc('minute', now()) - $2 * interval '1 s' END
       WHERE id = $1`,
      [id, seconds],
    );

  it('a schedule that fires starts a turn in a new session at its time, and ends', async () => {
    const { id } = await create({ at: inSeconds(3) });
    await isEnded(id);
    const ended = await get(id);
    expect(ended.next_runs_at).to.deep.equal([]);
    const [run, ...others] = await runsOf(service.api, id);
    expect(others).to.deep.equal([]);
    expect(run).to.deep.equal(ended.last_run);
    expect(run).to.include({ state: 'started', reason: null, scheduled_at: ended.at });
    expect(Date.parse(run.started_at) - Date.parse(run.scheduled_at)).to.be.within(-1000, 30_000);
    expect(await service.ended(run.session_id)).to.include({ type: 'turn.completed', turn_id: run.turn_id });
    const [message] = await service.history(run.session_id);
    expect(message).to.include({ type: 'user.message', content: 'Report.', schedule_id: id });
  });

  it('a schedule that fires goes on after its key is revoked', async () => {
    const key = await service.newKey();
    const { id } = await createSchedule(service.as(key), newSchedule({ at: inSeconds(3) }, 'scripted'));
    await service.db.query(`UPDATE api_keys SET revoked_at = now() WHERE id = (SELECT max(id) FROM api_keys)`);
    await isEnded(id);
    expect((await get(id)).last_run.state).to.equal('started');
  });

  it('a schedule that fires makes up for the latest time of an outage, and for no other', async () => {
    const { id } = await create({ cron: '* * * * *' });
    await makeDue(id, 240);
    await eventually('the run', async () => (await get(id)).last_run?.state === 'started');
    const runs = await runsOf(service.api, id);
    const before = runs.filter(
      ({ scheduled_at }) => scheduled_at < runs.find(({ state }) => state === 'started').scheduled_at,
    );
    expect(runs.filter(({ state }) => state === 'started').length).to.be.within(1, 2);
    expect(before.length).to.be.within(3, 5);
    for (const run of before) expect(run).to.include({ state: 'skipped', reason: 'missed', turn_id: null });
    expect((await get(id)).state).to.equal('active');
    await ofSchedule(service.api, 'POST', id, '/pause');
  });

  it('a schedule that fires skips a time that is older than the catch-up', async () => {
    const { id } = await create({ at: FAR });
    await makeDue(id, 660);
    await isEnded(id);
    expect((await get(id)).last_run).to.include({ state: 'skipped', reason: 'missed', session_id: null });
  });

  it('a schedule that fires skips a time while its session has an open turn', async () => {
    const sessionId = await service.session();
    const gate = service.model.gate();
    service.model.on(/Wait/, () => gate.opened.then(() => 'Done.'));
    await service.send(sessionId, 'Wait');
    const { id } = await create({ at: FAR, overlap: 'skip', ...target(sessionId) });
    await makeDue(id, 0);
    await isEnded(id);
    expect((await get(id)).last_run).to.include({ state: 'skipped', reason: 'session_running' });
    gate.open();
    await service.ended(sessionId);
  });

  it('a schedule that fires records what was deleted of what it needs, and starts nothing', async () => {
    const sessionId = await service.session();
    const { body: server } = await service.api('POST', '/v1/mcp-servers', { name: 'shop', url: mcp.url });
    const configs = [{ name: 'buy', permission_policy: { type: 'always_ask' } }];
    const tools = [{ type: 'mcp_toolset', mcp_server_id: server.id, configs }];
    const session = { model_id: 'scripted', mcp_servers: [server.id], tools };
    const gone: [Record<string, unknown>, string][] = [
      [
        { at: FAR, target: { type: 'new_session', session } },
        `UPDATE mcp_servers SET allowed_tools = '{}' WHERE id = (
           SELECT target::json->'session'->'mcp_servers'->>0 FROM schedules WHERE id = $1)`,
      ],
      [{ at: FAR }, `UPDATE schedules SET target = replace(target, '"scripted"', '"gone"') WHERE id = $1`],
      [
        { at: FAR },
        `UPDATE schedules SET target = replace(target, '"mcp_servers":[]', '"mcp_servers":["mcp_gone"]') WHERE id = $1`,
      ],
      [
        { at: FAR },
        `UPDATE schedules SET message = replace(message, '"files":[]', '"files":["file_gone"]') WHERE id = $1`,
      ],
      [
        { at: FAR },
        `UPDATE schedules SET message = replace(message, '"skills":[]', '"skills":["skill_gone"]') WHERE id = $1`,
      ],
      [
        { at: FAR },
        `UPDATE schedules SET message = replace(message, '"files"', '"model_id":"gone","files"') WHERE id = $1`,
      ],
      [
        { at: FAR, ...target(sessionId) },
        `UPDATE configurations SET model_id = 'gone' WHERE id = (SELECT session_id FROM schedules WHERE id = $1)`,
      ],
    ];
    const before = await service.db.query(`SELECT count(*) FROM sessions`);
    const skipped = gone.map(async ([fields, statement]) => {
      const { id } = await create(fields);
      await service.db.query(statement, [id]);
      await makeDue(id, 0);
      await isEnded(id);
      expect((await get(id)).last_run, statement).to.include({ state: 'skipped', reason: 'not_found', turn_id: null });
    });
    await Promise.all(skipped);
    expect(await service.db.query(`SELECT count(*) FROM sessions`)).to.deep.equal(before);
    expect(await service.history(sessionId)).to.deep.equal([]);
  });

  it('a schedule that fires runs in a session whose MCP server is deleted', async () => {
    const { body: server } = await service.api('POST', '/v1/mcp-servers', { name: 'market', url: `${mcp.url}?market` });
    const sessionId = await service.session({ mcp_servers: [server.id] });
    const { id } = await create({ at: inSeconds(2), ...target(sessionId) });
    expect((await service.api('DELETE', `/v1/mcp-servers/${server.id}`)).status).to.equal(204);
    await isEnded(id);
    expect((await get(id)).last_run).to.include({ state: 'started', session_id: sessionId });
    expect((await service.ended(sessionId)).type).to.equal('turn.completed');
  });

  /** Runs a schedule now. */
  const run = async (id: string, content = 'Fail', end = 'turn.failed'): Promise<void> => {
    await service.api('PATCH', `/v1/schedules/${id}`, { message: { content } });
    const { session_id: sessionId } = (await ofSchedule(service.api, 'POST', id, '/run')).last_run;
    if (content === 'Stay') await service.api('POST', `/v1/sessions/${sessionId}/cancel`);
    expect((await service.ended(sessionId)).type).to.equal(end);
  };
  /** Resolves when every turn of a schedule is counted, and so many of them as failures. */
  const failures = (id: string, expected: number): Promise<void> =>
    eventually(`${expected} failures`, async () => {
      const [row] = await service.db.query<{ failures: number; open: number }[]>(
        `SELECT failures, (SELECT count(*)::integer FROM schedule_runs WHERE schedule_id = $1 AND NOT is_settled) AS open
         FROM schedules WHERE id = $1`,
        [id],
      );
      return row!.open === 0 && row!.failures === expected;
    });

  it('a schedule that fires counts failed turns in a row: a completed one begins anew, a cancelled one changes nothing', async () => {
    service.model.on(/Fail/, failure('invalid_request_error'));
    service.model.on(/Stay/, () => new Promise<never>(() => undefined));
    const { id } = await create({ cron: '0 0 1 1 *' });
    await run(id);
    await run(id, 'Stay', 'turn.cancelled');
    await run(id);
    await failures(id, 2);
    await run(id, 'Report', 'turn.completed');
    await failures(id, 0);
    await run(id);
    await failures(id, 1);
  });

  it('a schedule that fires is paused by ten failed turns in a row, which resume starts to count anew', async () => {
    service.model.on(/Fail/, failure('invalid_request_error'));
    const { id } = await create({ cron: '0 0 1 1 *' });
    for (let time = 0; time < 9; time += 1) await run(id);
    await failures(id, 9);
    expect((await get(id)).state).to.equal('active');
    await run(id);
    await eventually('the pause', async () => (await get(id)).state === 'paused');
    expect(await get(id)).to.deep.include({ paused_reason: 'failures', next_runs_at: [] });
    expect(await ofSchedule(service.api, 'POST', id, '/resume')).to.include({ state: 'active', paused_reason: null });
    await run(id);
    await failures(id, 1);
    expect((await get(id)).state).to.equal('active');
  });
});
