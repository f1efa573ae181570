import { ServiceError } from '@temporalio/client';
import { expect } from 'chai';
import { DeltaStore } from '../../../src/stream/deltas.js';
import { Notifier } from '../../../src/stream/notify.js';
import { createKey } from '../../../src/projects/api-keys.js';
import type { StartedActivity, WorkflowState } from '../../../src/temporal/turn-workflows.js';
import { requestCancel } from '../../../src/turns/request-cancel.js';
import { claimTurn, type QueuedTurn } from '../../../src/turns/begin.js';
import { endTurn } from '../../../src/turns/end.js';
import type { TurnOutcome } from '../../../src/turns/outcome.js';
import { beginModelCall } from '../../../src/steps/model-call.js';
import { acceptMessage } from '../../support/accept-message.js';
import { insertWait } from '../../support/factories.js';
import { terminateEnded } from '../../../src/reconciler/ended-turns.js';
import { cancelOverdue } from '../../../src/reconciler/overdue-cancels.js';
import { MAX_TURNS, reconcileStale } from '../../../src/reconciler/stale-turns.js';
import type { ReconcileDeps } from '../../../src/reconciler/deps.js';
import { TurnEndedError } from '../../../src/turns/errors.js';
import { changeTurn, ifRunning, type TurnDeps } from '../../../src/turns/change-turn.js';
import { storedDeltas, writeDeltas, type DeltaWriter } from '../../support/deltas.js';
import { ATTEMPT_ID, CALLED_MODEL } from '../../support/attempt-id.js';
import { onLogLine, testLogger } from '../../support/log.js';
import { useDatabase, usePool } from '../../support/use.js';

const TURN_TIMEOUT_MS = 3_600_000;
const NAMESPACE = 'of-this-installation';
const FAILED: TurnOutcome = { kind: 'failed', type: 'internal_error', message: 'Broken.', retryable: true };

