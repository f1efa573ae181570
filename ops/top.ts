import { isEntry } from '../src/platform/is-entry.js';
import { databaseUrlOf, parseOptions, runCommand, UsageError, withDatabase } from './command.js';
import { formatLoad } from './top/format.js';
import { readLoad } from './top/read.js';

const MAX_MINUTES = 1440;
const USAGE = `Usage:
  npm run --silent top [-- --minutes N] [--json]

Shows which projects load the service: their turns, model calls, tokens, tool calls, requests, streams and bytes of the last N minutes (15),
as far as Postgres knows them.`;

/**
 * `npm run top` (docs/operations/observing.md).
 * @returns the exit code
 * @throws UsageError before it connects
 */
export async function runTop(args: string[], databaseUrl: string): Promise<number> {
  const { values } = parseOptions({
    args,
    options: { minutes: { type: 'string', default: '15' }, json: { type: 'boolean', default: false } },
  });
  const minutes = /^[1-9]\d{0,3}$/.test(values.minutes) ? Number(values.minutes) : Infinity;
  if (minutes > MAX_MINUTES) throw new UsageError(`--minutes must be an integer from 1 to ${MAX_MINUTES}.`);
  const load = await withDatabase(databaseUrl, 'top', (db) => readLoad(db, minutes));
  process.stdout.write(values.json ? `${JSON.stringify(load, null, 2)}\n` : formatLoad(load, minutes));
  return 0;
}

if (isEntry(import.meta.url)) {
  const { env, argv } = process;
  void runCommand(USAGE, async () => runTop(argv.slice(2), databaseUrlOf(env)));
}
