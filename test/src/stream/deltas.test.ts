import { expect } from 'chai';
import pLimit from 'p-limit';
import pg from 'pg';
import type { Database } from '../../../src/db/db.js';
import { CANCEL_GRACE_MS } from '../../../src/reconciler/overdue-cancels.js';
import { createPartitions, dropOldPartitions } from '../../../src/stream/delta-partitions.js';
import { DeltaStore } from '../../../src/stream/deltas.js';
import { bytesOfFrame, MAX_BATCH_BYTES, type Frame } from '../../../src/stream/frames.js';
import { CHANNELS, channelOf, Notifier, parseNotification, type TurnNotification } from '../../../src/stream/notify.js';
import { liveFrames } from '../../../src/stream/live-frames.js';
import { START, type StreamPlace } from '../../../src/stream/position.js';
import { SessionReader } from '../../../src/stream/reader.js';
import { readNext, type NextFrames } from '../../../src/stream/read-next.js';
import { RingMemory } from '../../../src/stream/ring.js';
import { createLogger } from '../../../src/platform/logger.js';
import { createKey } from '../../../src/projects/api-keys.js';
import { claimTurn, type QueuedTurn } from '../../../src/turns/begin.js';
import { endTurn } from '../../../src/turns/end.js';
import { beginModelCall, NO_USAGE } from '../../../src/steps/model-call.js';
import { storeStep } from '../../../src/steps/model-step.js';
import { acceptMessage } from '../../support/accept-message.js';
import { changeTurn, ifRunning, type TurnDeps } from '../../../src/turns/change-turn.js';
import { storedDeltas, writeDeltas } from '../../support/deltas.js';
import { eventually } from '../../support/eventually.js';
import { ATTEMPT_ID, CALLED_MODEL, PLAIN_STEP } from '../../support/attempt-id.js';
import { countRowsRead } from '../../support/rows-read.js';
import { insertEndedTurns, insertSessions } from '../../support/factories.js';
import { useDatabase, usePool } from '../../support/use.js';

const DELTA = 'agent.message.delta';

