/** A process that runs commands in sandboxes until it is killed: `sandboxDir`, a text in all of their command lines. */
import { BubblewrapProvider } from '../../activities/sandbox/bubblewrap/provider.js';
import { EMPTY_MANIFEST } from '../../src/workspaces/manifest.js';
import { PackReader } from '../../src/workspaces/packs.js';
import { testLogger } from './log.js';
import { SANDBOX_SETTINGS } from './sandbox.js';
import { openTestStorage } from './storage.js';

const [sandboxDir, mark] = process.argv.slice(2) as [string, string];
const settings = { ...SANDBOX_SETTINGS, dataDir: sandboxDir, sandboxDir };
const { storage } = openTestStorage();
const provider = new BubblewrapProvider(settings, () => new PackReader(storage), testLogger());
const { signal } = new AbortController();

/** Commands that begin, run and end all the time, each with children that hide. */
async function keepRunning(session: number): Promise<never> {
  const command = `: ${mark}; trap "" TERM INT HUP; (setsid nohup sleep ${mark} >/dev/null 2>&1 &); sleep 0.0$((RANDOM % 9))`;
  for (;;) {
    const sandbox = await provider.open(
      { sessionId: `ses_${session}`, projectId: 'prj_a', base: EMPTY_MANIFEST, mounts: [] },
      signal,
    );
    const io = { cwd: '/workspace', stdin: null, timeoutMs: 60_000, onOutput: () => undefined, signal };
    await sandbox.run(['bash', '-c', command], io);
    await sandbox.close(null);
  }
}

await provider.check();
await Promise.all([1, 2, 3, 4].map(keepRunning));
