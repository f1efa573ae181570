import { expect } from 'chai';
import { execFile } from 'node:child_process';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { preparePythonClient } from '../../dev/python-client.mjs';
import { packClients } from '../../dev/scripts/packages.mjs';
import { skip } from '../support/skip.js';

const run = promisify(execFile);

describe('the packages of the clients', function () {
  this.timeout(600_000);
  let folder: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'packages-'));
  });
  after(() => rm(folder, { recursive: true }));

  it('the packages of the clients have what they are published with, and the command of npm runs', async () => {
    const [npm] = await packClients({ out: folder, withoutPython: true });
    await run('npm', ['install', '--prefix', folder, '--no-audit', '--no-fund', '--offline', npm!]);
    const { stdout } = await run(join(folder, 'node_modules/.bin/agent-session'), ['--help']);
    expect(stdout).to.include('chat [SESSION]');
  });

  it('the packages of the clients: the wheel is built from the source distribution alone', async function () {
    const { bin, missing } = await preparePythonClient();
    if (missing !== null) skip(this, missing);
    const [, wheel, source] = await packClients({ out: folder });
    const again = join(folder, 'again');
    const options = ['--quiet', '--no-deps', '--no-build-isolation', '--wheel-dir', again];
    await run(join(bin, 'python'), ['-m', 'pip', 'wheel', source!, ...options]);
    expect(await readdir(again)).to.deep.equal([wheel!.split('/').at(-1)]);
  });
});