/** What HTTP cannot bring about: races, and workflows in any state. Postgres is real, Temporal is replaced by the test. */
describe('turns in Postgres', () => {
  const log = testLogger();
  let notifier: Notifier;
  let deps: TurnDeps;
  let projectId: string;
  const db = usePool(useDatabase(), 10);
  before(async () => {
    notifier = new Notifier(db, log);
    deps = { db, notifier, log };
    ({ projectId } = await createKey(db, { project: 'demo', maxRunningTurns: 1000 }));
  });
  after(() => notifier.flush());

  let sessions = 0;
  const queued = async (): Promise<QueuedTurn> => {
    const id = `ses_${(sessions += 1)}`;
    await db.query(
      `INSERT INTO sessions (id, project_id, model_id, thinking_enabled, mcp_servers, metadata, created_at, metadata_updated_at)
       VALUES ($1, $2, 'm', true, '{}', '{}', now(), now())`,
      [id, projectId],
    );
    return acceptMessage(db, projectId, id, { content: 'x', files: [], skills: [] }, NAMESPACE);
  };
  const running = async (): Promise<QueuedTurn> => {
    const turn = await queued();
    await claimTurn(deps, turn.id);
    return turn;
  };
  const end = (turn: QueuedTurn, ending: TurnOutcome): Promise<boolean> => endTurn(deps, turn.id, ending);
  const cancel = (turn: QueuedTurn) => requestCancel(deps, turn.id);
  /** Null when the turn has ended. */
  const claim = (id: string) =>
    claimTurn(deps, id).catch((error: unknown) => {
      if (error instanceof TurnEndedError) return null;
      throw error;
    });
  const column = async <T>(sql: string, turn: QueuedTurn): Promise<T[]> =>
    (await db.query<{ value: T }[]>(sql, [turn.id])).map(({ value }) => value);
  const stateOf = async (turn: QueuedTurn): Promise<string> =>
    (await column<string>('SELECT state AS value FROM turns WHERE id = $1', turn))[0]!;
  const endsOf = (turn: QueuedTurn): Promise<string[]> =>
    column(`SELECT type AS value FROM events WHERE turn_id = $1 AND type LIKE 'turn.%' ORDER BY position`, turn);

  it('turns in Postgres end once when several calls end them at the same moment', async () => {
    const turn = await running();
    const ended = await Promise.all(
      Array.from({ length: 10 }, (_, n) => end(turn, n % 2 === 0 ? FAILED : { kind: 'cancelled' })),
    );
    expect(ended.filter(Boolean)).to.have.length(1);
    expect(await endsOf(turn)).to.have.length(1);
  });

  it('turns in Postgres are claimed or cancelled, never both', async () => {
    for (let round = 0; round < 10; round += 1) {
      const turn = await queued();
      const [claimed] = await Promise.all([claim(turn.id), cancel(turn)]);
      // A cancel after the claim is a request; one before it ends the turn.
      expect(await stateOf(turn)).to.equal(claimed === null ? 'cancelled' : 'running');
      expect(await endsOf(turn)).to.have.length(claimed === null ? 1 : 0);
    }
  });

  it('turns in Postgres may be claimed again while they run, and not after their end', async () => {
    const turn = await running();
    const { sessionId } = turn;
    expect(await claim(turn.id)).to.deep.equal({ projectId, sessionId, isConnected: false });
    await end(turn, FAILED);
    expect(await claim(turn.id)).to.equal(null);
    expect(await cancel(turn)).to.equal(null);
    expect(await end(turn, { kind: 'cancelled' })).to.equal(false);
    expect(await claim('turn_none')).to.equal(null);
  });

  it('turns in Postgres do not complete from the queue', async () => {
    const turn = await queued();
    expect(await end(turn, { kind: 'completed', stopReason: 'end_turn' })).to.equal(false);
    expect(await stateOf(turn)).to.equal('queued');
  });

  it('turns in Postgres keep the time of the first cancel request', async () => {
    const turn = await running();
    const requestedAt = () => column<string>('SELECT cancel_requested_at AS value FROM turns WHERE id = $1', turn);
    await cancel(turn);
    const first = await requestedAt();
    await cancel(turn);
    expect(await requestedAt()).to.deep.equal(first);
  });

  describe('and their deltas', () => {
    const beginWriter = async (turn: QueuedTurn, onStopped?: () => void): Promise<DeltaWriter> => {
      const call = await beginModelCall(deps, turn.id, 1, ATTEMPT_ID, CALLED_MODEL);
      return writeDeltas(new DeltaStore(db, notifier, log), call, onStopped);
    };
    const contents = async (turn: QueuedTurn): Promise<string[]> =>
      (await storedDeltas(db, turn.id)).map(({ content }) => content);

    it('turns and their deltas of a late writer, and of one that another attempt has overtaken, are refused', async () => {
      const turn = await running();
      let fenced = 0;
      const first = await beginWriter(turn, () => (fenced += 1));
      first.write('agent.message.delta', 'in time');
      await first.flush();
      const second = await beginWriter(turn, () => (fenced += 1));
      first.write('agent.message.delta', 'overtaken');
      await first.flush();
      expect(fenced).to.equal(1);

      second.write('agent.message.delta', 'second');
      await second.flush();
      await end(turn, { kind: 'cancelled' });
      second.write('agent.message.delta', 'late');
      await second.flush();
      expect(fenced).to.equal(2);
      expect(await contents(turn)).to.deep.equal(['in time', 'second']);
      expect(
        await column(
          `SELECT data->>'content' AS value FROM events WHERE turn_id = $1 AND type = 'agent.message'`,
          turn,
        ),
      ).to.deep.equal(['second']);
    });

    it('turns and their deltas of an attempt that the turn has gone past, by the outcome of an earlier one, are refused', async () => {
      const turn = await running();
      let fenced = 0;
      const writer = await beginWriter(turn, () => (fenced += 1));
      const outcome = { type: 'agent.message' as const, data: { message_id: 'msg_0', content: 'told' } };
      await changeTurn(deps, turn.id, ifRunning, (changed) => changed.append(outcome));
      writer.write('agent.message.delta', 'late');
      await writer.flush();
      expect(fenced).to.equal(1);
      expect(await contents(turn)).to.deep.equal([]);
    });

    it('turns and their deltas are kept when they are written while a batch is on its way', async () => {
      const turn = await running();
      const writer = await beginWriter(turn);
      const flushes: Promise<void>[] = [];
      for (let n = 0; n < 20; n += 1) {
        writer.write('agent.message.delta', `${n}`);
        flushes.push(writer.flush());
        await new Promise((resolve) => setImmediate(resolve));
        writer.write('agent.message.delta', `${n}, meanwhile`);
      }
      await Promise.all([...flushes, writer.flush()]);
      const written = Array.from({ length: 20 }, (_, n) => `${n}${n}, meanwhile`);
      expect((await contents(turn)).join('')).to.equal(written.join(''));
      const lasts = await column<number>('SELECT last AS value FROM deltas WHERE turn_id = $1 ORDER BY last', turn);
      expect(lasts.at(-1)).to.equal((await writer.takeUnstored()).last);
      expect(new Set(lasts).size).to.equal(lasts.length);
    });
  });

  describe('under the reconciler', () => {
    interface Asked {
      started: string[];
      cancelled: string[];
      described: string[];
      terminated: string[];
      /** Questions without an answer. */
      unanswered: number;
    }
    let asked: Asked;
    /** Turns for which Temporal does not answer. */
    let unanswered = new Set<string>();
    const away = (): Promise<never> => {
      asked.unanswered += 1;
      return Promise.reject(
        new ServiceError('Temporal is away', {
          cause: Object.assign(new Error('no connection'), { code: 14, details: '', metadata: {} }),
        }),
      );
    };
    /** A round of the reconciler while every workflow is in that state, or Temporal away; returns what was asked of it. */
    const reconcile = async (
      state: WorkflowState | 'away',
      started: StartedActivity[] = [],
    ): Promise<Pick<Asked, 'started' | 'cancelled'>> => {
      const all: Asked = { started: [], cancelled: [], described: [], terminated: [], unanswered: 0 };
      asked = all;
      const deps: ReconcileDeps = {
        db,
        notifier,
        log,
        count: () => undefined,
        turnTimeoutMs: TURN_TIMEOUT_MS,
        workflows: {
          namespace: NAMESPACE,
          start: async ({ id }, { onlyNew } = {}) => {
            if (state === 'away' || unanswered.has(id)) return away();
            return (onlyNew === true && state !== 'not found') || all.started.push(id) === 0 ? false : true;
          },
          signalAnswers: async () => undefined,
          signalAsking: async () => undefined,
          cancel: async (id) => void all.cancelled.push(id),
          describe: async (id) => {
            if (state === 'away' || unanswered.has(id)) return away();
            all.described.push(id);
            return { state, started };
          },
          terminate: async (id) => all.terminated.push(id) > 0,
          listFailed: async () => [],
          listRunning: async () => ({ turnIds: [], next: null }),
          failActivity: async () => false,
        },
      };
      await cancelOverdue(deps);
      await reconcileStale(deps);
      return { started: all.started, cancelled: all.cancelled };
    };
    const setBack = async (
      column: string,
      turn: QueuedTurn,
      seconds: number,
      table: 'turns' | 'open_turns' = 'turns',
    ): Promise<QueuedTurn> => {
      const id = table === 'turns' ? 'id' : 'turn_id';
      await db.query(`UPDATE ${table} SET ${column} = clock_timestamp() - $2 * interval '1 s' WHERE ${id} = $1`, [
        turn.id,
        seconds,
      ]);
      return turn;
    };
    const stale = (turn: QueuedTurn): Promise<QueuedTurn> => setBack('progress_at', turn, 6);
    const cancelRequested = async (turn: QueuedTurn, ago: number): Promise<QueuedTurn> => {
      await cancel(turn);
      return setBack('cancel_requested_at', turn, ago, 'open_turns');
    };
    beforeEach(() => db.query('DELETE FROM open_turns'));

    it('turns under the reconciler start when their workflow is not there', async () => {
      const turn = await stale(await queued());
      expect(await reconcile('not found')).to.deep.equal({ started: [turn.id], cancelled: [] });
      expect(await stateOf(turn)).to.equal('queued');
      // Looked at a moment ago: left alone.
      expect((await reconcile('not found')).started).to.deep.equal([]);
    });

    it('turns under the reconciler start with one call when their workflow never started, and are described after that', async () => {
      const turn = await stale(await queued());
      await reconcile('not found');
      expect(asked.described).to.deep.equal([]);
      await setBack('checked_at', turn, 30, 'open_turns');
      await setBack('progress_at', turn, 40);
      await reconcile('running');
      expect(asked).to.deep.include({ started: [], described: [turn.id] });
    });

    it('turns under the reconciler are checked again at once while the lease of their worker has run out, however long they made no progress', async () => {
      const turn = await setBack('progress_at', await running(), 3600);
      const lease = (id: string, seconds: number) =>
        db.query(
          `INSERT INTO workers (id, namespace, task_queue, until) VALUES ($1, $2, 'q', now() + $3 * interval '1 s')`,
          [id, NAMESPACE, seconds],
        );
      await Promise.all([lease('late', -1), lease('alive', 60)]);
      const describedWhileHeldBy = async (workerId: string): Promise<string[]> => {
        await reconcile('running', [{ activityId: '1', workerId }]);
        return asked.described;
      };
      expect(await describedWhileHeldBy('late')).to.deep.equal([turn.id]);
      expect(await describedWhileHeldBy('late')).to.deep.equal([turn.id]);
      expect(await describedWhileHeldBy('alive')).to.deep.equal([turn.id]);
      expect(await describedWhileHeldBy('alive')).to.deep.equal([]);
    });

    it('turns under the reconciler start before turns that made no progress, however many there are', async () => {
      await db.query(
        `INSERT INTO sessions (id, project_id, model_id, thinking_enabled, mcp_servers, metadata)
         SELECT 'ses_quiet_' || n, $1, 'm', true, '{}', '{}' FROM generate_series(1, $2::integer) AS n`,
        [projectId, MAX_TURNS + 1],
      );
      await db.query(
        `WITH stale AS (
           INSERT INTO turns (id, session_id, project_id, number, state, started_at, progress_at)
           SELECT 'turn_quiet_' || n, 'ses_quiet_' || n, $1, 1, 'running', now() - interval '1 hour', now() - interval '1 hour'
           FROM generate_series(1, $2::integer) AS n RETURNING id, session_id, project_id)
         INSERT INTO open_turns SELECT id, session_id, 'of other projects', $3 FROM stale`,
        [projectId, MAX_TURNS + 1, NAMESPACE],
      );
      const never = await stale(await queued());
      expect((await reconcile('running')).started).to.deep.equal([]);
      expect(asked.described).to.have.length(MAX_TURNS).and.include(never.id);
      // The other two are the oldest of the next round.
      await reconcile('running');
      expect(asked.described).to.have.length(2);
      await db.query('DELETE FROM open_turns');
    });

    it('turns under the reconciler are checked in the next round after one that Temporal did not answer', async () => {
      const turn = await stale(await queued());
      expect((await reconcile('away')).started).to.deep.equal([]);
      expect((await reconcile('not found')).started).to.deep.equal([turn.id]);
    });

    it('turns under the reconciler cost one log line and a few questions a round while Temporal is away, however many they are', async () => {
      for (let n = 0; n < 20; n += 1) await stale(await queued());
      const lines: Record<string, unknown>[] = [];
      const stop = onLogLine((line) => lines.push(line));
      await reconcile('away');
      stop();
      expect(asked.unanswered).to.equal(4);
      expect(lines.map(({ message, turns, turn_id }) => ({ message, turns, turn_id }))).to.deep.equal([
        {
          message: 'Temporal did not answer for turns; the next round asks again',
          turns: 20,
          turn_id: undefined,
        },
      ]);
      expect((await reconcile('not found')).started).to.have.length(20);
    });

    it('turns under the reconciler that Temporal does not answer for hold up no others', async () => {
      const turns: string[] = [];
      for (let n = 0; n < 12; n += 1) turns.push((await stale(await queued())).id);
      unanswered = new Set(turns.slice(0, 3));
      expect((await reconcile('not found')).started).to.have.members(turns.slice(3));
      unanswered.clear();
      expect((await reconcile('not found')).started).to.have.members(turns.slice(0, 3));
    });

    const TIMED_OUT = `SELECT data->'error'->>'type' AS value FROM events WHERE turn_id = $1 AND type = 'turn.failed'`;

    it('turns under the reconciler end when they have run for longer than their limit, even while Temporal is away', async () => {
      const [late, inTime] = [await stale(await running()), await stale(await running())];
      await setBack('started_at', late, TURN_TIMEOUT_MS / 1000 + 121);
      await setBack('started_at', inTime, TURN_TIMEOUT_MS / 1000 + 60);
      await reconcile('away');
      expect(await column(TIMED_OUT, late)).to.deep.equal(['turn_timeout']);
      expect(asked.terminated).to.deep.equal([late.id]);
      expect(await stateOf(inTime)).to.equal('running');
    });

    it('turns under the reconciler end when they have been queued for longer than their limit', async () => {
      const [late, inTime] = [await stale(await queued()), await stale(await queued())];
      await setBack('queued_at', late, TURN_TIMEOUT_MS / 1000 + 121);
      await setBack('queued_at', inTime, TURN_TIMEOUT_MS / 1000 + 60);
      await reconcile('running');
      expect(await column(TIMED_OUT, late)).to.deep.equal(['turn_timeout']);
      expect(await stateOf(inTime)).to.equal('queued');
    });

    it('turns under the reconciler wait for answers for longer than they may run, and end an hour after those expired', async () => {
      const turn = await stale(await running());
      await setBack('started_at', turn, 10_000);
      await db.query(
        `INSERT INTO tool_calls (turn_id, step, index, tool_use_id, name, input) VALUES ($1, 1, 0, 'toolu_1', 'a', '{}')`,
        [turn.id],
      );
      const asked = { askedAt: "now() - interval '9900 seconds'", lasts: '6900 seconds' };
      await insertWait(db, { turnId: turn.id, sessionId: turn.sessionId, ...asked });
      await reconcile('waiting');
      expect(await stateOf(turn)).to.equal('running');
      await db.query(`UPDATE waits SET expires_at = now() - interval '61 minutes' WHERE turn_id = $1`, [turn.id]);
      await db.query('UPDATE open_turns SET checked_at = NULL WHERE turn_id = $1', [turn.id]);
      await reconcile('waiting');
      expect(await column(TIMED_OUT, turn)).to.deep.equal(['turn_timeout']);
    });

    it('turns under the reconciler start again when Temporal reports their workflow as complete', async () => {
      const turn = await stale(await running());
      expect((await reconcile('completed')).started).to.deep.equal([turn.id]);
      expect(await stateOf(turn)).to.equal('running');
    });

    it('turns under the reconciler are left alone while they make progress, or their workflow runs', async () => {
      const alive = await running();
      const turn = await stale(await running());
      expect(await reconcile('running')).to.deep.equal({ started: [], cancelled: [] });
      await reconcile('terminated');
      expect(await stateOf(alive)).to.equal('running');
      expect(await stateOf(turn)).to.equal('running');
    });

    for (const [state, type, error] of [
      ['terminated', 'turn.failed', 'terminated'],
      ['timed out', 'turn.failed', 'turn_timeout'],
      ['failed', 'turn.failed', 'internal_error'],
      ['cancelled', 'turn.cancelled', null],
    ] as const) {
      it(`turns under the reconciler end when their workflow is ${state}`, async () => {
        const turn = await stale(await running());
        await reconcile(state);
        expect(await endsOf(turn)).to.deep.equal([type]);
        expect(
          await column(
            `SELECT data->'error'->>'type' AS value FROM events WHERE turn_id = $1 AND type LIKE 'turn.%'`,
            turn,
          ),
        ).to.deep.equal([error]);
      });
    }

    it('turns under the reconciler end when their workflow task keeps failing, unless they wait for an answer and a roll-back', async () => {
      const [turn, waiting] = [await stale(await running()), await stale(await running())];
      await db.query(
        `INSERT INTO tool_calls (turn_id, step, index, tool_use_id, name, input) VALUES ($1, 1, 0, 'toolu_1', 'a', '{}')`,
        [waiting.id],
      );
      await insertWait(db, { turnId: waiting.id, sessionId: waiting.sessionId });
      await reconcile('stuck');
      expect(await stateOf(turn)).to.equal('failed');
      expect(asked.terminated).to.deep.equal([turn.id]);
      expect(await stateOf(waiting)).to.equal('running');
    });

    it('turns under the reconciler are left to their workers while a cancel request is new', async () => {
      const turn = await cancelRequested(await stale(await running()), 0);
      expect(await reconcile('running')).to.deep.equal({ started: [], cancelled: [] });
      expect(await stateOf(turn)).to.equal('running');
    });

    it('turns under the reconciler are cancelled a second after the cancel request, and Temporal gets it once more', async () => {
      const turn = await cancelRequested(await stale(await running()), 1.1);
      expect(await reconcile('running')).to.deep.equal({ started: [], cancelled: [turn.id] });
      expect(await endsOf(turn)).to.deep.equal(['turn.cancelled']);
    });

    it('turns under the reconciler are cancelled when the cancel request is old, even while Temporal is away and deltas arrive', async () => {
      const turn = await cancelRequested(await running(), 16);
      await reconcile('away');
      expect(await endsOf(turn)).to.deep.equal(['turn.cancelled']);
    });

    it('turns under the reconciler that ended minutes ago take their workflows with them, a page of them a round', async () => {
      const [open, ended, left, gone] = [await running(), await running(), await running(), await running()];
      for (const turn of [ended, left, gone]) await end(turn, { kind: 'cancelled' });
      for (const turn of [left, gone]) await setBack('ended_at', turn, 181);
      const asks: Date[] = [];
      const reasons = new Map<string, string>();
      const counted: string[] = [];
      const next = new Date('2026-01-01T00:00:00Z');
      const of: ReconcileDeps = {
        ...{ db, notifier, log, turnTimeoutMs: TURN_TIMEOUT_MS, count: (action) => counted.push(action) },
        workflows: {
          ...({} as ReconcileDeps['workflows']),
          listRunning: async (before) => {
            asks.push(before);
            return { turnIds: [open, ended, left, gone].map(({ id }) => id).concat('turn_of_others'), next };
          },
          terminate: async (id, reason) => {
            reasons.set(id, reason);
            return id !== gone.id;
          },
        },
      };
      const first = await terminateEnded(of, null);
      expect([...reasons.keys()]).to.have.members([left.id, gone.id]);
      expect(reasons.get(left.id)).to.include('has ended as cancelled');
      expect(counted).to.deep.equal(['workflow_ended']);
      expect(first).to.equal(next);
      await terminateEnded(of, first);
      expect(asks[0]!.getTime()).to.be.closeTo(Date.now(), 10_000);
      expect(asks[1]).to.equal(next);
    });

    it('turns under the reconciler wait for the next round when Temporal is away', async () => {
      const turn = await stale(await running());
      await reconcile('away');
      expect(await stateOf(turn)).to.equal('running');
    });

    it('turns under the reconciler are left to the reconciler of the Temporal namespace that they belong to', async () => {
      const [own, other] = [await stale(await queued()), await stale(await queued())];
      await db.query(`UPDATE open_turns SET namespace = 'of-another' WHERE turn_id = $1`, [other.id]);
      expect((await reconcile('not found')).started).to.deep.equal([own.id]);
    });

    it('turns under the reconciler are checked by one process of many', async () => {
      const turns = await Promise.all(Array.from({ length: 20 }, async () => stale(await queued())));
      const rounds = await Promise.all(Array.from({ length: 4 }, () => reconcile('not found')));
      expect(rounds.flatMap(({ started }) => started)).to.have.members(turns.map(({ id }) => id));
    });
  });
});
