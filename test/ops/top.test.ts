import { expect } from 'chai';
import { UsageError } from '../../ops/command.js';
import { runTop } from '../../ops/top.js';
import { readLoad, type Load } from '../../ops/top/read.js';
import { countRowsRead } from '../support/rows-read.js';
import { openSse } from '../support/sse-reader.js';
import { text, toolUse } from '../support/scripted-model.js';
import { newToken } from '../support/tokens.js';
import { useTurnService } from '../support/use.js';
import { requiredActions } from '../support/waiting-turns.js';
import { runWritten } from './written.js';

const ASK = { type: 'custom', name: 'ask', description: 'Asks.', input_schema: { type: 'object' } };

describe('npm run top', () => {
  const service = useTurnService({ config: { rateLimitPerMinute: 60 } });
  afterEach(() => service.model.reset());

  const top = (...args: string[]) => runWritten(() => runTop(args, service.config.databaseUrl));
  const loadOf = async (...args: string[]): Promise<Load> => JSON.parse((await top('--json', ...args)).out) as Load;

  it('npm run top shows no project before there is any load', async () => {
    const { code, out } = await top();
    expect(code).to.equal(0);
    expect(out).to.match(/^The last 15 minutes,.*\nNo project had any load\.\n$/);
  });

  it('npm run top shows the turns, calls, tokens, requests and streams of each project, the busiest first', async () => {
    service.model.reply([toolUse('list_files', {}, { id: 'toolu_1' })]);
    service.model.reply([text('Done')]);
    const sessionId = await service.session();
    await service.run(sessionId, 'Go');
    const stream = await openSse(
      `${service.url}/v1/sessions/${sessionId}/events/stream?follow=session`,
      await newToken(service, sessionId),
    );

    const other = service.as(await service.newKey({ project: 'other' }));
    const { body: asking } = await other('POST', '/v1/sessions', { model_id: 'scripted', tools: [ASK] });
    service.model.reply([toolUse('ask', {}, { id: 'toolu_2' })]);
    await other('POST', `/v1/sessions/${asking.id}/messages`, { content: 'Go' });
    await requiredActions({ api: other }, asking.id);

    // The windows of the rate limit begin with their first request, and may have ended on a busy machine.
    await service.db.query('UPDATE rate_limits SET expire = extract(epoch FROM clock_timestamp()) * 1000 + 60_000');
    const { projects, is_cut } = await loadOf();
    stream.close();
    expect(is_cut).to.equal(false);
    expect(projects.map(({ project }) => project)).to.deep.equal(['demo', 'other']);
    const { body: turns } = await service.api('GET', `/v1/sessions/${sessionId}/turns`);
    const { usage } = turns.items[0];
    expect(projects[0]).to.deep.include({
      ...{ turns_begun: 1, turns_queued: 0, turns_running: 0, turns_waiting: 0 },
      ...{ model_calls: 2, tool_calls: 1, token_streams: 1 },
      ...{ input_tokens: usage.input_tokens, output_tokens: usage.output_tokens },
    });
    expect(projects[0]!.requests).to.include({ createSession: 1, sendMessage: 1 });
    expect(projects[1]).to.deep.include({
      ...{ turns_begun: 1, turns_running: 1, turns_waiting: 1, model_calls: 1, token_streams: 0 },
    });
  });

  it('npm run top counts what happened in the window, and no copies of a fork', async () => {
    const before = await loadOf();
    const [{ id }] = await service.db.query<[{ id: string }]>(
      `SELECT s.id FROM sessions s JOIN projects p ON p.id = project_id WHERE p.name = 'demo' LIMIT 1`,
    );
    expect((await service.api('POST', `/v1/sessions/${id}/fork`, {})).status).to.equal(201);
    const after = await loadOf();
    expect(after.projects[0]).to.deep.include({ turns_begun: 1, model_calls: before.projects[0]!.model_calls });
    // As if all of it had happened an hour ago.
    await service.db.query(
      `UPDATE model_calls SET started_at = started_at - interval '1 hour';
       UPDATE tool_calls SET started_at = started_at - interval '1 hour';
       UPDATE turns SET queued_at = queued_at - interval '1 hour'`,
    );
    const [demo] = (await loadOf()).projects.filter(({ project }) => project === 'demo');
    expect(demo).to.deep.include({ turns_begun: 0, model_calls: 0, input_tokens: 0, tool_calls: 0 });
    const [longer] = (await loadOf('--minutes', '90')).projects.filter(({ project }) => project === 'demo');
    expect(longer).to.deep.include({ turns_begun: 1, model_calls: 2, tool_calls: 1 });
  });

  it('npm run top bounds the turns that it reads, and says so', async () => {
    const { is_cut, projects } = await readLoad(service.db, 90, 1);
    expect(is_cut).to.equal(true);
    expect(projects.reduce((sum, { turns_begun }) => sum + turns_begun, 0)).to.be.at.most(1);
  });

  it('npm run top reads no turns from before the window', async () => {
    await service.db.query(
      `INSERT INTO turns (id, session_id, project_id, number, state)
       SELECT 'turn_00' || n, 'ses_' || n, 'proj_old', 1, 'completed' FROM generate_series(1, 5000) AS n`,
    );
    await service.db.query('ANALYZE turns');
    const { read, result } = await countRowsRead(service.db, (counted) => readLoad(counted, 15));
    expect(result.projects).not.to.deep.equal([]);
    expect(read).to.be.lessThan(500);
  });

  it('npm run top prints a table, and refuses wrong arguments', async () => {
    const { out } = await top('--minutes', '90');
    const [title, , head, first] = out.split('\n');
    expect(title).to.match(/^The last 90 minutes, the busiest project first/);
    expect(head!.split(/ {2,}/).slice(0, 6)).to.deep.equal([
      'project',
      'turns',
      'queued',
      'waiting',
      'running',
      'model calls',
    ]);
    expect(first!.split(/ {2,}/).slice(0, 6)).to.deep.equal(['demo', '1', '0', '0', '0', '2']);
    for (const args of [['--minutes', '0'], ['--minutes', 'x'], ['--minutes', '1441'], ['demo']]) {
      const error = await runTop(args, service.config.databaseUrl).catch((thrown: unknown) => thrown);
      expect(error, args.join(' ')).to.be.instanceOf(UsageError);
    }
  });
});
