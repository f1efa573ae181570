import { expect } from 'chai';
import { createLogger } from '../../../src/platform/logger.js';
import { createKey } from '../../../src/projects/api-keys.js';
import { beginModelCall } from '../../../src/steps/model-call.js';
import { storeStep } from '../../../src/steps/model-step.js';
import { Notifier } from '../../../src/stream/notify.js';
import { claimTurn, type LaunchDeps } from '../../../src/turns/begin.js';
import { changeTurn, ifOpen, ifRunning, type TurnDeps } from '../../../src/turns/change-turn.js';
import { OvertakenError } from '../../../src/turns/errors.js';
import { acceptMessage } from '../../support/accept-message.js';
import { ATTEMPT_ID, CALLED_MODEL, PLAIN_STEP } from '../../support/attempt-id.js';
import { breakingAtCommit } from '../../support/breaking-commit.js';
import { insertSessions } from '../../support/factories.js';
import { useDatabase, usePool } from '../../support/use.js';

const AWAY = { type: 'agent.mcp_error', data: { mcp_server_id: 'mcp_1', name: 'shop', message: 'away' } } as const;
const USAGE = { input_tokens: 1, output_tokens: 1, cache_read_input_tokens: 0, cache_creation_input_tokens: 0 };

describe('a change of a turn', () => {
  const log = createLogger('silent', 'test');
  const db = usePool(useDatabase(), 5);
  let deps: TurnDeps & LaunchDeps;
  let projectId: string;
  before(async () => {
    const workflows = { namespace: 'test', start: async () => true };
    deps = { db, log, notifier: new Notifier(db, log), workflows };
    ({ projectId } = await createKey(db, { project: 'demo' }));
  });
  after(() => deps.notifier.flush());

  const running = async (): Promise<string> => {
    const [session] = await insertSessions(db, projectId, 1);
    const message = { content: 'x', files: [], skills: [] };
    const { id } = await acceptMessage(db, projectId, session!, message, 'test');
    await claimTurn(deps, id);
    return id;
  };
  const read = async (id: string): Promise<Record<string, unknown>> =>
    (
      await db.query<[Record<string, unknown>]>('SELECT position, progress_at, has_waiting FROM turns WHERE id = $1', [
        id,
      ])
    )[0];

  it('a change of a turn has the time at which it got the lock, not the time at which it began to wait for it', async () => {
    const id = await running();
    let release: () => void = () => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    let locked: () => void = () => undefined;
    const isLocked = new Promise<void>((resolve) => (locked = resolve));
    const first = changeTurn(deps, id, ifRunning, async (turn) => {
      locked();
      await held;
      turn.append(AWAY);
    });
    await isLocked;
    const second = changeTurn(deps, id, ifRunning, (turn) => turn.at);
    await db.query('SELECT pg_sleep(0.2)');
    const [{ now }] = await db.query<[{ now: string }]>('SELECT clock_timestamp() AS now');
    release();
    await first;
    expect((await second) > now).to.equal(true);
  });

  it('a change of a turn runs again after a deadlock, on the turn as it is by then', async () => {
    const id = await running();
    let tries = 0;
    await changeTurn(deps, id, ifRunning, async (turn, tx) => {
      turn.append(AWAY);
      tries += 1;
      if (tries === 1) await tx.query(`DO $$ BEGIN RAISE EXCEPTION 'deadlock' USING ERRCODE = '40P01'; END $$`);
    });
    expect(tries).to.equal(2);
    expect(await read(id)).to.include({ position: 2 });
    expect(await db.query('SELECT FROM events WHERE turn_id = $1', [id])).to.have.length(2);
  });

  it('a change of a turn is no sign of life where it says so', async () => {
    const id = await running();
    const { progress_at } = await read(id);
    await changeTurn(deps, id, ifOpen, (turn) => turn.expectMessages());
    expect(await read(id)).to.include({ progress_at, has_waiting: true });
    await changeTurn(deps, id, ifOpen, (turn) => turn.append(AWAY));
    expect((await read(id)).progress_at).to.not.equal(progress_at);
  });

  it('a change of a turn stores nothing if its work fails, or a row that goes with it cannot be stored', async () => {
    const id = await running();
    const before = await read(id);
    const failing = changeTurn(deps, id, ifRunning, (turn) => {
      turn.append({ ...AWAY, id: 'evt_twice' }, { ...AWAY, id: 'evt_twice' });
    });
    expect(await failing.catch((error: unknown) => error)).to.be.an('error');
    const refused = changeTurn(
      deps,
      id,
      (turn) => turn.position === 99,
      (turn) => turn.append(AWAY),
    );
    expect(await refused.catch((error: unknown) => error)).to.be.instanceOf(OvertakenError);
    expect(await read(id)).to.deep.equal(before);
  });

  for (const isCommitted of [true, false]) {
    it(`a change of a turn that is in doubt may be repeated: a step with events and one without, ${isCommitted ? 'committed' : 'not committed'} the first time`, async () => {
      for (const [name, output] of [
        ['list_files', null],
        [
          'give_output',
          { results: new Map([[0, { text: 'Wrong.', isError: true, hasEvents: false }]]), mustRepair: true, end: null },
        ],
      ] as const) {
        const id = await running();
        const call = await beginModelCall(deps, id, 1, ATTEMPT_ID, CALLED_MODEL);
        const content = [{ type: 'tool_use' as const, id: 'toolu_1', name, input: {} }];
        const store = (of: typeof deps) =>
          storeStep(of, {
            ...{ ...PLAIN_STEP, call, output },
            answer: { content, stopReason: 'tool_use', usage: USAGE, firstTokenMs: 1 },
          });
        const broken = store({ ...deps, db: breakingAtCommit(db, isCommitted) });
        expect(await broken.catch(String)).to.contain('Connection terminated');
        const kind = output === null ? 'tools' : 'again';
        expect((await store(deps)).kind).to.equal(kind);
        expect(await db.query('SELECT FROM tool_calls WHERE turn_id = $1', [id])).to.have.length(1);
      }
    });
  }
});
