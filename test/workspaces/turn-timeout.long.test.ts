import { expect } from 'chai';
import { eventually } from '../support/eventually.js';
import { processesWith } from '../support/processes-with.js';
import { toolUse } from '../support/scripted-model.js';
import { useWorkspaceService } from '../support/workspace-service.js';

describe('a command that runs when the time of its turn is over', () => {
  // Long enough for the command to begin on a busy machine.
  const { service, session, bash } = useWorkspaceService({ config: { turnTimeoutSeconds: 10 } });

  it('a command that runs when the time of its turn is over ends with the turn, leaves no process, and nothing of it is kept', async () => {
    const id = await session();
    await bash(id, 'echo before > a');
    service.model.on(/Work for long/, () =>
      toolUse('bash', { command: 'trap "" TERM; echo during > a; (setsid sleep 600.13 &); sleep 600.13' }),
    );
    await service.send(id, 'Work for long');
    await eventually('the command runs', () => processesWith('sleep\x00600.13').length === 2);
    const end = await service.ended(id);
    expect(end).to.include({ type: 'turn.failed' });
    expect(end.error).to.include({ type: 'turn_timeout', retryable: true });
    await eventually('no process is left', () => processesWith('600.13').length === 0);
    expect((await service.api('GET', `/v1/sessions/${id}`)).body.workspace).to.include({ version: 1 });
    expect((await bash(id, 'cat a')).content).to.equal('before\n');
    expect(JSON.stringify(service.model.requests.at(-1)!.body.messages)).to.contain('nothing of it was kept');
  });
});
