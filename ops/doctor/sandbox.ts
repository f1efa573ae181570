import { trySandbox } from '../../activities/sandbox/open.js';
import type { Config } from '../../src/platform/config.js';
import { formatLimits } from '../../src/workspaces/sandbox.js';
import { CheckError, type Check } from './check.js';

/** Runs a command in a sandbox, as a worker here would. With `off` it only says whether that would work. */
export function sandboxCheck(config: Config): Check {
  return {
    part: 'sandbox',
    remedy: 'See docs/operations/sandbox.md.',
    async run() {
      const { problem, limits } = await trySandbox(config);
      const kept = limits === null ? '' : `; ${formatLimits(limits)}`;
      if (config.sandboxProvider === 'off') {
        return problem === null
          ? `off; it would work on this machine with SANDBOX_PROVIDER=bubblewrap${kept}`
          : `off. ${problem.reason}`;
      }
      if (problem !== null) throw new CheckError(problem.reason, problem.remedy);
      return `a command runs in a sandbox of ${config.sandboxProvider}${kept}`;
    },
  };
}
