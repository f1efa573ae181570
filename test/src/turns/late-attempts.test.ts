import { expect } from 'chai';
import type { ModelAnswer } from '../../../src/models/content.js';
import { createLogger } from '../../../src/platform/logger.js';
import { createKey } from '../../../src/projects/api-keys.js';
import { loadConversation } from '../../../src/steps/conversation.js';
import { recordUsage, beginModelCall, type ModelCall } from '../../../src/steps/model-call.js';
import { storeStep } from '../../../src/steps/model-step.js';
import { loadToolCall, startToolCall } from '../../../src/steps/tool-call.js';
import { Notifier } from '../../../src/stream/notify.js';
import { endTurn } from '../../../src/turns/end.js';
import { requestCancel } from '../../../src/turns/request-cancel.js';
import { readFacts } from '../../../src/turns/facts.js';
import type { LaunchDeps } from '../../../src/turns/begin.js';
import { sumCalls } from '../../../src/turns/spent.js';
import { breakingAtCommit } from '../../support/breaking-commit.js';
import { acceptMessage } from '../../support/accept-message.js';
import { OvertakenError, TurnEndedError } from '../../../src/turns/errors.js';
import type { TurnDeps } from '../../../src/turns/change-turn.js';
import { ATTEMPT_ID, CALLED_MODEL, PLAIN_STEP } from '../../support/attempt-id.js';
import { insertSessions } from '../../support/factories.js';
import { useDatabase, usePool } from '../../support/use.js';

const USAGE = { input_tokens: 40, output_tokens: 2, cache_read_input_tokens: 0, cache_creation_input_tokens: 0 };

const RESTORED = {
  is_first: true,
  ...{ model_id: CALLED_MODEL.id, session_id: 'ses_x', ended_at: '2026-11-01T00:00:00Z', metadata: {}, model_calls: 1 },
  ...{ ...USAGE, cost: 0, is_unpriced: false, is_summed: false },
};

describe('an attempt that comes late, or whose write is in doubt', () => {
  const log = createLogger('silent', 'test');
  let deps: TurnDeps & LaunchDeps;
  let projectId: string;
  const db = usePool(useDatabase(), 5);
  before(async () => {
    deps = {
      db,
      log,
      notifier: new Notifier(db, log),
      workflows: { namespace: 'test', start: async () => true },
    };
    ({ projectId } = await createKey(db, { project: 'demo' }));
  });
  after(() => deps.notifier.flush());

  const queued = async (): Promise<string> => {
    const [session] = await insertSessions(db, projectId, 1);
    return (await acceptMessage(db, projectId, session!, { content: 'x', files: [], skills: [] }, 'test')).id;
  };
  const store = (call: ModelCall, use = true): Promise<unknown> => {
    const content = use
      ? [{ type: 'tool_use' as const, id: 'toolu_1', name: 'list_files', input: {} }]
      : [{ type: 'text' as const, text: 'Done.' }];
    const answer = { content, stopReason: null, usage: USAGE, firstTokenMs: 1 } as unknown as ModelAnswer;
    return storeStep(deps, { call, answer, ...PLAIN_STEP });
  };
  const usageOf = async (turn: string): Promise<unknown> => {
    const { usage, details } = sumCalls((await readFacts(db, turn)).modelCalls, null);
    return { ...usage, model_calls: details.model_calls };
  };

  it('an attempt that comes late, or whose write is in doubt ends whatever is wrong with the counts of its calls and with the rows of its usage', async () => {
    const hostile = { ...USAGE, input_tokens: 2 ** 53 - 1, cache_read_input_tokens: 2 ** 53 - 1 };
    const broken = async (ending: (turn: string, call: ModelCall) => Promise<unknown>): Promise<void> => {
      const turn = await queued();
      const call = await beginModelCall(deps, turn, 1, ATTEMPT_ID, CALLED_MODEL);
      await db.query(
        `INSERT INTO model_calls (turn_id, step, position, call, message_id, worker_id, model_id, usage)
         SELECT $1, 1, 0, 100 + n, 'msg_' || n, 'w', 'm', $2 FROM generate_series(1, 1200) AS n`,
        [turn, JSON.stringify(hostile)],
      );
      // As after a restore that brought a row of this turn back.
      await db.query(
        `INSERT INTO turn_usage SELECT (u).* FROM (SELECT json_populate_record(NULL::turn_usage, $1) AS u) AS row`,
        [JSON.stringify({ ...RESTORED, turn_id: turn, project_id: projectId })],
      );
      await ending(turn, call);
      const [row] = await db.query('SELECT state, ended_at IS NOT NULL AS ended FROM turns WHERE id = $1', [turn]);
      expect(row).to.include({ ended: true });
      const usage = await db.query(
        `SELECT model_id, input_tokens::text FROM turn_usage WHERE turn_id = $1 ORDER BY model_id`,
        [turn],
      );
      expect(usage).to.deep.include({ model_id: 'm', input_tokens: '9223372036854775807' });
    };
    await broken((turn) => endTurn(deps, turn, { kind: 'cancelled' }));
    await broken((_, call) => store(call, false));
  });

  it('an attempt that comes late, or whose write is in doubt does not pay for a second call of a step that is stored', async () => {
    const turn = await queued();
    const call = await beginModelCall(deps, turn, 1, ATTEMPT_ID, CALLED_MODEL);
    await store(call);
    const late = await beginModelCall(deps, turn, 1, ATTEMPT_ID, CALLED_MODEL).catch((error: unknown) => error);
    expect(late).to.be.instanceOf(OvertakenError);
    expect(await usageOf(turn)).to.deep.equal({ input_tokens: 40, output_tokens: 2, model_calls: 1 });
  });

  for (const committed of [true, false]) {
    it(`an attempt that comes late, or whose write is in doubt counts the usage of a call once when ${committed ? 'its record was committed' : 'its record was lost'} and the connection broke`, async () => {
      const turn = await queued();
      const call = await beginModelCall(deps, turn, 1, ATTEMPT_ID, CALLED_MODEL);
      const breaking = breakingAtCommit(db, committed);
      const broken = await recordUsage({ ...deps, db: breaking }, call, { ...USAGE, output_tokens: 1 }, null).catch(
        String,
      );
      expect(broken).to.contain('Connection terminated');
      await store(call, false);
      expect(await usageOf(turn)).to.deep.equal({ input_tokens: 40, output_tokens: 2, model_calls: 1 });
    });
  }

  it("an attempt that comes late, or whose write is in doubt reports that the turn has ended when the turn's tools were deleted", async () => {
    const turn = await queued();
    await db.query(
      `INSERT INTO turn_servers (turn_id, server_id, index, name, toolset_hash, connected) VALUES ($1, 'mcp_gone', 0, 'a', 'x', true)`,
      [turn],
    );
    await endTurn(deps, turn, { kind: 'cancelled' });
    expect(await loadConversation(db, turn).catch((error: unknown) => error)).to.be.instanceOf(TurnEndedError);
  });

  it('an attempt that comes late, or whose write is in doubt begins no call once a cancel was requested', async () => {
    const turn = await queued();
    await store(await beginModelCall(deps, turn, 1, ATTEMPT_ID, CALLED_MODEL));
    const { call } = await loadToolCall(db, turn, 1, 0);
    await requestCancel(deps, turn);
    const begun = await startToolCall(deps, call, ATTEMPT_ID).catch((error: unknown) => error);
    expect(begun).to.be.instanceOf(OvertakenError);
    expect((await loadToolCall(db, turn, 1, 0)).call.state).to.equal('pending');
    await endTurn(deps, turn, { kind: 'cancelled' });
  });
});
