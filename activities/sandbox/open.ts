import type { Config } from '../../src/platform/config.js';
import { openStorage } from '../../src/files/open-storage.js';
import type { Storage } from '../../src/files/storage.js';
import { createLogger, type Logger } from '../../src/platform/logger.js';
import { workspaceCacheBytes, workspaceSandboxDown } from '../../src/platform/metrics.js';
import { SetupError } from '../../src/platform/setup-error.js';
import { PackReader } from '../../src/workspaces/packs.js';
import type { SandboxProblem, SandboxProvider } from '../../src/workspaces/sandbox.js';
import { BubblewrapProvider } from './bubblewrap/provider.js';

const CHECK_INTERVAL_MS = 60_000;

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
  const provider = new BubblewrapProvider(config, () => new PackReader(storage), log);
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

/** Tries whether sandboxes of bubblewrap work here, whatever the setting, and leaves nothing behind. */
export async function findSandboxProblem(config: Config): Promise<SandboxProblem | null> {
  const storage = await openStorage(config);
  const provider = new BubblewrapProvider(config, () => new PackReader(storage), createLogger('silent', 'sandbox'));
  try {
    return await provider.check();
  } finally {
    provider.close();
  }
}

function notWorking(provider: string, { reason, remedy }: SandboxProblem): SetupError {
  return new SetupError(`SANDBOX_PROVIDER is ${provider}, and no command can be run. ${reason} ${remedy}`);
}
