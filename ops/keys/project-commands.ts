import { limitProject, listProjects, type ListedProject } from '../../src/projects/projects.js';
import { parseOptions, UsageError, type DatabaseCommand } from '../command.js';
import { maxRunningTurnsOf, projectOf, ratePerMinuteOf } from './options.js';

export function projects(args: string[]): DatabaseCommand {
  const { values } = parseOptions({ args, options: { json: { type: 'boolean', default: false } } });
  return async (db) => {
    const all = await listProjects(db);
    process.stdout.write(values.json ? `${JSON.stringify(all, null, 2)}\n` : all.map(lineOf).join(''));
    return 0;
  };
}

export function limit(args: string[]): DatabaseCommand {
  const { values } = parseOptions({
    args: withEmptyRate(args),
    options: {
      project: { type: 'string' },
      'max-running-turns': { type: 'string' },
      'rate-per-minute': { type: 'string' },
    },
  });
  const project = projectOf(values.project);
  const maxRunningTurns = maxRunningTurnsOf(values['max-running-turns']);
  const ratePerMinute = ratePerMinuteOf(values['rate-per-minute']);
  if (maxRunningTurns === undefined && ratePerMinute === undefined) {
    throw new UsageError('Give --max-running-turns, --rate-per-minute or both.');
  }
  return async (db) => {
    if (await limitProject(db, project, { maxRunningTurns, ratePerMinute })) return 0;
    process.stderr.write(`There is no project ${project}.\n`);
    return 1;
  };
}

/** `--rate-per-minute` may stand without a number, which `parseArgs` does not know. */
function withEmptyRate(args: string[]): string[] {
  return args.map((arg, n) => {
    const isAlone = arg === '--rate-per-minute' && (args[n + 1] ?? '--').startsWith('--');
    return isAlone ? `${arg}=` : arg;
  });
}

function lineOf({ id, name, max_running_turns, rate_per_minute, open_turns, live_keys }: ListedProject): string {
  const rate = rate_per_minute === null ? [] : [rate_per_minute === 0 ? 'no rate limit' : `${rate_per_minute}/min`];
  const keys = `${live_keys} ${live_keys === 1 ? 'key' : 'keys'}`;
  return `${[id, name, `${open_turns} of ${max_running_turns} turns`, ...rate, keys].join('  ')}\n`;
}
