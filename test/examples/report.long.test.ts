import { expect } from 'chai';
import { execFile, execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startLocalModel, type LocalModel } from '../../dev/local-model.js';
import { readZip } from '../support/read-zip.js';
import { requireSandbox } from '../support/sandbox.js';
import { skip } from '../support/skip.js';
import { startTurnService } from '../support/turns.js';

const FOLDER = fileURLToPath(new URL('../../examples/report/', import.meta.url));

describe('the report of examples/', () => {
  let model: LocalModel;
  before(async () => (model = await startLocalModel({ wordsPerSecond: 0 })));
  after(() => model.close());

  /** Runs the program with a service whose commands run there; returns what it prints, and its folder of files. */
  const report = async (sandboxProvider: 'bubblewrap' | 'off', look: (out: string, data: string) => unknown) => {
    const data = mkdtempSync(join(tmpdir(), 'report-'));
    const service = await startTurnService({ models: model.models, config: { sandboxProvider } });
    try {
      const scopes = /--scopes (\S+)\)/.exec(readFileSync(join(FOLDER, 'README.md'), 'utf8'))![1]!.split(',');
      const env = {
        ...process.env,
        BASE: service.url,
        KEY: await service.newKey({ scopes: scopes as never }),
        REPORT_DATA: data,
      };
      const out = await new Promise<string>((resolve, reject) => {
        execFile(process.execPath, ['--import', 'tsx', 'report.ts'], { cwd: FOLDER, env }, (error, stdout, stderr) =>
          error === null ? resolve(stdout) : reject(new Error(`${stdout}\n${stderr}`)),
        );
      });
      await look(out, data);
    } finally {
      await service.close();
      rmSync(data, { recursive: true });
    }
  };

  it('the report of examples/ is made by the script of a skill, and downloaded', async function () {
    await requireSandbox(this);
    if (hasNoZip()) skip(this, 'the program zip is missing');
    await report('bubblewrap', async (out, data) => {
      expect(out).to.match(/^completed in ses_/);
      const lines = ['country,orders,amount', 'FR,2,965', 'DE,2,740', 'IT,1,120'];
      expect(readFileSync(join(data, 'report.csv'), 'utf8')).to.equal(`${lines.join('\n')}\n`);
      const found = await readZip(readFileSync(join(data, 'workspace.zip')));
      expect(found['mnt/session/outputs/report.csv']!.content!.toString()).to.equal(`${lines.join('\n')}\n`);
    });
  });

  it('the report of examples/ says that there is no sandbox where there is none', () =>
    report('off', (out) => expect(out).to.contain('runs no commands').and.contain('SANDBOX_PROVIDER')));
});

function hasNoZip(): boolean {
  try {
    execFileSync('zip', ['-v'], { stdio: 'ignore' });
    return false;
  } catch {
    return true;
  }
}
