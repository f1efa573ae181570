import type { Database } from '../../src/db/db.js';
import type { Config } from '../../src/platform/config.js';
import { findFailingTasks } from '../../src/temporal/failing-tasks.js';
import { readOpenTurns } from '../turn/open-turns.js';
import { CheckError, LIMITS_MS, type Check } from './check.js';
import { withSchema } from './database.js';

/** Those without progress for the longest time. */
const MAX_CHECKED_TURNS = 300;

export function workflowTasksCheck({ databaseUrl }: Config): Check {
  return { part: 'workflow tasks', remedy: 'See `temporal`.', run: () => withSchema(databaseUrl, workflowTasks) };
}

/** Finds open turns that no worker can continue, as after going back to a build whose workflow code cannot follow them. */
async function workflowTasks(db: Database): Promise<string> {
  const { ids, all } = await readOpenTurns(db, MAX_CHECKED_TURNS);
  const failing = await findFailingTasks(ids, LIMITS_MS[0]);
  if (failing.length === 0) return `none of ${ids.length} open turns has one that fails`;
  throw new CheckError(
    `the workflow tasks of ${failing.length} of ${ids.length} open turns (of ${all}) fail: ${failing[0]!.id}, attempt ${failing[0]!.attempt}: ${failing[0]!.reason ?? 'the history does not say why'}`,
    'The workers run a build that cannot continue them. Start workers of the build that began them (docs/operations/upgrading.md, "Going back"); npm run turn -- stuck lists them.',
  );
}
