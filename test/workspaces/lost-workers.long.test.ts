import { expect } from 'chai';
import { MAX_LOST_WORKERS } from '../../src/steps/lost-workers.js';
import { eventually } from '../support/eventually.js';
import { failAttempt } from '../support/lost-worker.js';
import { steps, toolUse } from '../support/scripted-model.js';
import { useTemporalClient } from '../support/use.js';
import { useWorkspaceService } from '../support/workspace-service.js';

/** An attempt is failed from outside, as for a dead worker. Here it lives on, as a writer that comes too late. */
describe('a command that loses its worker', () => {
  const client = useTemporalClient();
  const { service, session, bash } = useWorkspaceService();

  const resultOf = async (id: string, turnId: string) =>
    (await service.history(id)).filter((event) => event.turn_id === turnId && event.type === 'agent.tool_result');
  const isStarted = async (turnId: string, times: number): Promise<boolean> => {
    const [call] = await service.db.query<{ token: string }[]>(
      `SELECT encode(task_token, 'hex') AS token FROM tool_calls WHERE turn_id = $1 AND state = 'started'`,
      [turnId],
    );
    if (call !== undefined) tokens.add(call.token);
    return tokens.size === times;
  };
  const tokens = new Set<string>();
  beforeEach(() => tokens.clear());

  it('a command that loses its worker runs again from the version before and counts once, also where its first attempt ends too', async () => {
    const id = await session();
    service.model.script(steps(toolUse('bash', { command: 'echo line >> log; sleep 2; cat log' }), 'Done.'));
    const turnId = await service.send(id, 'Work');
    await eventually('the call has begun', () => isStarted(turnId, 1));
    await failAttempt(client, turnId, 1);
    expect(await service.ended(id)).to.include({ type: 'turn.completed' });
    const results = await resultOf(id, turnId);
    expect(results.map(({ content }) => content)).to.deep.equal(['line\n']);
    expect(results[0].workspace).to.include({ version: 1 });
    expect((await bash(id, 'cat log')).content).to.equal('line\n');
  });

  it('a command that loses its worker does not run again after the third one, and nothing of it is kept', async () => {
    const id = await session();
    service.model.script(steps(toolUse('bash', { command: 'echo line >> log; sleep 30' }), 'Done.'));
    const turnId = await service.send(id, 'Work');
    for (let attempt = 1; attempt <= MAX_LOST_WORKERS; attempt += 1) {
      await eventually(`attempt ${attempt} has begun the call`, () => isStarted(turnId, attempt));
      await failAttempt(client, turnId, attempt);
    }
    expect(await service.ended(id)).to.include({ type: 'turn.completed' });
    const [result] = await resultOf(id, turnId);
    expect(result).to.include({ is_error: true }).and.not.have.property('workspace');
    expect(result.content).to.contain('nothing of it was kept');
    expect((await service.api('GET', `/v1/sessions/${id}`)).body.workspace).to.include({ version: 0 });
  });
});
