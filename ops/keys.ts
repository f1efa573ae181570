import type { DataSource } from 'typeorm';
import { openDataSource } from '../src/db/data-source.js';
import { isEntry } from '../src/platform/is-entry.js';
import { codePointLength, isStorableText } from '../src/platform/text.js';
import {
  createKey,
  expireKey,
  limitProject,
  listKeys,
  listProjects,
  revokeKey,
  type ListedKey,
} from '../src/projects/api-keys.js';
import { isScope, SCOPES, type Scope } from '../src/projects/permissions.js';
import { databaseUrlOf, parseOptions, runCommand, UsageError } from './command.js';

const USAGE = `Usage:
  npm run --silent keys -- create --project NAME [--scopes a,b | all] [--max-running-turns N]
  npm run --silent keys -- list [--json]
  npm run --silent keys -- revoke ID
  npm run --silent keys -- expire ID --at TIME     (ISO 8601, such as 2027-01-31T00:00:00Z; or never)
  npm run --silent keys -- projects [--json]
  npm run --silent keys -- limit --project NAME --max-running-turns N

Permissions: ${SCOPES.join(', ')} (default: all)`;

type Command = (db: DataSource) => Promise<number>;

/**
 * `npm run keys` (contract.md §5): issues, lists and revokes keys of the database at `databaseUrl`.
 * @returns the exit code: 1 for a key or project that does not exist
 * @throws UsageError before it connects to the database
 */
export async function runKeys(argv: string[], databaseUrl: string): Promise<number> {
  const command = commandOf(argv);
  const db = await openDataSource(databaseUrl, 2, 'keys');
  try {
    return await command(db);
  } finally {
    await db.destroy();
  }
}

function commandOf([name, ...args]: string[]): Command {
  switch (name) {
    case 'create':
      return create(args);
    case 'list':
      return list(args);
    case 'revoke':
      return revoke(args);
    case 'expire':
      return expire(args);
    case 'projects':
      return projects(args);
    case 'limit':
      return limit(args);
    default:
      throw new UsageError(name === undefined ? 'Say what to do.' : `There is no command ${name}.`);
  }
}

function create(args: string[]): Command {
  const { values } = parseOptions({
    args,
    options: {
      project: { type: 'string' },
      scopes: { type: 'string', default: 'all' },
      'max-running-turns': { type: 'string' },
    },
  });
  const project = projectOf(values.project);
  const scopes = scopesOf(values.scopes);
  const maxRunningTurns = limitOf(values['max-running-turns']);
  return async (db) => {
    const { key } = await createKey(db, { project, scopes, maxRunningTurns });
    process.stdout.write(`${key}\n`);
    return 0;
  };
}

function list(args: string[]): Command {
  const { values } = parseOptions({ args, options: { json: { type: 'boolean', default: false } } });
  return async (db) => {
    const keys = await listKeys(db);
    process.stdout.write(values.json ? `${JSON.stringify(keys.map(jsonOf), null, 2)}\n` : keys.map(lineOf).join(''));
    return 0;
  };
}

function revoke(args: string[]): Command {
  const { positionals } = parseOptions({ args, options: {}, allowPositionals: true });
  const [id] = positionals;
  if (id === undefined || positionals.length > 1) throw new UsageError('Name the one key to revoke by its id.');
  return async (db) => {
    if (await revokeKey(db, id)) {
      process.stdout.write(`revoked ${id}\n`);
      return 0;
    }
    process.stderr.write(`There is no key ${id}.\n`);
    return 1;
  };
}

function expire(args: string[]): Command {
  const { values, positionals } = parseOptions({ args, options: { at: { type: 'string' } }, allowPositionals: true });
  const [id] = positionals;
  if (id === undefined || positionals.length > 1) throw new UsageError('Name the one key that expires by its id.');
  const at = values.at === 'never' ? null : new Date(values.at ?? '');
  if (at !== null && Number.isNaN(at.getTime())) throw new UsageError('--at must be a time in ISO 8601, or never.');
  return async (db) => {
    if (await expireKey(db, id, at)) return 0;
    process.stderr.write(`There is no key ${id}.\n`);
    return 1;
  };
}

function projects(args: string[]): Command {
  const { values } = parseOptions({ args, options: { json: { type: 'boolean', default: false } } });
  return async (db) => {
    const all = await listProjects(db);
    const lines = all.map(
      ({ id, name, max_running_turns, open_turns, live_keys }) =>
        `${id}  ${name}  ${open_turns} of ${max_running_turns} turns  ${live_keys} ${live_keys === 1 ? 'key' : 'keys'}\n`,
    );
    process.stdout.write(values.json ? `${JSON.stringify(all, null, 2)}\n` : lines.join(''));
    return 0;
  };
}

function limit(args: string[]): Command {
  const { values } = parseOptions({
    args,
    options: { project: { type: 'string' }, 'max-running-turns': { type: 'string' } },
  });
  const project = projectOf(values.project);
  const most = limitOf(values['max-running-turns']);
  if (most === undefined) throw new UsageError('--max-running-turns is missing.');
  return async (db) => {
    if (await limitProject(db, project, most)) return 0;
    process.stderr.write(`There is no project ${project}.\n`);
    return 1;
  };
}

function projectOf(name: string | undefined): string {
  if (name === undefined) throw new UsageError('--project is missing.');
  if (name.trim() === '' || codePointLength(name) > 255 || !isStorableText(name)) {
    throw new UsageError('--project must be 1 to 255 characters.');
  }
  return name;
}

function scopesOf(list: string): readonly Scope[] {
  if (list === 'all') return SCOPES;
  const names = [...new Set(list.split(',').map((name) => name.trim()))];
  const unknown = names.filter((name) => !isScope(name));
  if (unknown.length > 0) throw new UsageError(`There is no permission ${unknown.join(', ') || '""'}.`);
  return names.filter(isScope);
}

function limitOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const limit = /^[1-9][0-9]{0,8}$/.test(text) ? Number(text) : 0;
  if (limit === 0) throw new UsageError('--max-running-turns must be a positive integer.');
  return limit;
}

/** contract.md §5 says which fields. */
function jsonOf({ id, project, scopes, created_at, revoked_at }: ListedKey): object {
  return { id, project, scopes, created_at, revoked_at };
}

function lineOf({ id, project, scopes, created_at, revoked_at, expires_at, live }: ListedKey): string {
  const end = expires_at === null ? '' : `${live ? ', expires' : 'expired'} ${expires_at}`;
  const state = revoked_at === null ? `${live ? 'live' : ''}${end}` : `revoked ${revoked_at}`;
  return `${id}  ${project}  ${scopes.join(',')}  ${created_at}  ${state}\n`;
}

if (isEntry(import.meta.url)) {
  const { env, argv } = process;
  await runCommand(USAGE, async () => runKeys(argv.slice(2), databaseUrlOf(env)));
}
