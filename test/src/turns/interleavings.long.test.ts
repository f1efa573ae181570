import { expect } from 'chai';
import fc from 'fast-check';
import type { Database } from '../../../src/db/db.js';
import { openDataSource } from '../../../src/db/data-source.js';
import { isDatabaseAway } from '../../../src/db/transaction.js';
import { Notifier } from '../../../src/stream/notify.js';
import { createLogger } from '../../../src/platform/logger.js';
import { createKey } from '../../../src/projects/api-keys.js';
import { requestCancel } from '../../../src/turns/request-cancel.js';
import { claimTurn, type LaunchDeps, type QueuedTurn } from '../../../src/turns/begin.js';
import { endTurn } from '../../../src/turns/end.js';
import { beginModelCall } from '../../../src/steps/model-call.js';
import { storeStep } from '../../../src/steps/model-step.js';
import { acceptMessage } from '../../support/accept-message.js';
import { OvertakenError, TurnEndedError } from '../../../src/turns/errors.js';
import { changeTurn, ifRunning, type TurnDeps } from '../../../src/turns/change-turn.js';
import { ATTEMPT_ID, CALLED_MODEL, PLAIN_STEP } from '../../support/attempt-id.js';
import { createTestDatabase, type TestDatabase } from '../../support/postgres.js';
import { insertSessions } from '../../support/factories.js';

/** What one of several workers, API processes and reconcilers does to the same turn, in its own time. */
type Move = 'claim' | 'append' | 'step' | 'cancel' | 'fail' | 'kill';
type Script = { move: Move; after: number }[];

const script: fc.Arbitrary<Script> = fc.array(
  fc.record({
    move: fc.oneof(
      { weight: 4, arbitrary: fc.constantFrom<Move>('append', 'step') },
      { weight: 1, arbitrary: fc.constantFrom<Move>('claim', 'cancel', 'fail', 'kill') },
    ),
    after: fc.integer({ min: 0, max: 3 }),
  }),
  { minLength: 1, maxLength: 8 },
);
const USAGE = { input_tokens: 1, output_tokens: 1, cache_read_input_tokens: 0, cache_creation_input_tokens: 0 };

describe('interleavings of writers', () => {
  const log = createLogger('silent', 'test');
  let database: TestDatabase;
  let db: Database;
  let admin: Database;
  let notifier: Notifier;
  let deps: TurnDeps & LaunchDeps;
  let projectId: string;
  before(async () => {
    database = await createTestDatabase();
    db = await openDataSource(database.url, 8, 'writers');
    admin = await openDataSource(database.url, 2, 'test');
    notifier = new Notifier(db, log);
    deps = {
      db,
      notifier,
      log,
      workflows: { namespace: 'test', start: async () => true },
    };
    ({ projectId } = await createKey(db, { project: 'demo', maxRunningTurns: 100_000 }));
  });
  after(async () => {
    await notifier.flush();
    await Promise.all([db.destroy(), admin.destroy()]);
    await database.drop();
  });

  const queued = async (): Promise<QueuedTurn> => {
    const [id] = await insertSessions(admin, projectId, 1);
    return acceptMessage(admin, projectId, id!, { content: 'x', files: [], skills: [] }, 'test');
  };

  const moves: Record<Move, (turnId: string) => Promise<unknown>> = {
    claim: (turnId) => claimTurn(deps, turnId),
    append: (turnId) => {
      const data = { mcp_server_id: 'mcp_1', name: 'shop', message: 'away' };
      return changeTurn(deps, turnId, ifRunning, (turn) => turn.append({ type: 'agent.mcp_error', data }));
    },
    // Every writer brings the outcome of the same step, as attempts of one activity do.
    step: async (turnId) => {
      const call = await beginModelCall(deps, turnId, 1, ATTEMPT_ID, CALLED_MODEL);
      const answer = {
        content: [{ type: 'tool_use' as const, id: 'toolu_1', name: 'list_files', input: {} }],
        stopReason: 'tool_use' as const,
        usage: USAGE,
        firstTokenMs: 1,
      };
      await storeStep(deps, { call, answer, ...PLAIN_STEP });
    },
    cancel: (turnId) => requestCancel(deps, turnId),
    fail: (turnId) =>
      endTurn(deps, turnId, {
        kind: 'failed',
        type: 'internal_error',
        message: 'Broken.',
        retryable: true,
      }),
    kill: () =>
      admin.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                   WHERE application_name = 'writers' AND datname = current_database() AND random() < 0.5`),
  };

  /** Makes a move as a process does: again when its connection is lost. Returns the refusal, if it was refused. */
  const make = async (move: Move, turnId: string): Promise<Error | null> => {
    for (;;) {
      try {
        await moves[move](turnId);
        return null;
      } catch (error) {
        if (error instanceof TurnEndedError || error instanceof OvertakenError) return error;
        if (!isDatabaseAway(error)) throw error;
      }
    }
  };
  const play = async (turnId: string, moved: Script): Promise<void> => {
    for (const { move, after } of moved) {
      await new Promise((resolve) => setTimeout(resolve, after));
      await make(move, turnId);
    }
  };

  it('interleavings of writers leave a turn with gap-free positions, one end, each outcome once, and late writers refused', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(script, { minLength: 2, maxLength: 5 }), async (scripts) => {
        const { id } = await queued();
        await Promise.all(scripts.map((each) => play(id, each)));

        const [turn] = await admin.query<{ state: string; position: number }[]>(
          'SELECT state, position FROM turns WHERE id = $1',
          [id],
        );
        const events = await admin.query<{ position: number; type: string }[]>(
          'SELECT position, type FROM events WHERE turn_id = $1 ORDER BY created_at, position',
          [id],
        );
        expect(events.map(({ position }) => position)).to.deep.equal(events.map((_, index) => index + 1));
        expect(turn!.position).to.equal(events.length);
        const isOver = !['queued', 'running'].includes(turn!.state);
        const ends = events.filter(({ type }) => type.startsWith('turn.'));
        expect(ends.length).to.equal(isOver ? 1 : 0);
        if (isOver) expect(events.at(-1)!.type).to.equal(`turn.${turn!.state}`);
        expect(events.filter(({ type }) => type === 'agent.tool_use').length).to.be.at.most(1);

        if (!isOver) await make('fail', id);
        for (const late of ['append', 'step'] as const) {
          expect(await make(late, id)).to.be.instanceOf(TurnEndedError);
        }
      }),
      { numRuns: Number(process.env.PROPERTY_RUNS ?? 60), endOnFailure: true },
    );
  });
});
