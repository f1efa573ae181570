import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { execFileSync } from 'node:child_process';
import type { Context } from 'mocha';
import { BubblewrapProvider } from '../../activities/sandbox/bubblewrap/provider.js';
import { EMPTY_MANIFEST, type Manifest } from '../../src/workspaces/manifest.js';
import type { CommandEnd, CommandIo, Mount, SandboxProvider } from '../../src/workspaces/sandbox.js';
import { testLogger } from './log.js';
import { skip } from './skip.js';
import { openTestStorage, type TestStorage } from './storage.js';
import { use } from './use.js';

/** Settings of sandboxes for tests. */
export const SANDBOX_SETTINGS = {
  sandboxDir: null as string | null,
  sandboxRoot: null,
  sandboxMemoryMb: 600,
  sandboxDiskMb: 256,
  sandboxMaxCommands: 4,
};

let problem: Promise<string | null> | undefined;

/**
 * Skips where no sandbox can run, with the reason. With `SANDBOX_TESTS=require` the test fails instead: for a pipeline whose
 * machines can run one, where a skip would hide that nothing was tested.
 */
async function requireSandbox(context: Context): Promise<void> {
  const { provider, remove } = newProvider();
  problem ??= provider.check();
  const reason = await problem;
  remove();
  if (reason === null) return;
  if (process.env.SANDBOX_TESTS === 'require') throw new Error(`SANDBOX_TESTS=require, and ${reason}`);
  skip(context, reason);
}

function newProvider(settings: Partial<typeof SANDBOX_SETTINGS> = {}) {
  const dataDir = mkdtempSync(join(process.env.TEST_STATE_DIR!, 'sandbox-'));
  const test = openTestStorage();
  const provider = new BubblewrapProvider({ ...SANDBOX_SETTINGS, dataDir, ...settings }, test.storage, testLogger());
  const remove = (): void => {
    test.remove();
    execFileSync('rm', ['-rf', dataDir]);
  };
  return { provider, test, remove };
}

export interface CommandResult extends CommandEnd {
  output: string;
}

export interface TestSandbox {
  provider: SandboxProvider;
  test: TestStorage;
  /** Runs a command in a new, empty workspace and throws its changes away. */
  bash(command: string, options?: CommandOptions): Promise<CommandResult>;
}

export interface CommandOptions extends Partial<CommandIo> {
  base?: Manifest;
  mounts?: Mount[];
  projectId?: string;
}

/** A provider of the suite's own; without a sandbox on this machine its tests are skipped. */
export function useSandbox(settings: Partial<typeof SANDBOX_SETTINGS> = {}): TestSandbox {
  before(async function () {
    await requireSandbox(this);
  });
  let count = 0;
  return use(
    async () => {
      const made = newProvider(settings);
      const { provider } = made;
      const bash = async (command: string, options: CommandOptions = {}): Promise<CommandResult> => {
        const { base = EMPTY_MANIFEST, mounts = [], projectId = 'proj_1', ...more } = options;
        const { signal = new AbortController().signal } = more;
        count += 1;
        const sandbox = await provider.open({ sessionId: `ses_${count}`, projectId, base, mounts }, signal);
        const chunks: Buffer[] = [];
        const io = { cwd: '/workspace', stdin: null, timeoutMs: 30_000, signal, ...more };
        try {
          const onOutput = (chunk: Buffer): unknown => chunks.push(chunk);
          const end = await sandbox.run(['bash', '-c', command], { onOutput, ...io });
          return { ...end, output: Buffer.concat(chunks).toString() };
        } finally {
          await sandbox.close(null);
        }
      };
      return { ...made, bash };
    },
    ({ remove }) => remove(),
  );
}
