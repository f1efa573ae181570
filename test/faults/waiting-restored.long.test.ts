import { expect } from 'chai';
import { eventually } from '../support/eventually.js';
import type { Turn } from '../support/fault-system.js';
import { steps, toolUse } from '../support/scripted-model.js';
import { confirmation } from '../support/waiting-turns.js';
import { useFaultSystem } from '../support/use.js';
import { describeTurn } from '../support/turn-workflow.js';

/** docs/operations/backup.md: the tables decide, whether Temporal has more than they do, or nothing. */
describe('a waiting turn after a restore', function () {
  this.timeout(120_000);
  let serverId: string;
  const system = useFaultSystem({ ownTemporal: { persistent: false } });
  before(async () => {
    system.mcp.options.tools = [{ name: 'send' }];
    serverId = await system.registerMcp('mail');
  });
  beforeEach(() => {
    system.mcp.calls.length = 0;
    system.model.on(/Go/, steps(toolUse('mcp__mail__send', {}, { id: 'toolu_1' }), 'Done.'));
  });

  const open = async ({ sessionId }: Turn): Promise<number> =>
    (await system.insist('GET', `/v1/sessions/${sessionId}`)).body.required_actions.length as number;
  const untilOpen = async (turn: Turn): Promise<void> => {
    await eventually('the turn waits', async () => (await open(turn)) > 0);
  };
  const waitingTurn = async (): Promise<Turn> => {
    const ask = { permission_policy: { type: 'always_ask' } };
    const tools = [{ type: 'mcp_toolset', mcp_server_id: serverId, default_config: ask }];
    const turn = await system.send(await system.session({ mcp_servers: [serverId], tools }), 'Go');
    await untilOpen(turn);
    return turn;
  };
  const allowAndVerify = async (turn: Turn): Promise<void> => {
    const events = [confirmation('toolu_1', 'allow')];
    const { status, body } = await system.insist('POST', `/v1/sessions/${turn.sessionId}/events`, { events });
    expect(status, JSON.stringify(body)).to.equal(201);
    const end = (await system.verify()).at(-1);
    expect(end).to.include({ type: 'turn.completed' });
    expect(system.mcp.calls).to.have.length(1);
  };

  it('a waiting turn after a restore waits again when Temporal has lost its workflow', async () => {
    const turn = await waitingTurn();
    await system.temporal!.kill();
    await system.temporal!.restart();
    await describeTurn(system.client, turn.turnId);
    expect(await open(turn)).to.equal(1);
    await allowAndVerify(turn);
  });

  it('a waiting turn after a restore restarts when its workflow waits for a call that the tables do not have', async () => {
    const turn = await waitingTurn();
    // What a backup holds that was taken before the model had answered.
    await system.db.transaction(async (tx) => {
      for (const table of ['waits', 'tool_calls', 'model_steps', 'model_calls']) {
        await tx.query(`DELETE FROM ${table} WHERE turn_id = $1`, [turn.turnId]);
      }
      await tx.query('DELETE FROM events WHERE turn_id = $1 AND position > 1', [turn.turnId]);
      await tx.query(
        `UPDATE turns SET position = 1, model_calls = 0, progress_at = now() - interval '10 seconds' WHERE id = $1`,
        [turn.turnId],
      );
      await tx.query('UPDATE open_turns SET checked_at = NULL WHERE turn_id = $1', [turn.turnId]);
    });
    expect(await open(turn)).to.equal(0);
    await untilOpen(turn);
    await allowAndVerify(turn);
  });
});
