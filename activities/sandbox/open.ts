import { ulid } from 'ulid';
import type { Config } from '../../src/platform/config.js';
import { openStorage } from '../../src/files/open-storage.js';
import type { Storage } from '../../src/files/storage.js';
import { createLogger, type Logger } from '../../src/platform/logger.js';
import { workspaceCacheBytes, workspaceSandboxDown } from '../../src/platform/metrics.js';
import { SetupError } from '../../src/platform/setup-error.js';
import { EMPTY_MANIFEST } from '../../src/workspaces/manifest.js';
import { PackReader } from '../../src/workspaces/packs.js';
import type { SandboxProblem, SandboxProvider } from '../../src/workspaces/sandbox.js';
import { BubblewrapProvider } from './bubblewrap/provider.js';
import { accessOfPod } from './kubernetes/cluster-api.js';
import { KubernetesProvider } from './kubernetes/provider.js';

const CHECK_INTERVAL_MS = 60_000;
/** A pod on a new node takes one to two minutes. */
const TRIAL_TIMEOUT_MS = 180_000;
const PAGE = 'See docs/operations/sandbox.md.';

interface Sandboxes {
  /** Null: the setting is off. */
  provider: SandboxProvider | null;
  /** Whether the last check could run a command. */
  isUp: () => boolean;
  close: () => void;
}

/**
 * The sandboxes of a worker. They are checked now and each minute.
 * @throws SetupError if they were asked for and do not work: commands never run without one
 */
export async function openSandboxes(config: Config, storage: Storage, log: Logger): Promise<Sandboxes> {
  if (config.sandboxProvider === 'off') return { provider: null, isUp: () => false, close: () => undefined };
  const provider = await newProvider(config, storage, log);
  const problem = await provider.check();
  if (problem !== null) throw notWorking(config.sandboxProvider, problem);
  let isUp = true;
  const check = async (): Promise<void> => {
    const found = await provider.check();
    if (found !== null) log.error({ reason: found.reason }, 'no sandbox can be started: commands get an error result');
    else if (!isUp) log.info('sandboxes can be started again');
    isUp = found === null;
    workspaceSandboxDown.set(isUp ? 0 : 1);
    workspaceCacheBytes.set(provider.cacheBytes);
  };
  const timer = setInterval(() => void check(), CHECK_INTERVAL_MS).unref();
  const close = (): void => {
    clearInterval(timer);
    provider.close();
  };
  return { provider, isUp: () => isUp, close };
}

async function newProvider(config: Config, storage: Storage, log: Logger): Promise<SandboxProvider> {
  const reader = (): PackReader => new PackReader(storage);
  return config.sandboxProvider === 'kubernetes'
    ? new KubernetesProvider(config, await accessOfPod(process.env), reader, log)
    : new BubblewrapProvider(config, reader, log);
}

/**
 * Runs a command in a sandbox of the provider that is set, of bubblewrap where it is off, and leaves nothing behind. Null: it works.
 */
export async function findSandboxProblem(config: Config): Promise<SandboxProblem | null> {
  const provider = await newProvider(config, await openStorage(config), createLogger('silent', 'sandbox'));
  const session = `check-${ulid()}`;
  try {
    const problem = await provider.check();
    if (problem !== null) return problem;
    const signal = AbortSignal.timeout(TRIAL_TIMEOUT_MS);
    const sandbox = await provider.open(
      { sessionId: session, projectId: 'check', base: EMPTY_MANIFEST, mounts: [] },
      signal,
    );
    const io = { cwd: '/', stdin: null, timeoutMs: TRIAL_TIMEOUT_MS, onOutput: () => undefined, signal };
    const { code } = await sandbox.run(['bash', '-c', 'exit 7'], io);
    await sandbox.close(null);
    return code === 7 ? null : { reason: `A command that exits with 7 ended with ${code}.`, remedy: PAGE };
  } catch (error) {
    return { reason: `No command can be run: ${(error as Error).message}.`, remedy: PAGE };
  } finally {
    await provider.dispose(session);
    provider.close();
  }
}

function notWorking(provider: string, { reason, remedy }: SandboxProblem): SetupError {
  return new SetupError(`SANDBOX_PROVIDER is ${provider}, and no command can be run. ${reason} ${remedy}`);
}
