import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { eventually } from '../../support/eventually.js';
import { processesWith } from '../../support/processes-with.js';
import { requireSandbox } from '../../support/sandbox.js';

const WORKER = new URL('../../support/dying-worker.ts', import.meta.url).pathname;
const KILLS = 3;

describe('a worker that is killed while commands run', () => {
  before(async function () {
    await requireSandbox(this);
  });

  it('a worker that is killed while commands run leaves no process of its commands within two seconds, at whichever moment it dies', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'dying-worker-'));
    try {
      for (let kill = 0; kill < KILLS; kill += 1) {
        const mark = `${3000 + kill}.1234`;
        const worker = spawn(process.execPath, ['--import', 'tsx', WORKER, folder, mark], { stdio: 'ignore' });
        const exited = once(worker, 'exit');
        const ofCommands = (): number[] => processesWith(mark).filter((pid) => pid !== worker.pid);
        await eventually('commands run', () => ofCommands().length > 0);
        await sleep(Math.random() * 60);
        worker.kill('SIGKILL');
        await exited;
        await eventually('no process is left', () => ofCommands().length === 0, 2000);
      }
      expect(processesWith('.1234')).to.deep.equal([]);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});
