import { isEntry } from '../src/platform/is-entry.js';
import { SCOPES } from '../src/projects/permissions.js';
import { databaseUrlOf, runCommand, UsageError, withDatabase, type DatabaseCommand } from './command.js';
import { create, expire, list, revoke, schedules } from './keys/key-commands.js';
import { limit, projects } from './keys/project-commands.js';

const USAGE = `Usage:
  npm run --silent keys -- create --project NAME [--name TEXT] [--scopes a,b | all | all,keys:write]
                                  [--approver-groups a,b | *] [--expires-in-days D] [--max-running-turns N]
  npm run --silent keys -- list [--json]
  npm run --silent keys -- revoke ID [--descendants]          (descendants: the keys that it made too, and theirs)
  npm run --silent keys -- expire ID --at TIME     (ISO 8601, such as 2027-01-31T00:00:00Z; or never)
  npm run --silent keys -- schedules ID            (those that the key created and that have not ended: they go on without it)
  npm run --silent keys -- projects [--json]
  npm run --silent keys -- limit --project NAME [--max-running-turns N] [--rate-per-minute [N]]
                                  (rate 0: no limit; without N: the general one, RATE_LIMIT_PER_MINUTE)

Permissions: ${SCOPES.join(', ')} (default: all, which is every one but keys:write)`;

const COMMANDS: Record<string, (args: string[]) => DatabaseCommand> = {
  create,
  list,
  revoke,
  expire,
  schedules,
  projects,
  limit,
};

/**
 * `npm run keys` (docs/decisions.md "Running it", "Results"): issues, lists and revokes keys of the database at `databaseUrl`.
 * @returns the exit code: 1 for a key or project that does not exist
 * @throws UsageError before it connects to the database
 */
export async function runKeys([name, ...args]: string[], databaseUrl: string): Promise<number> {
  if (name === undefined) throw new UsageError('Say what to do.');
  if (!Object.hasOwn(COMMANDS, name)) throw new UsageError(`There is no command ${name}.`);
  const command = COMMANDS[name]!(args);
  return withDatabase(databaseUrl, 'keys', command);
}

if (isEntry(import.meta.url)) {
  const { env, argv } = process;
  void runCommand(USAGE, async () => runKeys(argv.slice(2), databaseUrlOf(env)));
}
