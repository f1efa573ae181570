import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { eventually } from '../../support/eventually.js';
import { processesWith } from '../../support/processes-with.js';
import { newProvider, removeWritable, requireSandbox } from '../../support/sandbox.js';

const WORKER = new URL('../../support/dying-worker.ts', import.meta.url).pathname;
const KILLS = 3;

function groupsOf(pid: number): string {
  return execFileSync('find', ['/sys/fs/cgroup', '-maxdepth', '5', '-name', `sandboxes-${pid}-*`], {
    encoding: 'utf8',
  });
}

describe('a worker that is killed while commands run', () => {
  before(async function () {
    await requireSandbox(this);
  });

  it('a worker that is killed while commands run leaves no process of its commands within two seconds, at whichever moment it dies', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'dying-worker-'));
    const pids: number[] = [];
    try {
      for (let kill = 0; kill < KILLS; kill += 1) {
        const mark = `${3000 + kill}.1234`;
        const worker = spawn(process.execPath, ['--import', 'tsx', WORKER, folder, mark], { stdio: 'ignore' });
        pids.push(worker.pid!);
        const exited = once(worker, 'exit');
        const ofCommands = (): number[] => processesWith(mark).filter((pid) => pid !== worker.pid);
        await eventually('commands run', () => ofCommands().length > 0);
        await sleep(Math.random() * 60);
        worker.kill('SIGKILL');
        await exited;
        await eventually('no process is left', () => ofCommands().length === 0, 2000);
      }
      expect(processesWith('.1234')).to.deep.equal([]);
      // The next worker removes the groups that they have left; file systems go with the folder of a worker.
      const next = newProvider();
      expect(await next.provider.check()).to.equal(null);
      await eventually('their groups are gone', () => pids.every((pid) => groupsOf(pid) === ''));
      next.remove();
    } finally {
      removeWritable(folder);
    }
  });
});
