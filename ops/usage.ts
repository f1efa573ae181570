import { writeCommandEntry } from '../src/audit/write.js';
import { transaction } from '../src/db/transaction.js';
import { isEntry } from '../src/platform/is-entry.js';
import { findProjectId } from '../src/projects/projects.js';
import { forgetMatching, type ForgottenMetadata } from '../src/turns/usage-sums.js';
import { databaseUrlOf, parseOptions, runCommand, UsageError, withDatabase } from './command.js';
import { projectOf } from './keys/options.js';

const USAGE = `Usage:
  npm run --silent usage -- forget --project NAME --metadata KEY=VALUE
                                  (GET usage forgets that turns had this pair: they count in the group null)
  npm run --silent usage -- forget --project NAME --session ID
                                  (the same for all metadata of the turns of a session)`;

/**
 * `npm run usage -- forget` (docs/decisions.md "Money and models"): forgets metadata in usage at once, and prints of how many turns.
 * @returns the exit code: 1 for a project that does not exist
 * @throws UsageError before it connects to the database
 */
export async function runUsage(args: string[], databaseUrl: string): Promise<number> {
  const { project, what } = optionsOf(args);
  return withDatabase(databaseUrl, 'usage', async (db) => {
    const projectId = await findProjectId(db, project);
    if (projectId === null) {
      process.stderr.write(`There is no project ${project}.\n`);
      return 1;
    }
    const turns = await forgetMatching(db, projectId, what);
    await transaction(db, async (tx) => writeCommandEntry(tx, projectId, 'forgetUsage', null));
    process.stdout.write(`forgotten in the usage of ${turns} ${turns === 1 ? 'turn' : 'turns'}\n`);
    return 0;
  });
}

function optionsOf(args: string[]): { project: string; what: ForgottenMetadata } {
  const { positionals, values } = parseOptions({
    args,
    allowPositionals: true,
    options: { project: { type: 'string' }, metadata: { type: 'string' }, session: { type: 'string' } },
  });
  if (positionals.join(' ') !== 'forget') throw new UsageError('Say `forget`.');
  const { metadata, session } = values;
  if ((metadata === undefined) === (session === undefined)) {
    throw new UsageError('Give either --metadata KEY=VALUE or --session ID.');
  }
  const project = projectOf(values.project);
  if (metadata === undefined) return { project, what: { session: session! } };
  const [, key, value] = /^([^=]+)=(.*)$/s.exec(metadata) ?? [];
  if (key === undefined || value === undefined) throw new UsageError('--metadata must be KEY=VALUE.');
  return { project, what: { key, value } };
}

if (isEntry(import.meta.url)) {
  const { env, argv } = process;
  void runCommand(USAGE, async () => runUsage(argv.slice(2), databaseUrlOf(env)));
}
