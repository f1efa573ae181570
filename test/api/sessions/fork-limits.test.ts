import { EventEmitter, once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { expect } from 'chai';
import { LongWrites } from '../../../api/http/core/long-writes.js';
import type { ServiceError } from '../../../src/platform/errors.js';
import { insertEndedTurns } from '../../support/factories.js';
import { eventually } from '../../support/eventually.js';
import { holdStatement } from '../../support/held-statement.js';
import { useService } from '../../support/use.js';
import type { ApiCall, ApiResponse } from '../../support/client.js';

describe('the limits of forks', () => {
  const service = useService({ own: 'triggers on its tables' });

  const sessionOf = async (api: ApiCall): Promise<string> => {
    const { body } = await api('POST', '/v1/sessions', { model_id: 'test-model' });
    await insertEndedTurns(service.db, body.id, { count: 1, results: 2 });
    return body.id as string;
  };
  const fork = (api: ApiCall, id: string): Promise<ApiResponse> => api('POST', `/v1/sessions/${id}/fork`);
  /** Connections of the API with an open transaction. */
  const held = async (): Promise<number> => {
    const [row] = await service.db.query<{ n: number }[]>(
      `SELECT count(*)::integer AS n FROM pg_stat_activity
       WHERE datname = current_database() AND application_name = 'api' AND xact_start IS NOT NULL`,
    );
    return row!.n;
  };

  it('forks of a project are made one at a time and those of all projects in two connections, while others are served', async () => {
    const others = await Promise.all(
      ['second', 'third'].map(async (project) => service.as(await service.newKey({ project }))),
    );
    const mine = await sessionOf(service.api);
    const theirs = await Promise.all(others.map((api) => sessionOf(api)));
    const hold = await holdStatement(service.db, 'INSERT ON events');
    const forks = Array.from({ length: 12 }, () => fork(service.api, mine));
    await hold.reached();
    forks.push(...theirs.map((id, index) => fork(others[index]!, id)));
    await eventually('another project forks too', async () => (await held()) === 2);
    const reads = await Promise.all([
      ...Array.from({ length: 12 }, () => service.api('GET', `/v1/sessions/${mine}`)),
      ...theirs.map((id, index) => others[index]!('GET', `/v1/sessions/${id}`)),
    ]);
    expect(reads.map(({ status }) => status)).to.deep.equal(reads.map(() => 200));
    expect(await held()).to.equal(2);
    await hold.release();
    const answers = await Promise.all(forks);
    expect(answers.map(({ status }) => status)).to.deep.equal(answers.map(() => 201));
  });

  it('a fork that waits too long is refused, and the answer says for whose forks it waited', async () => {
    const slots = new LongWrites(10, 20);
    const res = new EventEmitter() as ServerResponse;
    const ends = new EventEmitter();
    const begin = (project: string): Promise<unknown> => slots.within(project, res, () => once(ends, 'end'));
    const refusal = async (project: string): Promise<ServiceError> =>
      begin(project).then(
        () => expect.fail('it was not refused'),
        (error: ServiceError) => error,
      );
    const running = [begin('one'), begin('two')];
    const own = await refusal('one');
    expect([own.type, own.headers]).to.deep.equal(['too_many_requests', { 'Retry-After': '5' }]);
    const other = await refusal('three');
    expect([other.type, other.headers]).to.deep.equal(['service_unavailable', { 'Retry-After': '5' }]);
    ends.emit('end');
    await Promise.all(running);
    expect(await slots.within('three', res, () => Promise.resolve('made'))).to.equal('made');
    expect(res.listenerCount('close')).to.equal(0);
  });

  it('a fork that waits gives up its place when its client leaves', async () => {
    const slots = new LongWrites(10);
    const [first, second] = [new EventEmitter(), new EventEmitter()] as ServerResponse[];
    const ends = new EventEmitter();
    const running = slots.within('one', first!, () => once(ends, 'end'));
    const waiting = slots
      .within('one', second!, () => Promise.resolve('made'))
      .catch((error: ServiceError) => error.type);
    second!.emit('close');
    expect(await waiting).to.equal('too_many_requests');
    ends.emit('end');
    await running;
  });

  it('a fork copies its rows in portions, so that no statement of it takes long', async () => {
    const { db } = service;
    const { body } = await service.api('POST', '/v1/sessions', { model_id: 'test-model' });
    await insertEndedTurns(db, body.id, { count: 3, results: 900 });
    await db.query(
      `UPDATE events SET data = json_build_object('content', repeat('x', 500000)) WHERE session_id = $1 AND position BETWEEN 10 AND 20 AND turn_number = 2`,
      [body.id],
    );
    await db.query(
      `INSERT INTO tool_calls (turn_id, step, index, tool_use_id, name, input, state, content)
       SELECT id, n % 3, n, 'toolu_' || n, 'look', '{}', 'done', json_build_array(n) FROM turns, generate_series(1, 1100) AS n
       WHERE session_id = $1 AND number = 2`,
      [body.id],
    );
    await db.query(`
      CREATE TABLE portions (name text, rows bigint, bytes bigint);
      CREATE FUNCTION note_portion() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        INSERT INTO portions SELECT TG_TABLE_NAME, count(*), sum(octet_length(row_to_json(n)::text)) FROM new_rows n;
        RETURN NULL; END $$;
      CREATE TRIGGER portions AFTER INSERT ON events REFERENCING NEW TABLE AS new_rows
        FOR EACH STATEMENT EXECUTE FUNCTION note_portion();
      CREATE TRIGGER portions AFTER INSERT ON tool_calls REFERENCING NEW TABLE AS new_rows
        FOR EACH STATEMENT EXECUTE FUNCTION note_portion()`);
    const copy = await fork(service.api, body.id);
    await db.query('DROP FUNCTION note_portion CASCADE');
    expect(copy.status).to.equal(201);
    const portions = await db.query<{ name: string; rows: number; bytes: number }[]>('SELECT * FROM portions');
    const sum = (name: string): number =>
      portions.filter((portion) => portion.name === name).reduce((all, { rows }) => all + rows, 0);
    expect([sum('events'), sum('tool_calls')]).to.deep.equal([3 * 903, 1100]);
    expect(Math.max(...portions.map(({ rows }) => rows))).to.equal(1000);
    expect(Math.max(...portions.map(({ bytes }) => bytes))).to.be.lessThan(5 * 2 ** 20);
    const rowsOf = (id: string): Promise<unknown[]> =>
      db.query(
        `SELECT turn_number, position, type, data::text FROM events WHERE session_id = $1
         UNION ALL SELECT step, index, name, content::text FROM tool_calls JOIN turns t ON t.id = turn_id WHERE session_id = $1
         ORDER BY 1, 2, 3, 4`,
        [id],
      );
    expect(await rowsOf(copy.body.id)).to.deep.equal(await rowsOf(body.id));
  });
});
