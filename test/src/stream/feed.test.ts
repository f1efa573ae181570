import { expect } from 'chai';
import type { Database } from '../../../src/db/db.js';
import { Feed, MAX_PARALLEL_READS } from '../../../src/stream/feed.js';
import { Notifier } from '../../../src/stream/notify.js';
import type { SessionReader } from '../../../src/stream/reader.js';
import { createLogger } from '../../../src/platform/logger.js';
import { createKey } from '../../../src/projects/api-keys.js';
import { endTurn } from '../../../src/turns/end.js';
import { acceptMessage } from '../../support/accept-message.js';
import { eventually } from '../../support/eventually.js';
import { insertSessions } from '../../support/factories.js';
import { useDatabase, usePool } from '../../support/use.js';

const TURNS = 40;
const log = createLogger('silent', 'test');

/** All processes lose their LISTEN connections at once when Postgres fails over, and come back to one that is cold. */
describe('the readers of a process after its LISTEN connection was lost', () => {
  let feed: Feed;
  let projectId: string;
  const reads = { count: 0, running: 0, mostAtOnce: 0, polls: 0, withDeltas: 0 };
  const readers: SessionReader[] = [];
  const noop = (): void => undefined;
  const database = useDatabase();
  const db = usePool(database, 10);
  before(async () => {
    ({ projectId } = await createKey(db, { project: 'demo', maxRunningTurns: 1000 }));
    const sessions = await insertSessions(db, projectId, TURNS);
    for (const id of sessions) await begin(id);
    feed = new Feed(database.url, counting(db), log);
    for (const id of sessions) readers.push(feed.join(id, 'proj_1', noop));
    await Promise.all(readers.map((reader) => reader.open(projectId, '', false)));
  });
  after(async () => {
    for (const reader of readers) feed.leave(reader, noop);
    await feed.close();
  });

  const begin = (sessionId: string): Promise<{ id: string }> =>
    acceptMessage(db, projectId, sessionId, { content: 'x', files: [], skills: [] }, 'test');
  const end = (turnId: string): Promise<unknown> => {
    const lost = new Notifier({ query: async () => [] } as unknown as Database, log);
    return endTurn({ db, notifier: lost, log }, turnId, { kind: 'cancelled' });
  };
  /** Counts the reads of turns' frames, and slows them down, as a cold Postgres does. */
  function counting(real: Database): Database {
    const query = async (statement: string, parameters?: unknown[]): Promise<unknown> => {
      if (!statement.includes('FROM events')) {
        if (statement.includes('FROM deltas')) {
          reads.polls += 1;
          reads.withDeltas = (parameters as boolean[][])[5]!.filter(Boolean).length;
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
  const terminal = ({ head }: SessionReader): boolean => head!.isOver;

  it('the readers of a process after its LISTEN connection was lost read three turns of a project at once when they begin', () => {
    expect(reads.mostAtOnce).to.equal(MAX_PARALLEL_READS - 1);
  });

  it('the readers of a process after its LISTEN connection was lost do not make the stream of another project wait', async () => {
    const other = await createKey(db, { project: 'other' });
    const [id] = await insertSessions(db, other.projectId, 1);
    await acceptMessage(db, other.projectId, id!, { content: 'x', files: [], skills: [] }, 'test');
    const reader = feed.join(id!, other.projectId, noop);
    reads.count = 0;
    const many = readers.map((one) => one.open(projectId, '', false));
    await reader.open(other.projectId, '', false);
    const before = reads.count;
    await Promise.all(many);
    // In one line it would come after all of them.
    expect(before).to.be.lessThan(TURNS / 2);
    expect(reads.count).to.be.greaterThan(TURNS);
    feed.leave(reader, noop);
  });

  it('the readers of a process after its LISTEN connection was lost read what is new and nothing else', async () => {
    const [before] = await listening();
    reads.count = 0;
    await db.query('SELECT pg_terminate_backend($1)', [before]);
    await eventually('it listens again', async () => (await listening()).some((pid) => pid !== before));
    const ended = readers.filter((_, index) => index % 4 === 0);
    for (const { head } of ended) await end(head!.turnId!);
    await eventually('all that is new was read', () => ended.every(terminal));
    expect(reads.count).to.equal(ended.length);
    expect(reads.mostAtOnce).to.be.at.most(MAX_PARALLEL_READS);
  });

  it('the readers of a process after its LISTEN connection was lost get what their own process stores without the way through Postgres', async () => {
    const away = new Notifier({ query: () => new Promise(() => undefined) } as unknown as Database, log);
    away.alsoHere((...sent) => feed.receive(...sent));
    const reader = readers[1]!;
    const place = reader.head!;
    const [turn, position] = place.at;
    const event = { id: 'evt_here', turn_id: place.turnId!, type: 'agent.message', data: '{}' };
    const events = [{ ...event, position: position + 1, created_at: new Date().toISOString() }];
    const after = [position, 0, 0] as const;
    away.notify({ id: event.turn_id, sessionId: reader.sessionId, position: position + 1 }, { after, events });
    await eventually('the reader has it', () => reader.head!.at[1] === position + 1);
    const { frames, to } = (await reader.after(place))!;
    expect(frames.map(({ type }) => type)).to.deep.equal(['agent.message']);
    expect(to.at).to.deep.equal([turn, position + 1, 0, 0]);
  });

  it('the readers of a process after its LISTEN connection was lost lose nothing that is notified between joining and the end of the statement that opens a stream', async () => {
    const [id] = (await insertSessions(db, projectId, 1)) as [string];
    const reader = feed.join(id, 'proj_1', noop);
    const { id: turnId } = await begin(id);
    // Neither is in the tables, where the statement or a poll would find it.
    const notifier = new Notifier({ query: async () => [] } as unknown as Database, log);
    notifier.alsoHere((...sent) => feed.receive(...sent));
    const source = { sessionId: id, turnId, position: 1, call: 1, isFirstSinceEvent: true, messageId: 'msg_1' };
    for (const [index, content] of ['Hel', 'lo'].entries())
      notifier.deltas(source, index + 1, [['agent.message.delta', content]]);
    const event = { id: 'evt_early', turn_id: turnId, position: 2, type: 'agent.message', data: '{}' };
    const events = [{ ...event, created_at: new Date().toISOString() }];
    notifier.notify({ id: turnId, sessionId: id, position: 2 }, { after: [1, 1, 2], events });
    await notifier.flush();
    const first = (await reader.open(projectId, '', false))!;
    expect(first.frames.map(({ type }) => type)).to.deep.equal(['user.message']);
    const rest = (await reader.after(first.to))!;
    const delta = 'agent.message.delta';
    expect(rest.frames.map(({ type }) => type)).to.deep.equal([delta, delta, 'agent.message']);
    feed.leave(reader, noop);
    expect(feed.size).to.include({ readers: TURNS });
  });

  it('the readers of a process after its LISTEN connection was lost do not take an id of a delta that nobody has seen for the place of the session', async () => {
    const [id] = (await insertSessions(db, projectId, 1)) as [string];
    const { id: turnId } = await begin(id);
    const reader = feed.join(id, 'proj_1', noop);
    await reader.open(projectId, `${turnId}:1.9.9`, false);
    expect(reader.head!.at).to.deep.equal([1, 1, 0, 0]);
    feed.leave(reader, noop);
  });

  it('the readers of a process after its LISTEN connection was lost ask with one statement for all sessions, and read those that go on', async () => {
    const sessions = (await insertSessions(db, projectId, 3)) as [string, string, string];
    const joined = await Promise.all(
      sessions.map(async (id) => {
        const { id: turnId } = await begin(id);
        await end(turnId);
        const reader = feed.join(id, 'proj_1', noop);
        const { frames, to } = (await reader.open(projectId, `${turnId}:2`, true))!;
        expect([frames, to.at, to.isOver]).to.deep.equal([[], [1, 2, 0, 0], true]);
        return reader;
      }),
    );
    reads.count = 0;
    const { polls } = reads;
    await eventually('two polls', () => reads.polls >= polls + 2);
    expect(reads.count).to.equal(0);
    // Two turns, of which one ends before the poll, and no notification.
    await end((await begin(sessions[1])).id);
    await begin(sessions[1]);
    await eventually('one reader goes on', () => joined[1]!.head!.at[0] === 3);
    expect(joined.map(({ head }) => head!.at)).to.deep.equal([
      [1, 2, 0, 0],
      [3, 1, 0, 0],
      [1, 2, 0, 0],
    ]);
    for (const reader of joined) feed.leave(reader, noop);
  });

  it('the readers of a process after its LISTEN connection was lost hold no frames between turns', async () => {
    const [id] = (await insertSessions(db, projectId, 1)) as [string];
    const reader = feed.join(id, 'proj_1', noop);
    const first = (await reader.open(projectId, '', true))!;
    const { id: turnId } = await begin(id);
    await eventually('the turn is there', () => reader.head!.turnId === turnId);
    expect(reader.inRing(first.to)).to.have.length(1);
    await end(turnId);
    await eventually('the end is there', () => reader.head!.isOver);
    await eventually('the ring has dropped the message', () => reader.inRing(first.to) === null);
    // A stream that is late reads them from the tables.
    const late = (await reader.after(first.to))!;
    expect(late.frames.map(({ type }) => type)).to.deep.equal(['user.message', 'turn.cancelled']);
    feed.leave(reader, noop);
  });

  it('the readers of a process after its LISTEN connection was lost look for deltas of all turns for a moment, and then now and then', async () => {
    const seen = new Set<number>();
    const { polls } = reads;
    await eventually('a poll looks for none, and a later one for all', () => {
      if (reads.polls > polls) seen.add(reads.withDeltas);
      return seen.has(0) && seen.has(TURNS);
    });
  });
});
