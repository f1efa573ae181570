import { expect } from 'chai';
import type { DataSource } from 'typeorm';
import { Feed, MAX_PARALLEL_READS } from '../../../src/stream/feed.js';
import { Notifier } from '../../../src/stream/notify.js';
import type { OpenedTurn } from '../../../src/stream/opening.js';
import type { TurnReader } from '../../../src/stream/reader.js';
import { createLogger } from '../../../src/platform/logger.js';
import { createKey } from '../../../src/projects/api-keys.js';
import { endTurn } from '../../../src/turns/finish.js';
import { acceptMessage } from '../../../src/turns/accept.js';
import { eventually } from '../../support/eventually.js';
import { insertSessions } from '../../support/factories.js';
import { useDatabase, usePool } from '../../support/use.js';

const TURNS = 40;
const log = createLogger('silent', 'test');

/** All processes lose their LISTEN connections at once when Postgres fails over, and come back to one that is cold. */
describe('the readers of a process after its LISTEN connection was lost', () => {
  let feed: Feed;
  const reads = { count: 0, running: 0, mostAtOnce: 0, polls: 0, withDeltas: 0, sessions: 0 };
  const readers: TurnReader[] = [];
  const noop = (): void => undefined;
  const database = useDatabase();
  const db = usePool(database, 10);
  before(async () => {
    const { projectId } = await createKey(db, { project: 'demo', maxRunningTurns: 1000 });
    const sessions = await insertSessions(db, projectId, TURNS);
    for (const id of sessions) await acceptMessage(db, projectId, id, { content: 'x', files: [], skills: [] }, 'test');
    feed = new Feed(database.url, counting(db), log);
    const place = { projectId, lastEventId: '', isOfSession: false };
    await Promise.all(
      sessions.map(async (id) => {
        const opening = feed.open(id);
        const { start } = await feed.readOpening(opening, place);
        readers.push(feed.watch(start as OpenedTurn, opening, noop));
      }),
    );
  });
  after(async () => {
    for (const reader of readers) feed.release(reader, noop);
    await feed.close();
  });

  /** Counts the reads of turns' frames, and slows them down, as a cold Postgres does. */
  function counting(real: DataSource): DataSource {
    const query = async (statement: string, parameters?: unknown[]): Promise<unknown> => {
      if (!statement.includes('FROM events')) {
        if (statement.includes('FROM unnest')) reads.sessions += 1;
        if (statement.includes('FROM deltas')) {
          reads.polls += 1;
          reads.withDeltas = (parameters as string[][])[1]!.length;
        }
        return real.query(statement, parameters);
      }
      reads.count += 1;
      reads.running += 1;
      reads.mostAtOnce = Math.max(reads.mostAtOnce, reads.running);
      await real.query('SELECT pg_sleep(0.005)');
      return real.query(statement, parameters).finally(() => (reads.running -= 1));
    };
    return new Proxy(real, {
      get: (target, name) => (name === 'query' ? query : Reflect.get(target, name)) as unknown,
    });
  }
  const listening = async (): Promise<number[]> =>
    (
      await db.query<{ pid: number }[]>(
        `SELECT pid FROM pg_stat_activity
         WHERE datname = current_database() AND application_name LIKE 'listen %' AND query LIKE '%LISTEN%'`,
      )
    ).map(({ pid }) => pid);
  const terminal = (reader: TurnReader): boolean => reader.ring.head[0] === 2;

  it('read four turns at once when they begin', () => {
    expect(reads.mostAtOnce).to.equal(MAX_PARALLEL_READS);
  });

  it('read what is new and nothing else', async () => {
    const [before] = await listening();
    reads.count = 0;
    await db.query('SELECT pg_terminate_backend($1)', [before]);
    await eventually('it listens again', async () => (await listening()).some((pid) => pid !== before));
    const ended = readers.filter((_, index) => index % 4 === 0);
    const lost = new Notifier({ query: async () => [] } as unknown as DataSource, log);
    for (const { turnId } of ended) await endTurn({ db, notifier: lost, log }, turnId, { kind: 'cancelled' });
    await eventually('all that is new was read', () => ended.every(terminal));
    expect(reads.count).to.equal(ended.length);
    expect(reads.mostAtOnce).to.be.at.most(MAX_PARALLEL_READS);
  });

  it('get what their own process stores without the way through Postgres', async () => {
    const away = new Notifier({ query: () => new Promise(() => undefined) } as unknown as DataSource, log);
    away.alsoHere((payload) => feed.receive(payload));
    const reader = readers[1]!;
    const after = reader.ring.head;
    const event = { id: 'evt_here', turn_id: reader.turnId, type: 'agent.message', data: '{}' };
    const events = [{ ...event, position: after[0] + 1, created_at: new Date().toISOString() }];
    away.notify({ id: reader.turnId, sessionId: 'ses_1', position: after[0] + 1 }, { after, events });
    await eventually('the reader has it', () => reader.ring.head[0] === after[0] + 1);
    expect((await reader.after(after)).map(({ type }) => type)).to.deep.equal(['agent.message']);
  });

  it('lose nothing that is stored between the statement that opens a stream and its reader', async () => {
    const { projectId } = await createKey(db, { project: 'demo' });
    const [id] = (await insertSessions(db, projectId, 1)) as [string];
    const opening = feed.open(id);
    const taken: number[] = [];
    const take = opening.take.bind(opening);
    opening.take = (notification) => {
      take(notification);
      taken.push(notification.position);
    };
    const place = { projectId, lastEventId: '', isOfSession: false };
    const { start, changed } = await feed.readOpening(opening, place);
    expect(start).to.deep.equal({ kind: 'wait', seen: { turnId: null, number: 0 } });
    const turn = await acceptMessage(db, projectId, id, { content: 'x', files: [], skills: [] }, 'test');
    const notifier = new Notifier(db, log);
    notifier.notify({ ...turn, position: 1 });
    await changed;
    const { start: begun } = await feed.readOpening(opening, place);
    expect((begun as OpenedTurn).frames.map(({ type }) => type)).to.deep.equal(['user.message']);
    // Not in the tables, where a poll would find it.
    const event = { id: 'evt_early', turn_id: turn.id, position: 2, type: 'agent.message', data: '{}' };
    const events = [{ ...event, created_at: new Date().toISOString() }];
    notifier.notify({ ...turn, position: 2 }, { after: [1, 0, 0], events });
    await notifier.flush();
    await eventually('it is notified', () => taken.includes(2));
    const reader = feed.watch(begun as OpenedTurn, opening, noop);
    expect(reader.ring.head).to.deep.equal([2, 0, 0]);
    feed.release(reader, noop);
    expect(feed.size).to.include({ openings: 0, readers: TURNS });
  });

  it('ask with one statement for all streams that wait for the turn after one that has ended', async () => {
    const { projectId } = await createKey(db, { project: 'demo' });
    const sessions = await insertSessions(db, projectId, 3);
    const lost = new Notifier({ query: async () => [] } as unknown as DataSource, log);
    const message = { content: 'x', files: [], skills: [] };
    const woken: string[] = [];
    const openings = await Promise.all(
      sessions.map(async (id) => {
        const { id: turnId } = await acceptMessage(db, projectId, id, message, 'test');
        await endTurn({ db, notifier: lost, log }, turnId, { kind: 'cancelled' });
        const opening = feed.open(id);
        const place = { projectId, lastEventId: `${turnId}:2`, isOfSession: true };
        const { start, changed } = await feed.readOpening(opening, place);
        expect(start).to.deep.equal({ kind: 'wait', seen: { turnId, number: 1 } });
        void changed.then(() => woken.push(id));
        return opening;
      }),
    );
    reads.count = 0;
    const asked = reads.sessions;
    await eventually('two polls', () => reads.sessions >= asked + 2);
    expect(woken).to.deep.equal([]);
    await acceptMessage(db, projectId, sessions[1]!, message, 'test');
    await eventually('one goes on', () => woken.length > 0);
    expect(woken).to.deep.equal([sessions[1]]);
    expect(reads.count).to.equal(0);
    for (const opening of openings) feed.closeOpening(opening);
  });

  it('look for deltas of all turns for a moment, and then now and then', async () => {
    const seen = new Set<number>();
    const { polls } = reads;
    await eventually('a poll looks for none, and a later one for all', () => {
      if (reads.polls > polls) seen.add(reads.withDeltas);
      return seen.has(0) && seen.has(TURNS);
    });
  });
});
