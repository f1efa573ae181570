import { isEntry } from '../src/platform/is-entry.js';
import { describeWorkflow } from '../src/temporal/describe-workflow.js';
import { databaseUrlOf, parseOptions, runCommand, UsageError, withDatabase } from './command.js';
import { formatTurn } from './turn/format.js';
import { readTurn } from './turn/read.js';

const USAGE = `Usage:
  npm run --silent turn -- show ID [--content]

Shows a turn (turn_…): its row, time line, model calls, tool calls, events and workflow, and the worker that has it. Messages, tool
input and results, and what a model's server said are shown with --content only.`;

/**
 * `npm run turn` (docs/operations/turns.md).
 * @returns the exit code: 1 for a turn that does not exist
 * @throws UsageError before it connects
 */
export async function runTurn([name, ...args]: string[], databaseUrl: string): Promise<number> {
  if (name !== 'show') throw new UsageError(name === undefined ? 'Say what to do.' : `There is no command ${name}.`);
  const { values, positionals } = parseOptions({
    args,
    options: { content: { type: 'boolean', default: false } },
    allowPositionals: true,
  });
  const [id] = positionals;
  if (id === undefined || positionals.length > 1) throw new UsageError('Name the one turn to show by its id.');
  const turn = await withDatabase(databaseUrl, 'turn', (db) => readTurn(db, id));
  if (turn === null) {
    process.stderr.write(`There is no turn ${id}.\n`);
    return 1;
  }
  process.stdout.write(formatTurn(turn, await describeWorkflow(id), values.content));
  return 0;
}

if (isEntry(import.meta.url)) {
  const { env, argv } = process;
  void runCommand(USAGE, async () => runTurn(argv.slice(2), databaseUrlOf(env)));
}
