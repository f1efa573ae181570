import {
  createKey,
  expireKey,
  listKeys,
  revokeKey,
  schedulesOfKey,
  type ListedKey,
} from '../../src/projects/api-keys.js';
import { EVERY_GROUP, isGroupName, MAX_GROUPS_OF_KEY } from '../../src/projects/approver-groups.js';
import { ALL_SCOPES, isScope, type Scope } from '../../src/projects/permissions.js';
import { parseOptions, UsageError, type DatabaseCommand } from '../command.js';
import { daysOf, maxRunningTurnsOf, nameOf, projectOf } from './options.js';

export function create(args: string[]): DatabaseCommand {
  const { values } = parseOptions({
    args,
    options: {
      project: { type: 'string' },
      name: { type: 'string' },
      scopes: { type: 'string' },
      'approver-groups': { type: 'string' },
      'expires-in-days': { type: 'string' },
      'max-running-turns': { type: 'string' },
    },
  });
  const wanted = {
    project: projectOf(values.project),
    name: nameOf('--name', values.name),
    scopes: scopesOf(values.scopes ?? 'all'),
    approverGroups: groupsOf(values['approver-groups']),
    expiresInDays: daysOf(values['expires-in-days']),
    maxRunningTurns: maxRunningTurnsOf(values['max-running-turns']),
  };
  return async (db) => {
    const { id, key, isNewProject } = await createKey(db, wanted);
    // The key stands alone on stdout.
    process.stderr.write(`key ${id} of ${isNewProject ? 'the new' : 'the'} project ${wanted.project}\n`);
    if (values.scopes === undefined) {
      process.stderr.write(
        'It has every permission but keys:write: with --scopes a,b it has only those that its user needs.\n',
      );
    }
    process.stdout.write(`${key}\n`);
    return 0;
  };
}

export function list(args: string[]): DatabaseCommand {
  const { values } = parseOptions({ args, options: { json: { type: 'boolean', default: false } } });
  return async (db) => {
    const keys = await listKeys(db);
    process.stdout.write(values.json ? `${JSON.stringify(keys.map(jsonOf), null, 2)}\n` : keys.map(lineOf).join(''));
    return 0;
  };
}

export function revoke(args: string[]): DatabaseCommand {
  const options = { descendants: { type: 'boolean', default: false } } as const;
  const { positionals, values } = parseOptions({ args, options, allowPositionals: true });
  const id = idOf(positionals, 'to revoke');
  return async (db) => {
    if (!(await revokeKey(db, id, values.descendants))) return noKey(id);
    process.stdout.write(`revoked ${id}${values.descendants ? ' with the keys that it made, and theirs' : ''}\n`);
    return 0;
  };
}

export function expire(args: string[]): DatabaseCommand {
  const { values, positionals } = parseOptions({ args, options: { at: { type: 'string' } }, allowPositionals: true });
  const id = idOf(positionals, 'that expires');
  const at = values.at === 'never' ? null : new Date(values.at ?? '');
  if (at !== null && Number.isNaN(at.getTime())) throw new UsageError('--at must be a time in ISO 8601, or never.');
  return async (db) => ((await expireKey(db, id, at)) ? 0 : noKey(id));
}

export function schedules(args: string[]): DatabaseCommand {
  const id = idOf(parseOptions({ args, options: {}, allowPositionals: true }).positionals, 'that created them');
  return async (db) => {
    const created = await schedulesOfKey(db, id);
    if (created === null) return noKey(id);
    for (const { id, state, cron, at, next_run_at: next, name } of created) {
      process.stdout.write(
        `${[id, state, cron ?? at, next === null ? 'no next run' : `next ${next}`, name ?? '-'].join('  ')}\n`,
      );
    }
    return 0;
  };
}

function idOf([id, ...others]: string[], which: string): string {
  if (id === undefined || others.length > 0) throw new UsageError(`Name the one key ${which} by its id.`);
  return id;
}

function noKey(id: string): number {
  process.stderr.write(`There is no key ${id}.\n`);
  return 1;
}

function scopesOf(names: string): readonly Scope[] {
  const named = names.split(',').map((name) => name.trim());
  const wanted = [...new Set(named.flatMap((name): readonly string[] => (name === 'all' ? ALL_SCOPES : [name])))];
  const unknown = wanted.filter((name) => !isScope(name));
  if (unknown.length > 0) throw new UsageError(`There is no permission ${unknown.join(', ') || '""'}.`);
  return wanted.filter(isScope);
}

function groupsOf(names: string | undefined): readonly string[] {
  if (names === undefined) return [];
  const wanted = [...new Set(names.split(',').map((name) => name.trim()))];
  const wrong = wanted.filter((name) => name !== EVERY_GROUP && !isGroupName(name));
  if (wrong.length > 0) {
    throw new UsageError(
      `--approver-groups: ${wrong.join(', ') || '""'} is no name of a group (1 to 64 lowercase letters, digits, single hyphens; or *).`,
    );
  }
  if (wanted.length > MAX_GROUPS_OF_KEY)
    throw new UsageError(`A key has at most ${MAX_GROUPS_OF_KEY} approver groups.`);
  return wanted;
}

/** docs/decisions.md "Running it", "Results" and "Keys, approvers, audit log" say which fields. */
function jsonOf(key: ListedKey): object {
  const { id, project, name, scopes, approver_groups, created_by, created_at, expires_at, last_used_at, revoked_at } =
    key;
  return { id, project, name, scopes, approver_groups, created_by, created_at, expires_at, last_used_at, revoked_at };
}

function lineOf(key: ListedKey): string {
  const { id, project, name, scopes, created_at, revoked_at, expires_at, last_used_at, live, schedules } = key;
  const end = expires_at === null ? '' : `${live ? ', expires' : 'expired'} ${expires_at}`;
  const state = revoked_at === null ? `${live ? 'live' : ''}${end}` : `revoked ${revoked_at}`;
  const used = last_used_at === null ? 'never used' : `last used ${last_used_at}`;
  const others = schedules === 0 ? [] : [`${schedules} ${schedules === 1 ? 'schedule' : 'schedules'}`];
  const groups = key.approver_groups.length === 0 ? [] : [`approves for ${key.approver_groups.join(',')}`];
  return `${[id, project, name ?? '-', scopes.join(','), ...groups, created_at, used, ...others, state].join('  ')}\n`;
}
