import { expect } from 'chai';
import pg from 'pg';
import type { Database } from '../../../src/db/db.js';
import { createLogger } from '../../../src/platform/logger.js';
import { countPendingCharacters } from '../../../src/stream/frames.js';
import { channelOf, Notifier } from '../../../src/stream/notify.js';
import { endTurn } from '../../../src/turns/end.js';
import { acceptMessage } from '../../support/accept-message.js';
import { eventually } from '../../support/eventually.js';
import { reachedLimit } from '../../support/rows.js';
import { openSse, type SseReader } from '../../support/sse-reader.js';
import { useService } from '../../support/use.js';

const log = createLogger('silent', 'test');
const MAX_REPLAYED = 10_000;

/** docs/decisions.md "Session stream": streams of sessions whose turns are written past the service, so that nothing is notified. */
describe('a stream of the session that reads the tables', () => {
  const service = useService();
  const streams: SseReader[] = [];
  afterEach(() => {
    for (const stream of streams.splice(0)) stream.close();
  });

  const session = async (): Promise<string> =>
    (await service.api('POST', '/v1/sessions', { model_id: 'test-model' })).body.id as string;
  const pathOf = (sessionId: string): string => `/v1/sessions/${sessionId}/events/stream?follow=session`;
  const follow = async (sessionId: string, lastEventId?: string): Promise<SseReader> => {
    const stream = await openSse(service.url + pathOf(sessionId), service.key, lastEventId);
    streams.push(stream);
    return stream;
  };
  const begin = async (sessionId: string): Promise<string> => {
    const [row] = await service.db.query<[{ project_id: string }]>('SELECT project_id FROM sessions WHERE id = $1', [
      sessionId,
    ]);
    const message = { content: 'Hello', files: [], skills: [] };
    return (await acceptMessage(service.db, row.project_id, sessionId, message, 'none')).id;
  };
  const end = (turnId: string): Promise<unknown> => {
    const lost = new Notifier({ query: async () => [] } as unknown as Database, log);
    return endTurn({ db: service.db, notifier: lost, log }, turnId, { kind: 'cancelled' });
  };
  const turn = async (sessionId: string): Promise<string> => {
    const turnId = await begin(sessionId);
    await end(turnId);
    return turnId;
  };
  const idsOf = ({ frames }: SseReader): string[] => frames.map(({ id }) => id);

  it('a stream of the session that reads the tables finds turns whose notifications are lost, also several that began and ended meanwhile', async () => {
    const sessionId = await session();
    const stream = await follow(sessionId);
    const expected = [await turn(sessionId), await turn(sessionId)];
    const first = await begin(sessionId);
    await stream.until(({ id }) => id === `${first}:1`);
    await end(first);
    await stream.until(({ id }) => id === `${first}:2`);
    expected.push(first);
    for (let count = 0; count < 3; count += 1) expected.push(await turn(sessionId));
    await stream.until(({ id }) => id === `${expected.at(-1)}:2`);
    const last = await begin(sessionId);
    await stream.until(({ id }) => id === `${last}:1`);
    expect(idsOf(stream)).to.deep.equal([...expected.flatMap((id) => [`${id}:1`, `${id}:2`]), `${last}:1`]);
    await end(last);
  });

  it('a stream of the session that reads the tables is notified of each turn that begins, not of the first one alone', async () => {
    const sessionId = await session();
    await turn(sessionId);
    const payloads: string[] = [];
    const listener = new pg.Client({ connectionString: service.config.databaseUrl });
    listener.on('notification', ({ payload }) => payloads.push(payload!));
    await listener.connect();
    try {
      await listener.query(`LISTEN ${channelOf(sessionId)}`);
      const { body } = await service.api('POST', `/v1/sessions/${sessionId}/messages`, { content: 'Two' });
      await eventually('the turn is notified', () => payloads.includes(`${body.turn_id} ${sessionId} [1]`));
      await end(body.turn_id as string);
    } finally {
      await listener.end();
    }
  });

  it('a stream of the session that reads the tables has to send what later turns hold, too', async () => {
    const sessionId = await session();
    const [first, second] = [await turn(sessionId), await turn(sessionId)];
    const count = (turnId: string, isOfSession: boolean): Promise<number> =>
      countPendingCharacters(service.db, { turnId, at: [1, 1, 0, 0] }, isOfSession);
    const ends = [await count(first, false), await count(second, false)] as const;
    expect(Math.min(...ends)).to.be.greaterThan(0);
    expect(await count(second, true)).to.equal(ends[1]);
    // The message of the second turn, too.
    expect(await count(first, true)).to.be.greaterThan(ends[0] + ends[1]);
  });

  it('a stream of the session that reads the tables replays 10,000 events; more are refused, with a hint to read the history', async () => {
    const sessionId = await session();
    const long = await turn(sessionId);
    /** Gives the turn so many events: its message, answers, and its end. */
    const grow = async (from: number, to: number): Promise<void> => {
      await service.db.query('UPDATE events SET position = $2 WHERE turn_id = $1 AND position = $3', [long, to, from]);
      await service.db.query('UPDATE turns SET position = $2 WHERE id = $1', [long, to]);
      await service.db.query(
        `INSERT INTO events (id, session_id, turn_id, turn_number, position, type, data, created_at)
         SELECT 'evt_' || n, $1, $2, 1, n, 'agent.message', '{"message_id": "msg_1", "content": "x"}', now()
         FROM generate_series($3::integer, $4::integer) AS n`,
        [sessionId, long, from, to - 1],
      );
    };
    const refused = async (query = '', lastEventId = ''): Promise<void> => {
      const headers = { 'Last-Event-ID': lastEventId };
      const answer = await service.api('GET', pathOf(sessionId) + query, undefined, headers);
      expect([answer.status, answer.body.error.type]).to.deep.equal([409, 'replay_too_long']);
      expect(answer.headers.get('x-should-retry')).to.equal('false');
      expect(answer.body.error.message).to.contain('history');
    };
    const replayed = async (count: number, lastEventId: string): Promise<void> => {
      const stream = await follow(sessionId, lastEventId);
      await stream.until(({ event, data }) => event === 'turn.cancelled' && data.turn_id !== next);
      if (next !== '') await stream.until(({ id }) => id === `${next}:2`);
      expect(idsOf(stream)).to.have.length(count);
    };
    let next = '';
    await grow(2, MAX_REPLAYED);
    await replayed(MAX_REPLAYED, '');
    await grow(MAX_REPLAYED, MAX_REPLAYED + 1);
    await refused();
    await replayed(MAX_REPLAYED, `${long}:1`);
    next = await turn(sessionId);
    await refused('', `${long}:2`);
    await refused('&after=evt_2');
    await replayed(MAX_REPLAYED, `${long}:3`);
    // The stream begins with the last turn: the long one does not count.
    const stream = await follow(sessionId);
    await stream.until(({ id }) => id === `${next}:2`);
    expect(stream.frames).to.have.length(2);
    reachedLimit('stream of the session: 10,000 stored events');
  });
});
