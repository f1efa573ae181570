import { expect } from 'chai';
import { MAX_FORKED_BYTES, MAX_FORKED_EVENTS } from '../../../src/turns/fork.js';
import { insertEndedTurns } from '../../support/factories.js';
import { useService } from '../../support/use.js';

const EVENT_BYTES = 16_000;
const EVENTS = 8000;

describe('the bytes of a fork', function () {
  this.timeout(170_000);
  const service = useService({ own: 'the storage of a column' });

  it('the bytes of a fork are at most 128 MiB of rows: 8,000 events of 16 kB are within', async () => {
    const { db } = service;
    // Stored as they are: compressing them would take longer than the fork.
    await db.query('ALTER TABLE events ALTER COLUMN data SET STORAGE EXTERNAL');
    const { body } = await service.api('POST', '/v1/sessions', { model_id: 'test-model' });
    await insertEndedTurns(db, body.id, { count: 40, results: EVENTS / 40 - 3 });
    for (let turn = 1; turn <= 40; turn += 1) {
      await db.query(
        `UPDATE events SET data = json_build_object('content', repeat('x', $2)) WHERE session_id = $1 AND turn_number = $3`,
        [body.id, EVENT_BYTES, turn],
      );
    }
    const measured = async (): Promise<number> =>
      (await db.query<[{ bytes: number }]>('SELECT row_bytes_of_turns($1, 1, 40) AS bytes', [body.id]))[0].bytes;
    const grow = async (bytes: number): Promise<void> => {
      await db.query(
        `UPDATE events SET data = json_build_object('content', (data->>'content') || repeat('x', $2))
         WHERE session_id = $1 AND turn_number = 40 AND position = 100`,
        [body.id, bytes],
      );
    };
    const fork = (more = {}) => service.api('POST', `/v1/sessions/${body.id}/fork`, more);
    const before = await measured();
    expect(before).to.be.within(EVENTS * EVENT_BYTES, MAX_FORKED_BYTES);
    await grow(MAX_FORKED_BYTES - before);
    expect(await measured()).to.equal(MAX_FORKED_BYTES);
    const copy = await fork();
    expect(copy.status, JSON.stringify(copy.body)).to.equal(201);
    const [count] = await db.query<[{ n: number; bytes: number }]>(
      `SELECT count(*)::integer AS n, sum(page_bytes)::bigint AS bytes FROM events WHERE session_id = $1`,
      [copy.body.id],
    );
    expect(count.n).to.equal(EVENTS);

    await grow(1);
    const { status, body: refused } = await fork();
    expect([status, refused.error.type]).to.deep.equal([422, 'fork_too_large']);
    expect(refused.error.details).to.deep.equal({ max_events: MAX_FORKED_EVENTS, max_bytes: MAX_FORKED_BYTES });
    expect((await fork({ before_turn_id: `turn_40${body.id}` })).status).to.equal(201);
  });
});
