import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Context } from 'mocha';
import { mountsBelow } from '../../activities/sandbox/bubblewrap/images.js';
import { BubblewrapProvider } from '../../activities/sandbox/bubblewrap/provider.js';
import { EMPTY_MANIFEST, type Manifest } from '../../src/workspaces/manifest.js';
import { PackReader, storeContents } from '../../src/workspaces/packs.js';
import type {
  CommandEnd,
  CommandIo,
  Mount,
  Sandbox,
  SandboxProblem,
  SandboxProvider,
} from '../../src/workspaces/sandbox.js';
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

export type ProviderSettings = ConstructorParameters<typeof BubblewrapProvider>[0];

type Kept = ConstructorParameters<typeof BubblewrapProvider>[3];

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

/** Skips the suite where no sandbox can run: see `requireSandbox`. */
export function needSandbox(): void {
  before(async function () {
    await requireSandbox(this);
  });
}

export function newProvider(settings: Partial<ProviderSettings> = {}, test = openTestStorage(), mayUse?: Kept) {
  // The users of sandboxes must reach it.
  const sandboxDir = mkdtempSync(join(tmpdir(), 'sandbox-test-'));
  const all = { ...SANDBOX_SETTINGS, dataDir: sandboxDir, sandboxDir, ...settings };
  const provider = new BubblewrapProvider(all, () => new PackReader(test.storage), testLogger(), mayUse);
  const remove = (): void => {
    test.remove();
    provider.close();
    removeWritable(sandboxDir);
  };
  return { provider, test, sandboxDir, remove };
}

/** Removes a folder in which commands may have closed folders, and trees may have file systems. */
export function removeWritable(folder: string): void {
  const mounts = mountsBelow(folder);
  // A provider that is closed may have done it meanwhile.
  if (mounts.length > 0) spawnSync('umount', ['-l', '--', ...mounts]);
  execFileSync('sh', ['-c', 'chmod -R u+rwx -- "$1" 2>/dev/null; rm -rf -- "$1"', 'sh', folder]);
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

/** The versions of one session's tree, as its calls make them. */
export class TestWorkspace {
  manifest = EMPTY_MANIFEST;

  constructor(
    private readonly sandbox: Pick<TestSandbox, 'provider' | 'test'>,
    private readonly sessionId: string,
    private readonly projectId = 'prj_a',
  ) {}

  /** Runs a command on the newest version and stores what it changed. */
  async bash(command: string, options: Omit<CommandOptions, 'base'> = {}): Promise<CommandResult> {
    const { provider, test } = this.sandbox;
    const { mounts = [], ...io } = options;
    const { signal } = new AbortController();
    const opened = await provider.open(
      { sessionId: this.sessionId, projectId: this.projectId, base: this.manifest, mounts },
      signal,
    );
    const result = await runIn(opened, command, { signal, ...io }).catch(async (error: unknown) => {
      await opened.close(null);
      throw error;
    });
    await opened.close(async ({ entries, contentOf }) => {
      const next = { entries, packs: [], delivered: null };
      const change = { manifest: next, base: this.manifest };
      this.manifest = (await storeContents(test.storage, this.sessionId, change, contentOf)).manifest;
    });
    return result;
  }
}

async function runIn(sandbox: Sandbox, command: string, io: Partial<CommandIo> & Pick<CommandIo, 'signal'>) {
  const chunks: Buffer[] = [];
  const onOutput = (chunk: Buffer): unknown => chunks.push(chunk);
  const all = { cwd: '/workspace', stdin: null, timeoutMs: 30_000, onOutput, ...io };
  const end = await sandbox.run(['bash', '-c', command], all);
  return { ...end, output: Buffer.concat(chunks).toString() };
}

export interface CommandOptions extends Partial<CommandIo> {
  base?: Manifest;
  mounts?: Mount[];
}

/** Makes a provider, over this storage if it is given. */
export type NewProvider = (test?: TestStorage) => Made | Promise<Made>;
interface Made {
  provider: SandboxProvider;
  test: TestStorage;
  remove: () => unknown;
}

/** A provider of the suite's own; without a sandbox on this machine its tests are skipped. */
export function useSandbox(make: NewProvider = (test) => newProvider({}, test)): TestSandbox {
  needSandbox();
  let count = 0;
  return use(
    async () => {
      const made = await make();
      const { provider } = made;
      const bash = async (command: string, options: CommandOptions = {}): Promise<CommandResult> => {
        const { base = EMPTY_MANIFEST, mounts = [], ...more } = options;
        const { signal = new AbortController().signal } = more;
        count += 1;
        const sandbox = await provider.open({ sessionId: `ses_${count}`, projectId: 'prj_a', base, mounts }, signal);
        try {
          return await runIn(sandbox, command, { ...more, signal });
        } finally {
          await sandbox.close(null);
        }
      };
      return { ...made, bash };
    },
    ({ remove }) => remove(),
  );
}
