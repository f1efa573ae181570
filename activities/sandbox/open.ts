import { ulid } from 'ulid';
import type { Config } from '../../src/platform/config.js';
import { openStorage } from '../../src/files/open-storage.js';
import type { Storage } from '../../src/files/storage.js';
import { createLogger, type Logger } from '../../src/platform/logger.js';
import { workspaceCacheBytes, workspaceSandboxDown } from '../../src/platform/metrics.js';
import { SetupError } from '../../src/platform/setup-error.js';
import { EMPTY_MANIFEST } from '../../src/workspaces/manifest.js';
import { PackReader } from '../../src/workspaces/packs.js';
import {
  formatLimits,
  type SandboxLimits,
  type SandboxProblem,
  type SandboxProvider,
} from '../../src/workspaces/sandbox.js';
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
  /** What keeps the limits of commands; null: no command can run. */
  limits: () => SandboxLimits | null;
  close: () => void;
}

/**
 * The sandboxes of a worker. They are checked now and each minute.
 * @throws SetupError if they were asked for and do not work: commands never run without one
 */
export async function openSandboxes(config: Config, storage: Storage, log: Logger): Promise<Sandboxes> {
  if (config.sandboxProvider === 'off')
    return { provider: null, isUp: () => false, limits: () => null, close: () => undefined };
  const provider = await newProvider(config, storage, log);
  const problem = await provider.check();
  if (problem !== null) throw notWorking(config.sandboxProvider, problem);
  if (provider.limits !== null) log.info(formatLimits(provider.limits));
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
  return { provider, isUp: () => isUp, limits: () => (isUp ? provider.limits : null), close };
}

async function newProvider(config: Config, storage: Storage, log: Logger): Promise<SandboxProvider> {
  const reader = (): PackReader => new PackReader(storage);
  return config.sandboxProvider === 'kubernetes'
    ? new KubernetesProvider(config, await accessOfPod(process.env), reader, log)
    : new BubblewrapProvider(config, reader, log);
}

/** What a trial of a sandbox has found. */
export interface SandboxTrial {
  /** Null: it works. */
  problem: SandboxProblem | null;
  /** What keeps the limits of commands of a process like this one. */
  limits: SandboxLimits | null;
}

/** Runs a command in a sandbox of the provider that is set, of bubblewrap where it is off, and leaves nothing behind. */
export async function trySandbox(config: Config): Promise<SandboxTrial> {
  const provider = await newProvider(config, await openStorage(config), createLogger('silent', 'sandbox'));
  const session = `check-${ulid()}`;
  const failed = (reason: string): SandboxTrial => ({ problem: { reason, remedy: PAGE }, limits: null });
  try {
    const problem = await provider.check();
    if (problem !== null) return { problem, limits: null };
    const signal = AbortSignal.timeout(TRIAL_TIMEOUT_MS);
    const sandbox = await provider.open(
      { sessionId: session, projectId: 'check', base: EMPTY_MANIFEST, mounts: [] },
      signal,
    );
    const io = { cwd: '/', stdin: null, timeoutMs: TRIAL_TIMEOUT_MS, onOutput: () => undefined, signal };
    const { code } = await sandbox.run(['bash', '-c', 'exit 7'], io);
    await sandbox.close(null);
    if (code !== 7) return failed(`A command that exits with 7 ended with ${code}.`);
    return { problem: null, limits: provider.limits };
  } catch (error) {
    return failed(`No command can be run: ${(error as Error).message}.`);
  } finally {
    await provider.dispose(session);
    provider.close();
  }
}

function notWorking(provider: string, { reason, remedy }: SandboxProblem): SetupError {
  return new SetupError(`SANDBOX_PROVIDER is ${provider}, and no command can be run. ${reason} ${remedy}`);
}