/** Deltas between a model call and the tables: what a stream shows of them is tested in test/api/events. */
describe('deltas', () => {
  const log = createLogger('silent', 'test');
  let notifier: Notifier;
  let deps: TurnDeps;
  let projectId: string;
  let listener: pg.Client;
  const payloads: string[] = [];
  const database = useDatabase();
  const db = usePool(database, 10);
  before(async () => {
    notifier = new Notifier(db, log);
    deps = { db, notifier, log };
    ({ projectId } = await createKey(db, { project: 'demo', maxRunningTurns: 1000 }));
    listener = new pg.Client({ connectionString: database.url });
    await listener.connect();
    listener.on('notification', ({ payload }) => payloads.push(payload!));
    for (let channel = 0; channel < CHANNELS; channel += 1) await listener.query(`LISTEN turn_events_${channel}`);
  });
  after(async () => {
    await listener.end();
    await notifier.flush();
  });

  const running = async (): Promise<QueuedTurn> => {
    const [id] = await insertSessions(db, projectId, 1);
    const turn = await acceptMessage(db, projectId, id!, { content: 'x', files: [], skills: [] }, 'test');
    await claimTurn(deps, turn.id);
    return turn;
  };
  const open = async (turn: QueuedTurn, store = new DeltaStore(db, notifier, log), onStopped?: () => void) =>
    writeDeltas(store, await beginModelCall(deps, turn.id, 1, ATTEMPT_ID, CALLED_MODEL), onStopped);
  const eventOf = ({ id: turn_id }: QueuedTurn, id: string, position: number) => ({
    ...{ id, turn_id, position, type: 'agent.message', created_at: new Date().toISOString(), data: '{}' },
  });
  const storeHello = async (turn: QueuedTurn): Promise<void> => {
    const writer = await open(turn);
    writer.write(DELTA, 'Hello');
    await writer.flush();
  };
  /** The next frames of a turn from a place on, by default from its start. */
  const read = async (turn: QueuedTurn, at = START, from = db): Promise<NextFrames> => {
    const place: StreamPlace = { ...turn, projectId, turnId: turn.id, at, isOver: false, isLive: true };
    return (await readNext(from, place, { isOfSession: false, withFrames: true }))!;
  };
  const framesOf = async (turn: QueuedTurn): Promise<string[]> => {
    const { frames } = await read(turn);
    return frames.filter(({ type }) => type === DELTA).map(({ id, type, json }) => [id, type, json].join(' '));
  };
  const partitions = async (): Promise<string[]> =>
    (
      await db.query<{ name: string }[]>(
        `SELECT inhrelid::regclass::text AS name FROM pg_inherits WHERE inhparent = 'deltas'::regclass ORDER BY 1`,
      )
    ).map(({ name }) => name);
  /** Deltas notified of a turn so far. */
  const notified = async (turn: QueuedTurn): Promise<Extract<TurnNotification, { kind: 'deltas' }>[]> => {
    await notifier.flush();
    await listener.query('SELECT 1');
    return payloads
      .map((payload) => parseNotification(payload)!)
      .filter((notification) => notification.kind === 'deltas')
      .filter(({ turnId }) => turnId === turn.id);
  };

  it('deltas of many streams are stored by one statement, one row for each stream', async () => {
    const store = new DeltaStore(db, notifier, log);
    const turns = await Promise.all(Array.from({ length: 5 }, running));
    const writers = await Promise.all(turns.map((turn) => open(turn, store)));
    for (const word of ['One ', 'two ', 'three.']) for (const writer of writers) writer.write(DELTA, word);
    await Promise.all(writers.map((writer) => writer.flush()));
    const rows = await db.query<{ xmin: string; turn_id: string }[]>('SELECT xmin::text, turn_id FROM deltas');
    expect(rows.map(({ turn_id }) => turn_id)).to.have.members(turns.map(({ id }) => id));
    expect(new Set(rows.map(({ xmin }) => xmin)).size).to.equal(1);
    for (const turn of turns) {
      expect((await storedDeltas(db, turn.id)).map(({ content }) => content).join('')).to.equal('One two three.');
    }
  });

  it('deltas hold all fragments of one type that come within the window; the first one of a message does not wait', async () => {
    const WINDOW_MS = 150;
    const store = new DeltaStore(db, notifier, log, { windowMs: WINDOW_MS });
    const turns = [await running(), await running()] as const;
    const writers = [await open(turns[0], store), await open(turns[1], store)] as const;
    const sentOf = async (turn: QueuedTurn): Promise<string[]> =>
      (await notified(turn)).flatMap(({ runs }) =>
        runs.flatMap(([type, ...some]) => some.map((one) => `${type} ${one}`)),
      );
    const began = performance.now();
    writers[0].write(DELTA, 'One');
    await eventually('the first one is sent', async () => (await sentOf(turns[0])).length === 1);
    for (const fragment of [' two', ' three', '.']) writers[0].write(DELTA, fragment);
    writers[0].write('agent.thinking.delta', 'Hm.');
    writers[0].write('agent.retry.delta', '{"attempt":1}');
    // It cannot wait, and takes with it what has gathered.
    await eventually('the notice is sent', async () => (await sentOf(turns[0])).length === 4);
    writers[0].write(DELTA, 'Again');
    writers[1].write(DELTA, 'First');
    await eventually('the first one of the other turn is sent', async () => (await sentOf(turns[1])).length === 1);
    writers[1].write(DELTA, ' and');
    writers[1].write(DELTA, ' last');
    await eventually('the window ends', async () => (await sentOf(turns[1])).length === 2);
    expect(performance.now() - began).to.be.at.least(WINDOW_MS);
    expect(await sentOf(turns[0])).to.deep.equal([
      `${DELTA} One`,
      `${DELTA}  two three.`,
      'agent.thinking.delta Hm.',
      'agent.retry.delta {"attempt":1}',
      `${DELTA} Again`,
    ]);
    expect(await sentOf(turns[1])).to.deep.equal([`${DELTA} First`, `${DELTA}  and last`]);
    await store.flush();
    for (const turn of turns) {
      const stored = (await storedDeltas(db, turn.id)).map(({ type, content }) => `${type} ${content}`);
      expect(stored).to.deep.equal(await sentOf(turn));
    }
  });

  it('deltas that are ready together share a notification on the channel of their session, of less than 8,000 bytes', async () => {
    const turn = await running();
    const writer = await open(turn);
    const contents = ['a', 'b', '\u0001'.repeat(1200), '👋'.repeat(1200), 'c', 'd'];
    for (const content of contents) writer.write(DELTA, content);
    await writer.flush();
    const batches = await notified(turn);
    const deltas = batches.flatMap(({ runs }) => runs.flatMap(([, ...some]) => some));
    expect(batches.length).to.be.within(2, deltas.length - 1);
    expect(deltas.join('')).to.equal(contents.join(''));
    for (const delta of deltas) expect(delta.isWellFormed()).to.equal(true);
    const all = payloads.filter((payload) => payload.startsWith(turn.id));
    for (const payload of all) expect(Buffer.byteLength(payload)).to.be.lessThan(8000);
    expect(channelOf(turn.sessionId)).to.match(/^turn_events_\d+$/);
  });

  it('deltas are read in batches of limited memory, however many a row holds', async () => {
    const turn = await running();
    const writer = await open(turn);
    for (let row = 0; row < 3; row += 1) {
      // Of two types in turn: fragments of one type become one delta.
      for (let number = 0; number < 5000; number += 1)
        writer.write(number % 2 === 0 ? DELTA : 'agent.thinking.delta', 'word');
      await writer.flush();
    }
    let after = START;
    let count = 0;
    for (let hasMore = true; hasMore;) {
      const batch = await read(turn, after);
      expect(batch.frames.map(bytesOfFrame).reduce((sum, bytes) => sum + bytes, 0)).to.be.below(MAX_BATCH_BYTES + 1000);
      for (const { position } of batch.frames) {
        // The message of the turn comes first.
        expect(position).to.deep.equal(count === 0 ? [1, 1, 0, 0] : [1, 1, 1, count]);
        count += 1;
      }
      after = batch.frames.at(-1)!.position;
      ({ hasMore } = batch);
    }
    expect(count).to.equal(15_001);
  });

  it('deltas and the events of a turn are read without those of other turns', async () => {
    const turn = await running();
    const [another] = (await insertSessions(db, projectId, 1)) as [string];
    await insertEndedTurns(db, another, { count: 300, results: 10 });
    await db.query('ANALYZE events');
    const { result, read: rows } = await countRowsRead(db, (counting) => read(turn, START, counting));
    expect(result.frames.map(({ type }) => type)).to.deep.equal(['user.message']);
    expect(rows).to.be.lessThan(50);
  });

  it('deltas have the same frames live and from the table, also when a flush was sent twice', async () => {
    const turn = await running();
    const writer = await open(turn);
    for (const word of ['One ', 'two ']) {
      writer.write(DELTA, word);
      await writer.flush();
    }
    writer.write('agent.thinking.delta', 'Hm.');
    writer.write(DELTA, 'three.');
    await writer.flush();
    const once = await framesOf(turn);
    expect(once).to.have.length(3);
    expect(once[2]).to.contain(`${turn.id}:1.1.4 `).and.contain('"content":"three."');
    await db.query('INSERT INTO deltas SELECT * FROM deltas WHERE turn_id = $1', [turn.id]);
    expect(await framesOf(turn)).to.deep.equal(once);
    await endTurn(deps, turn.id, { kind: 'cancelled' });
    const [cut] = await db.query<{ data: { content: string } }[]>(
      `SELECT data FROM events WHERE turn_id = $1 AND type = 'agent.message'`,
      [turn.id],
    );
    expect(cut!.data).to.deep.include({ content: 'One two three.', incomplete: true });
  });

  it('deltas let the events that follow them come with their notification; others are read from the tables', async () => {
    const turn = await running();
    let reads = 0;
    const counted = {
      query: (...query: Parameters<Database['query']>) => {
        reads += 1;
        return db.query(...query);
      },
    } as Database;
    const ring = new RingMemory().createRing();
    const reader = new SessionReader(turn.sessionId, Promise.resolve(), ring, pLimit(1), counted, log);
    const { to: place } = (await reader.open(projectId, '', false))!;
    const after = async (): Promise<Frame[]> => (await reader.after(place))!.frames;
    expect(await after()).to.have.length(0);
    const writer = await open(turn);
    writer.write(DELTA, 'Hello');
    await notifier.flush();
    const live = (): TurnNotification | null | undefined =>
      payloads.map(parseNotification).find((one) => one?.turnId === turn.id && one.kind === 'deltas');
    await eventually('the delta arrives', () => live() !== undefined);
    reader.take(live()!);

    const stored = { kind: 'stored', turnId: turn.id } as const;
    const before = reads;
    reader.take({ ...stored, position: 2, live: { after: [1, 1, 1], events: [eventOf(turn, 'event_1', 2)] } });
    expect((await after()).map(({ type }) => type)).to.deep.equal([DELTA, 'agent.message']);
    expect(reads).to.equal(before);

    reader.take({ ...stored, position: 4, live: { after: [3, 0, 0], events: [eventOf(turn, 'event_3', 4)] } });
    await eventually('it reads', () => reads > before);
    expect((await after()).at(-1)!.position).to.deep.equal([1, 2, 0, 0]);
    reader.close();
    await endTurn(deps, turn.id, { kind: 'cancelled' });
  });

  it('deltas of a call follow an event without a read, unless another call has begun after the event', async () => {
    const turn = await running();
    const call = () => beginModelCall(deps, turn.id, 1, ATTEMPT_ID, CALLED_MODEL);
    const calls = [await call(), await call()];
    await changeTurn(deps, turn.id, ifRunning, (changed) =>
      changed.append({ type: 'agent.message', data: { message_id: 'msg_1', content: 'x' } }),
    );
    calls.push(await call());
    expect(calls.map(({ position, call, isFirstSinceEvent }) => [position, call, isFirstSinceEvent])).to.deep.equal([
      [1, 1, true],
      [1, 2, false],
      [2, 3, true],
    ]);
    for (const one of calls) notifier.deltas(one, 1, [[DELTA, 'Hello']]);
    const live = (one: TurnNotification, wasRead: boolean): string[] | undefined => {
      const at = [1, one.position, 0, 0] as const;
      const place: StreamPlace = { ...turn, projectId, turnId: turn.id, at, isOver: false, isLive: true };
      return liveFrames(place, one, wasRead)?.map(({ id }) => id);
    };
    const [first, again, next] = await notified(turn);
    expect([first!, again!, next!].map((one) => live(one, false))).to.deep.equal([
      [`${turn.id}:1.1.1`],
      undefined,
      [`${turn.id}:2.3.1`],
    ]);
    expect(live(again!, true)).to.deep.equal([`${turn.id}:1.2.1`]);
  });

  it('deltas reach the many streams of a session together; the first one of a message and an event do not wait', async () => {
    const turn = await running();
    const ring = new RingMemory().createRing();
    const reader = new SessionReader(turn.sessionId, Promise.resolve(), ring, pLimit(1), db, log);
    const { to: place } = (await reader.open(projectId, '', false))!;
    let calls = 0;
    let seen = 0;
    reader.watchers.add(() => {
      calls += 1;
      seen = reader.head!.at[3];
    });
    for (let n = 0; n < 500; n += 1) reader.watchers.add(() => undefined);
    const of = { turnId: turn.id, call: 1, messageId: 'msg_1', sentAt: 0, isFirstSinceEvent: true };
    const take = (first: number): void =>
      reader.take({ ...of, kind: 'deltas', position: 1, first, runs: [[DELTA, `${first} `]] });
    take(1);
    expect(calls).to.equal(1);
    for (let number = 2; number <= 200; number += 1) take(number);
    expect(calls).to.be.lessThan(20);
    await eventually('the rest reaches them', () => seen === 200);
    take(201);
    const soFar = calls;
    const event = eventOf(turn, 'event_1', 2);
    reader.take({ kind: 'stored', turnId: turn.id, position: 2, live: { after: [1, 1, 201], events: [event] } });
    expect(calls).to.equal(soFar + 1);
    const { frames } = (await reader.after(place))!;
    expect(frames.map(({ position }) => position[3])).to.deep.equal([
      ...Array.from({ length: 201 }, (_, n) => n + 1),
      0,
    ]);
    reader.close();
    await endTurn(deps, turn.id, { kind: 'cancelled' });
  });

  it('deltas are not followed live by events that are too long for a notification', async () => {
    const turn = await running();
    const event = eventOf(turn, 'event_1', 2);
    for (const length of [10, 8_000]) {
      const data = JSON.stringify({ content: 'ä'.repeat(length / 2) });
      notifier.notify({ ...turn, position: 2 }, { after: [1, 0, 0], events: [{ ...event, data }] });
    }
    await notifier.flush();
    await eventually('both arrive', () => payloads.filter((payload) => payload.startsWith(turn.id)).length >= 2);
    const stored = payloads.filter((payload) => payload.startsWith(turn.id)).map(parseNotification);
    const live = stored.map((one) => one?.kind === 'stored' && one.live && one.live.events.map(({ id }) => id));
    expect(live.slice(-2)).to.deep.equal([['event_1'], null]);
    await endTurn(deps, turn.id, { kind: 'cancelled' });
  });

  it('deltas that a flush has not stored are taken after the flushes under way, and put back in front of later ones', async () => {
    const turn = await running();
    const call = await beginModelCall(deps, turn.id, 1, ATTEMPT_ID, CALLED_MODEL);
    const holds: (() => Promise<unknown>)[] = [];
    const slow = {
      query: async (...query: Parameters<Database['query']>) => {
        await holds.shift()?.();
        return db.query(...query);
      },
    } as Database;
    const store = new DeltaStore(slow, notifier, log);
    const deltas = store.open(call, () => undefined);
    let endFirst = (): void => undefined;
    holds.push(
      () => new Promise<void>((resolve) => (endFirst = resolve)),
      async () => {
        throw new Error('Postgres is away');
      },
    );
    store.write(deltas, DELTA, 'One');
    const first = store.flush();
    await eventually('the first flush is under way', () => holds.length === 1);
    store.write(deltas, DELTA, ' two');
    const second = store.flush().catch(String);
    const taken = store.takeUnstored(deltas);
    endFirst();
    await first;
    expect(await second).to.contain('Postgres is away');
    expect(await taken).to.deep.equal({ last: 2, runs: [[DELTA, ' two']] });
    expect((await store.takeUnstored(deltas)).runs).to.deep.equal([]);

    store.write(deltas, DELTA, ' three');
    store.putBack(deltas, await taken);
    expect(await store.takeUnstored(deltas)).to.deep.equal({ last: 3, runs: [[DELTA, ' two', ' three']] });
    store.putBack(deltas, { last: 3, runs: [[DELTA, ' two', ' three']] });
    await store.flush();
    expect((await storedDeltas(db, turn.id)).map(({ content }) => content)).to.deep.equal(['One', ' two', ' three']);
  });

  it('deltas stop before the reconciler carries out an old cancel request: the message contains all that watchers received', async () => {
    const turn = await running();
    let fence = (): void => undefined;
    const fenced = new Promise<void>((resolve) => (fence = resolve));
    const writer = await open(turn, new DeltaStore(db, notifier, log), () => fence());
    writer.write(DELTA, 'Begun');
    // The reconciler may end the turn 400 ms from now: one more flush, and the statement that stores it, come before.
    await db.query(`UPDATE turns SET cancel_requested_at = now() - $2::integer * interval '1 ms' WHERE id = $1`, [
      turn.id,
      CANCEL_GRACE_MS - 400,
    ]);
    const flushed = writer.flush();
    writer.write(DELTA, ', and shown meanwhile');
    await flushed;
    writer.write(DELTA, ', and too late');
    await fenced;
    await endTurn(deps, turn.id, { kind: 'cancelled' });
    const shown = (await notified(turn)).flatMap(({ runs }) => runs.flatMap(([, ...some]) => some));
    const [cut] = await db.query<{ content: string }[]>(
      `SELECT data->>'content' AS content FROM events WHERE turn_id = $1 AND type = 'agent.message'`,
      [turn.id],
    );
    expect(cut!.content).to.equal('Begun, and shown meanwhile').and.equal(shown.join(''));
  });

  describe('partitions', () => {
    const OLD = 'deltas_200001010000';
    const oldPartition = (): Promise<unknown> =>
      db.query(`CREATE TABLE ${OLD} PARTITION OF deltas FOR VALUES FROM ('2000-01-01') TO ('2000-01-02')`);
    /** Since the deltas of open turns were moved out of the old partition. */
    const letAMinutePass = (): Promise<unknown> =>
      db.query(`COMMENT ON TABLE ${OLD} IS '${new Date(Date.now() - 61_000).toISOString()}'`);

    it('deltas in partitions are stored although no worker has created the partition', async () => {
      for (const name of await partitions()) await db.query(`DROP TABLE ${name}`);
      const turn = await running();
      await storeHello(turn);
      expect(await storedDeltas(db, turn.id)).to.have.length(1);
      expect(await partitions()).to.have.length(4);
    });

    it('deltas in partitions are stored with a step although no worker has created the partition', async () => {
      for (const name of await partitions()) await db.query(`DROP TABLE ${name}`);
      const turn = await running();
      const call = await beginModelCall(deps, turn.id, 1, ATTEMPT_ID, CALLED_MODEL);
      const workflows = { namespace: 'test', start: async () => true };
      const outcome = await storeStep(
        { ...deps, workflows },
        {
          ...{ ...PLAIN_STEP, call, deltas: { last: 1, runs: [[DELTA, 'Hello']] } },
          answer: {
            content: [{ type: 'text', text: 'Hello' }],
            stopReason: 'end_turn',
            usage: NO_USAGE,
            firstTokenMs: 1,
          },
        },
      );
      expect(outcome.kind).to.equal('ended');
      expect((await storedDeltas(db, turn.id)).map(({ content }) => content)).to.deep.equal(['Hello']);
    });

    it('deltas in partitions are created once by parallel calls', async () => {
      for (const name of await partitions()) await db.query(`DROP TABLE ${name}`);
      const created = await Promise.all([1, 2, 3].map(() => createPartitions(db)));
      expect(created.toSorted()).to.deep.equal([0, 0, 4]);
    });

    it('deltas in partitions are dropped when these are over; those of open turns stay', async () => {
      const [ended, living] = [await running(), await running()];
      for (const turn of [ended, living]) await storeHello(turn);
      await endTurn(deps, ended.id, { kind: 'cancelled' });
      expect(await dropOldPartitions(db)).to.equal(0);
      expect(await storedDeltas(db, ended.id)).to.have.length(1);

      await oldPartition();
      await db.query(`UPDATE deltas SET stored_at = '2000-01-01 12:00Z' WHERE turn_id = ANY($1)`, [
        [ended.id, living.id],
      ]);
      // Streams that were open at the end of a turn may read its deltas for another minute.
      expect(await dropOldPartitions(db)).to.equal(0);
      expect(await storedDeltas(db, ended.id)).to.have.length(1);
      await letAMinutePass();
      expect(await dropOldPartitions(db)).to.equal(1);
      expect(await storedDeltas(db, ended.id)).to.deep.equal([]);
      expect(await storedDeltas(db, living.id)).to.have.length(1);
      expect(await partitions()).not.to.include(OLD);
    });

    it('deltas in partitions are moved for each of many open turns', async () => {
      await oldPartition();
      const ids = Array.from({ length: 120 }, (_, n) => `turn_many_${n}`);
      await db.query(
        `WITH open AS (
           INSERT INTO open_turns (turn_id, session_id, project_id, namespace)
           SELECT id, 'of ' || id, 'p', 'none' FROM unnest($1::text[]) AS id RETURNING turn_id)
         INSERT INTO deltas SELECT '2000-01-01 12:00Z', turn_id, 1, 1, 1, 'msg_1', '[]' FROM open`,
        [ids],
      );
      await dropOldPartitions(db);
      const [moved] = await db.query<{ rows: number }[]>(
        `SELECT count(*)::integer AS rows FROM deltas WHERE turn_id = ANY($1) AND stored_at > now() - interval '1 minute'`,
        [ids],
      );
      expect(moved).to.deep.equal({ rows: ids.length });
      await db.query('DELETE FROM open_turns WHERE turn_id = ANY($1)', [ids]);
      await letAMinutePass();
      expect(await dropOldPartitions(db)).to.equal(1);
    });

    it('deltas in partitions are dropped without making a stream wait, even while a backup reads them, and by the next round if interrupted', async () => {
      await oldPartition();
      await dropOldPartitions(db);
      await letAMinutePass();
      const turn = await running();
      const backup = db.createQueryRunner();
      await backup.startTransaction();
      await backup.query('SELECT FROM deltas LIMIT 1');
      const dropped = dropOldPartitions(db).catch((error: unknown) => error);
      const detaching = (): Promise<{ pid: number }[]> =>
        db.query(`SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND query ~ 'DETACH PARTITION'
                    AND wait_event_type = 'Lock' AND pid <> pg_backend_pid()`);
      await eventually('the detach waits', async () => (await detaching()).length === 1);
      // Meanwhile streams write and read.
      await storeHello(turn);
      expect(await storedDeltas(db, turn.id)).to.have.length(1);
      const waiting = await detaching();
      expect(waiting).to.have.length(1);

      await db.query('SELECT pg_cancel_backend($1)', [waiting[0]!.pid]);
      expect(await dropped).to.be.an('error');
      await backup.commitTransaction();
      await backup.release();
      expect(await dropOldPartitions(db)).to.equal(1);
      expect(await partitions()).not.to.include(OLD);
    });
  });
});
