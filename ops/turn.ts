import { isEntry } from '../src/platform/is-entry.js';
import { describeWorkflow } from '../src/temporal/describe-workflow.js';
import { findFailingTasks } from '../src/temporal/failing-tasks.js';
import { databaseUrlOf, parseOptions, runCommand, UsageError, withDatabase } from './command.js';
import { formatTurn } from './turn/format.js';
import { readOpenTurns } from './turn/open-turns.js';
import { readTurn, type ShownTurn } from './turn/read.js';
import { whyLines } from './turn/why.js';

const MAX_OPEN_TURNS = 10_000;
const TIMEOUT_MS = 600_000;
const USAGE = `Usage:
  npm run --silent turn -- show ID [--content]
  npm run --silent turn -- why ID
  npm run --silent turn -- stuck [--limit N]
  npm run --silent turn -- replay [--limit N]

show    a turn (turn_…): its row, time line, model calls, tool calls, events and workflow, and the worker that has it. Messages, tool
        input and results, and what a model's server said are shown with --content only.
why     what keeps a turn from going on, or where its time went.
stuck   the open turns whose workflow task fails: no running worker can continue them. Exit code 1 if there are any.
replay  the open turns that the workflow code of this build cannot continue, found by replaying their histories; changes nothing.
        Run it in the folder of the build that you go back to, before you do. Exit code 1 if there are any.`;

/**
 * `npm run turn` (docs/operations/turns.md).
 * @returns the exit code: 1 for a turn that does not exist, and for turns that are stuck
 * @throws UsageError before it connects
 */
export async function runTurn([name, ...args]: string[], databaseUrl: string): Promise<number> {
  switch (name) {
    case 'show': {
      const { values, positionals } = parseOptions({
        args,
        options: { content: { type: 'boolean', default: false } },
        allowPositionals: true,
      });
      return withTurn(positionals, databaseUrl, async (turn, id) =>
        formatTurn(turn, await describeWorkflow(id), values.content),
      );
    }
    case 'why': {
      const { positionals } = parseOptions({ args, allowPositionals: true });
      return withTurn(positionals, databaseUrl, async (turn, id) =>
        whyLines(turn, await describeWorkflow(id))
          .map((line) => `${line}\n`)
          .join(''),
      );
    }
    case 'stuck':
      return listTurns(args, databaseUrl, 'whose workflow task fails', async (ids) =>
        (await findFailingTasks(ids, TIMEOUT_MS)).map(
          ({ id, attempt, reason }) => `${id}  attempt ${attempt}  ${reason ?? 'no reason in the history'}`,
        ),
      );
    case 'replay': {
      // It brings Temporal's core, which the other commands need not load.
      const { findUnreplayable } = await import('./turn/replay.js');
      return listTurns(args, databaseUrl, 'that this build cannot continue', async (ids) =>
        (await findUnreplayable(ids, TIMEOUT_MS)).map(({ id, reason }) => `${id}  ${reason}`),
      );
    }
    default:
      throw new UsageError(name === undefined ? 'Say what to do.' : `There is no command ${name}.`);
  }
}

async function withTurn(
  [id, ...more]: string[],
  databaseUrl: string,
  text: (turn: ShownTurn, id: string) => Promise<string>,
): Promise<number> {
  if (id === undefined || more.length > 0) throw new UsageError('Name the one turn to show by its id.');
  const turn = await withDatabase(databaseUrl, 'turn', (db) => readTurn(db, id));
  if (turn === null) {
    process.stderr.write(`There is no turn ${id}.\n`);
    return 1;
  }
  process.stdout.write(await text(turn, id));
  return 0;
}

async function listTurns(
  args: string[],
  databaseUrl: string,
  which: string,
  find: (ids: string[]) => Promise<string[]>,
): Promise<number> {
  const { values } = parseOptions({ args, options: { limit: { type: 'string', default: '1000' } } });
  const limit = /^[1-9]\d{0,4}$/.test(values.limit) ? Number(values.limit) : Infinity;
  if (limit > MAX_OPEN_TURNS) throw new UsageError(`--limit must be an integer from 1 to ${MAX_OPEN_TURNS}.`);
  const { ids, all } = await withDatabase(databaseUrl, 'turn', (db) => readOpenTurns(db, limit));
  const found = await find(ids);
  const cut = ids.length < all ? `, those without progress for the longest time: ask for more with --limit` : '';
  process.stdout.write(
    `${found.map((line) => `${line}\n`).join('')}${found.length} turns ${which}, of ${ids.length} of ${all} open ones${cut}\n`,
  );
  return found.length === 0 ? 0 : 1;
}

if (isEntry(import.meta.url)) {
  const { env, argv } = process;
  void runCommand(USAGE, async () => {
    if (argv[2] === 'replay') (await import('./turn/replay.js')).silenceTemporal();
    return runTurn(argv.slice(2), databaseUrlOf(env));
  });
}
