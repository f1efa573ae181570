import { expect } from 'chai';
import { addRowBytes } from '../../src/sessions/row-bytes.js';
import { purgeSessions } from '../../src/sessions/purge.js';
import { streaming } from '../support/open-turn.js';
import { eventually } from '../support/eventually.js';
import { text, toolUse } from '../support/scripted-model.js';
import { useTurnService } from '../support/use.js';

const MAX_BYTES = 10 ** 6;

/** decisions.md "Limits of work", "Storage of a project". */
describe('the bytes of the rows of sessions', () => {
  const service = useTurnService({ config: { maxStoragePerProject: MAX_BYTES }, own: 'the storage of its project' });

  /** What the project's rows come to, the sum of its sessions, and what is added up. */
  const sums = async (): Promise<{ rows: number; sessions: number; project: number }> => {
    while (await addRowBytes(service.db));
    const [row] = await service.db.query<[{ rows: number; sessions: number; project: number }]>(
      `SELECT
         (SELECT coalesce(sum(1500 + pg_column_size(tools) + pg_column_size(model_tools) + octet_length(metadata::text)
            + coalesce(pg_column_size(instruction), 0)), 0) FROM sessions)
         + (SELECT coalesce(sum(1000 + 500 * model_calls), 0) FROM turns WHERE ended_at IS NOT NULL)
         + (SELECT coalesce(sum(500 + pg_column_size(data)), 0) FROM events JOIN turns t ON t.id = turn_id
            WHERE ended_at IS NOT NULL)
         + (SELECT coalesce(sum(500 + pg_column_size(content)), 0) FROM model_steps JOIN turns t ON t.id = turn_id
            WHERE ended_at IS NOT NULL)
         + (SELECT coalesce(sum(500 + pg_column_size(input) + pg_column_size(content)), 0) FROM tool_calls
            JOIN turns t ON t.id = turn_id WHERE t.ended_at IS NOT NULL)
         + (SELECT coalesce(sum(500 + octet_length(data::text)), 0) FROM waiting_messages) AS rows,
         (SELECT coalesce(sum(row_bytes), 0)::bigint FROM session_states)
         + (SELECT coalesce(sum(500 + octet_length(data::text)), 0) FROM waiting_messages) AS sessions,
         (SELECT coalesce(sum(row_bytes), 0)::bigint FROM project_storage) AS project`,
    );
    return row;
  };
  const expectAll = async (rows?: number): Promise<number> => {
    const found = await sums();
    expect(found).to.deep.equal({ rows: found.rows, sessions: found.rows, project: found.rows });
    if (rows !== undefined) expect(found.rows).to.equal(rows);
    return found.rows;
  };
  const erase = async (ids: string[]): Promise<void> => {
    for (const id of ids) expect((await service.api('DELETE', `/v1/sessions/${id}`)).status).to.equal(204);
    await service.db.query(`UPDATE sessions SET deleted_at = deleted_at - interval '2 hours' WHERE id = ANY($1)`, [
      ids,
    ]);
    await purgeSessions(service.db, 1000);
  };

  it('the bytes of the rows of sessions are added up as sessions begin, turns end, forks are made and metadata change, and are free after the purge', async () => {
    await expectAll(0);
    const session = await service.session({ metadata: { a: 'b' }, instruction: 'x'.repeat(5000) });
    const empty = await expectAll();
    expect(empty).to.be.greaterThan(1500);
    service.model.reply([toolUse('list_files')], text('Long. '.repeat(500)));
    await service.run(session, 'Go');
    const one = await expectAll();
    expect(one - empty).to.be.greaterThan(500 * 5);
    await service.api('PATCH', `/v1/sessions/${session}`, { metadata: { a: 'é'.repeat(300), more: 'x' } });
    expect((await expectAll()) - one).to.equal(600 - 1 + ',"more":"x"'.length);
    service.model.reply('Done.');
    await service.run(session, 'And again');
    const two = await expectAll();

    const { status, body } = await service.api('POST', `/v1/sessions/${session}/fork`);
    expect(status, JSON.stringify(body)).to.equal(201);
    await expectAll(2 * two);
    await erase([session]);
    await expectAll(two);
    await erase([body.id as string]);
    await expectAll(0);
  });

  it('the bytes of the rows of sessions have those of a message while it waits, and of a turn once it has ended', async () => {
    const { sessionId, gate } = await streaming(service);
    const before = await expectAll();
    const queue = (content: string) =>
      service.api('POST', `/v1/sessions/${sessionId}/messages`, { content, when_running: 'queue' });
    await queue('One');
    const { body } = await queue('x'.repeat(1000));
    expect((await expectAll()) - before).to.be.greaterThan(2 * 500 + 1000);
    await service.api('DELETE', `/v1/sessions/${sessionId}/queue/${body.id}`);
    expect((await expectAll()) - before).to.be.within(500, 700);
    service.model.reply('Second.');
    gate.open();
    await eventually('both turns have ended', async () => {
      const open: unknown[] = await service.db.query('SELECT FROM open_turns');
      return open.length === 0;
    });
    expect(await expectAll()).to.be.greaterThan(before + 2000);
    await erase([sessionId]);
    await expectAll(0);
  });

  it('beyond the bytes of its project, sessions, messages and forks are refused, and a turn under way goes on', async () => {
    const { sessionId, gate } = await streaming(service, { then: [toolUse('list_files')] });
    const held = await service.session();
    const cancelled = await service.session();
    await service.db.query(`UPDATE project_storage SET row_bytes = row_bytes + $1`, [MAX_BYTES + 1]);
    const refused = [
      ['', { model_id: 'scripted' }],
      [`/${sessionId}/fork`, {}],
      [`/${held}/messages`, { content: 'Hello' }],
      [`/${sessionId}/messages`, { content: 'Hello', when_running: 'queue' }],
      [`/${sessionId}/messages`, { content: 'Hello', when_running: 'steer' }],
      [`/${cancelled}/continue`, undefined],
      [`/${cancelled}/queue/release`, undefined],
    ] as const;
    for (const [path, body] of refused) {
      const answer = await service.api('POST', `/v1/sessions${path}`, body);
      expect([answer.status, answer.body.error?.type], path).to.deep.equal([413, 'storage_limit_reached']);
      expect(answer.body.error.details).to.deep.equal({ max_bytes: MAX_BYTES });
      expect(answer.body.error.message).to.match(/ \d+ bytes of sessions\./);
    }
    service.model.reply('It goes on.');
    gate.open();
    expect(await service.ended(sessionId)).to.include({ type: 'turn.completed' });
    await service.db.query(`UPDATE project_storage SET row_bytes = row_bytes - $1`, [MAX_BYTES + 1]);
    expect((await service.api('POST', `/v1/sessions/${sessionId}/fork`)).status).to.equal(201);
  });
});
