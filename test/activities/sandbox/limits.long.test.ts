import { expect } from 'chai';
import { WAYS } from '../../support/limited-sandbox.js';
import { useSandbox } from '../../support/sandbox.js';
import { ATTACKS, describeAttacks } from './limits-table.js';

for (const way of WAYS) describeAttacks(`a limit of a command, ${way.title},`, way, Object.keys(ATTACKS));

describe('the output of a command', () => {
  const sandbox = useSandbox();

  it('the output of a command that floods waits in its pipe, and the command with it', async () => {
    const { output, ...end } = await sandbox.bash('yes', { timeoutMs: 3000 });
    expect(end).to.include({ stopped: 'timeout' });
    const MIB = 1024 * 1024;
    // What 3 s allow, and a pipe or two. At full speed it would be gigabytes.
    expect(output.length)
      .to.be.greaterThan(0)
      .and.lessThan((100 + 3 * 8 + 4) * MIB);
  });
});
