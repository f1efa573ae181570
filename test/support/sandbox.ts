import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Context } from 'mocha';
import { BubblewrapProvider } from '../../activities/sandbox/bubblewrap/provider.js';
import { EMPTY_MANIFEST, type Manifest } from '../../src/workspaces/manifest.js';
import type { CommandEnd, CommandIo, Mount, SandboxProblem, SandboxProvider } from '../../src/workspaces/sandbox.js';
import { testLogger } from './log.js';
import { skip } from './skip.js';
import { openTestStorage, type TestStorage } from './storage.js';
import { use } from './use.js';

/** Settings of sandboxes for tests. */
export const SANDBOX_SETTINGS = {
  sandboxRoot: null,
  sandboxMemoryMb: 600,
  sandboxDiskMb: 256,
};

let problem: Promise<SandboxProblem | null> | undefined;

/**
 * Skips where no sandbox can run, with the reason. With `SANDBOX_TESTS=require` the test fails instead: for a pipeline whose
 * machines can run one, where a skip would hide that nothing was tested.
 */
export async function requireSandbox(context: Context): Promise<void> {
  const { provider, remove } = newProvider();
  problem ??= provider.check();
  const found = await problem;
  remove();
  if (found === null) return;
  const reason = `${found.reason} ${found.remedy}`;
  if (process.env.SANDBOX_TESTS === 'require') throw new Error(`SANDBOX_TESTS=require, and ${reason}`);
  skip(context, reason);
}

function newProvider(settings: Partial<typeof SANDBOX_SETTINGS> = {}) {
  // The users of sandboxes must reach it.
  const sandboxDir = mkdtempSync(join(tmpdir(), 'sandbox-test-'));
  const test = openTestStorage();
  const all = { ...SANDBOX_SETTINGS, dataDir: sandboxDir, sandboxDir, ...settings };
  const provider = new BubblewrapProvider(all, test.storage, testLogger());
  const remove = (): void => {
    test.remove();
    rmSync(sandboxDir, { recursive: true, force: true });
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
        const { base = EMPTY_MANIFEST, mounts = [], ...more } = options;
        const { signal = new AbortController().signal } = more;
        count += 1;
        const sandbox = await provider.open({ sessionId: `ses_${count}`, base, mounts }, signal);
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
