import { expect } from 'chai';
import { runCommand, UsageError } from '../../ops/command.js';
import { runKeys } from '../../ops/keys.js';
import { ALL_SCOPES, SCOPES } from '../../src/projects/permissions.js';
import { eventually } from '../support/eventually.js';
import { failureOf } from '../support/failure.js';
import { createSchedule, newSchedule } from '../support/schedules.js';
import { openSse } from '../support/sse-reader.js';
import { useService } from '../support/use.js';
import { runWritten } from './written.js';

const FIELDS = [
  ...['id', 'project', 'name', 'scopes', 'approver_groups', 'created_by'],
  ...['created_at', 'expires_at', 'last_used_at', 'revoked_at'],
];

describe('npm run keys (decisions.md "Running it", "Results")', () => {
  const service = useService();

  const run = (...args: string[]) => runWritten(() => runKeys(args, service.config.databaseUrl));
  const listed = async () =>
    JSON.parse((await run('list', '--json')).out) as { id: string; [field: string]: unknown }[];

  it('npm run keys create prints the key alone, and the key works at once', async () => {
    const { code, out } = await run('create', '--project', 'acme');
    expect(code).to.equal(0);
    expect(out).to.match(/^ask_[A-Za-z0-9_-]{43}\n$/);
    expect((await service.as(out.trim())('GET', '/v1/sessions')).status).to.equal(200);
  });

  it('npm run keys create says which key it is, whether its project is new, and that it has every permission but keys:write', async () => {
    const first = await run('create', '--project', 'typo');
    const [{ id }] = (await listed()) as [{ id: string }];
    expect(first.err)
      .to.match(/^key (key_\w+) of the new project typo\nIt has every permission but keys:write: .+--scopes/)
      .and.contain(id);
    const second = await run('create', '--project', 'typo', '--scopes', 'all');
    expect(second.err).to.match(/^key key_\w+ of the project typo\n$/);
  });

  it('npm run keys prints how it is used with --help, and needs no database for it', async () => {
    const { argv } = process;
    process.argv = ['node', 'keys', '--help'];
    const { out, err } = await runWritten(async () => {
      await runCommand('Usage: keys', () => expect.fail('it ran'));
      return 0;
    });
    process.argv = argv;
    expect([out, err]).to.deep.equal(['Usage: keys\n', '']);
  });

  it('npm run keys create grants the requested permissions, or all by default', async () => {
    await run('create', '--project', 'scoped', '--scopes', 'files:read, sessions:read,files:read');
    await run('create', '--project', 'scoped', '--scopes', 'all');
    await run('create', '--project', 'scoped');
    await run('create', '--project', 'scoped', '--scopes', 'all,keys:write');
    const scopes = (await listed()).filter(({ project }) => project === 'scoped').map((key) => key.scopes);
    expect(scopes).to.deep.equal([
      [...ALL_SCOPES, 'keys:write'],
      ALL_SCOPES,
      ALL_SCOPES,
      ['files:read', 'sessions:read'],
    ]);
    expect(ALL_SCOPES).to.have.members(SCOPES.filter((scope) => scope !== 'keys:write'));
  });

  it('npm run keys create puts a key into approver groups, of which * is every one', async () => {
    await run('create', '--project', 'grouped', '--approver-groups', 'finance, legal-2,finance');
    await run('create', '--project', 'grouped', '--approver-groups', '*');
    const groups = (await listed()).filter(({ project }) => project === 'grouped').map((key) => key.approver_groups);
    expect(groups).to.deep.equal([['*'], ['finance', 'legal-2']]);
    expect((await run('list')).out).to.include('approves for finance,legal-2');
    const many = Array.from({ length: 21 }, (_, n) => `g${n}`).join(',');
    for (const wrong of ['', 'Finance', 'a--b', '-a', 'a'.repeat(65), many]) {
      const failed = await failureOf(runKeys(['create', '--project', 'grouped', '--approver-groups', wrong], ''));
      expect(failed, wrong).to.be.instanceOf(UsageError);
    }
  });

  it('npm run keys revoke takes the keys that a key made with it, if asked', async () => {
    const { out } = await run('create', '--project', 'family', '--scopes', 'all,keys:write');
    const [{ id }] = (await listed()) as [{ id: string }];
    const made = await service.as(out.trim())('POST', '/v1/keys', { name: 'child', scopes: ['sessions:read'] });
    const child = async () => (await listed()).find((key) => key.id === made.body.id)!;
    expect(await child()).to.include({ created_by: id, revoked_at: null });
    await run('revoke', id);
    expect((await child()).revoked_at).to.equal(null);
    expect((await run('revoke', id, '--descendants')).out).to.include(`revoked ${id} with the keys that it made`);
    expect((await child()).revoked_at).to.not.equal(null);
  });

  it('npm run keys writes what it changes to the audit log of the project', async () => {
    const { out } = await run(
      'create',
      '--project',
      'logged',
      '--approver-groups',
      'finance',
      '--scopes',
      'audit:read',
    );
    const [{ id }] = (await listed()) as [{ id: string }];
    await run('limit', '--project', 'logged', '--max-running-turns', '5');
    await run('expire', id, '--at', 'never');
    const { body } = await service.as(out.trim())('GET', '/v1/audit-log');
    await run('revoke', id);
    expect(
      body.items.map(({ action, resource, details }: Record<string, unknown>) => [action, resource, details]),
    ).to.deep.equal([
      ['expireKey', { type: 'key', id }, {}],
      ['limitProject', null, {}],
      ['createKey', { type: 'key', id }, { scopes: ['audit:read'], approver_groups: ['finance'] }],
    ]);
    for (const entry of body.items as object[]) {
      expect(entry).to.include({ source: 'command', outcome: 'ok', key_id: null, actor: null, request_id: null });
    }
  });

  it('npm run keys create creates the project once, and sets its limit if requested', async () => {
    const limitOf = async (project: string) =>
      service.db.query('SELECT max_running_turns AS max FROM projects WHERE name = $1', [project]);
    await run('create', '--project', 'limited');
    expect(await limitOf('limited')).to.deep.equal([{ max: 100 }]);
    await run('create', '--project', 'limited', '--max-running-turns', '7');
    await run('create', '--project', 'limited');
    expect(await limitOf('limited')).to.deep.equal([{ max: 7 }]);
  });

  it('npm run keys list shows every key, and never a key itself', async () => {
    const { out: key } = await run('create', '--project', 'listed');
    const { out } = await run('list', '--json');
    expect(out).to.not.contain(key.trim());
    const [newest] = await listed();
    expect(newest).to.have.all.keys(...FIELDS);
    expect(newest).to.include({ project: 'listed', revoked_at: null });
    expect((await run('list')).out).to.contain(newest!.id);
  });

  it('npm run keys create names a key, and lets it expire after a part of a day', async () => {
    const name = 'n'.repeat(255);
    const before = Date.now();
    const { out } = await run('create', '--project', 'named', '--name', name, '--expires-in-days', '0.5');
    const [newest] = await listed();
    expect(newest).to.include({ project: 'named', name, last_used_at: null, revoked_at: null });
    const expires = Date.parse(newest!.expires_at as string) - 12 * 3_600_000;
    expect(expires).to.be.within(before - 1000, Date.now() + 1000);
    expect((await run('list')).out.split('\n')[0]).to.contain(`  ${name}  `);
    expect((await service.as(out.trim())('GET', '/v1/sessions')).status).to.equal(200);
    await run('create', '--project', 'named', '--expires-in-days', '36500');
    expect((await listed())[0]!.name).to.equal(null);
  });

  it('an expired key is refused as a revoked one is, its open stream is closed', async () => {
    const { body } = await service.api('POST', '/v1/sessions', { model_id: 'test-model' });
    const { out } = await run('create', '--project', 'demo', '--expires-in-days', '1');
    const stream = await openSse(`${service.url}/v1/sessions/${body.id}/events/stream`, out.trim());
    expect(stream.status).to.equal(200);
    await service.db.query(
      'UPDATE api_keys SET expires_at = clock_timestamp() WHERE created_at = (SELECT max(created_at) FROM api_keys)',
    );
    await stream.ended;
    const use = () => service.as(out.trim())('GET', '/v1/sessions');
    // For three seconds the API remembers when the key expires.
    await eventually('the key is refused', async () => (await use()).status === 401);
    const expired = await use();
    const [{ id }] = (await listed()) as [{ id: string }];
    const other = (await run('create', '--project', 'demo')).out.trim();
    const [{ id: revoked }] = (await listed()) as [{ id: string }];
    await run('revoke', revoked);
    const refused = await service.as(other)('GET', '/v1/sessions');
    expect([expired.status, expired.body.error]).to.deep.equal([401, refused.body.error]);
    expect((await run('list')).out.split('\n').find((line) => line.startsWith(id))).to.match(/ {2}expired \S+$/);
  });

  it('npm run keys list shows the hour in which a key was last used, which costs no write for each request', async () => {
    const { out } = await run('create', '--project', 'used');
    const [{ id }] = (await listed()) as [{ id: string }];
    const client = service.as(out.trim());
    const key = async () => (await listed()).find((one) => one.id === id)!;
    const hour = () => `${new Date().toISOString().slice(0, 13)}:00:00.000000Z`;
    const hours = [hour()];
    await client('GET', '/v1/sessions');
    await eventually('the use shows', async () => (await key()).last_used_at !== null);
    hours.push(hour());
    const { last_used_at } = await key();
    expect(hours).to.include(last_used_at);
    const version = async () => (await service.db.query('SELECT xmin FROM api_keys WHERE id = $1', [id]))[0].xmin;
    // A use of an earlier hour is not brought back by later requests of this one: nothing is written.
    await service.db.query(`UPDATE api_keys SET last_used_at = last_used_at - interval '1 hour' WHERE id = $1`, [id]);
    const written = await version();
    for (let request = 0; request < 20; request += 1) await client('GET', '/v1/sessions');
    const { out: another } = await run('create', '--project', 'used');
    const [{ id: anotherId }] = (await listed()) as [{ id: string }];
    await service.as(another.trim())('GET', '/v1/sessions');
    await eventually('the use of another key shows', async () => {
      const found = (await listed()).find((one) => one.id === anotherId)!;
      return found.last_used_at !== null;
    });
    expect(await version()).to.equal(written);
  });

  it('npm run keys revoke holds within 5 s, also for a key that is in use', async () => {
    const { out } = await run('create', '--project', 'revoked');
    const client = service.as(out.trim());
    expect((await client('GET', '/v1/sessions')).status).to.equal(200);
    const [{ id }] = (await listed()) as [{ id: string }];
    expect(await run('revoke', id)).to.include({ code: 0, out: `revoked ${id}\n` });
    // The promise is 5 s; the rest is room for a busy machine.
    await eventually('the key is refused', async () => (await client('GET', '/v1/sessions')).status === 401, 15_000);
    const first = (await listed())[0]!.revoked_at;
    expect(first).to.match(/Z$/);
    expect((await run('revoke', id)).code).to.equal(0);
    expect((await listed())[0]).to.include({ id, revoked_at: first });
  });

  it('npm run keys show the schedules that a key created, also after it is revoked', async () => {
    const { out: key } = await run('create', '--project', 'scheduling');
    const [{ id }] = (await listed()) as [{ id: string }];
    const api = service.as(key.trim());
    const goesOn = await createSchedule(api, newSchedule({ name: 'Daily' }));
    const ended = await createSchedule(api, newSchedule());
    await service.db.query(`UPDATE schedules SET state = 'ended', next_run_at = NULL WHERE id = $1`, [ended.id]);
    await run('revoke', id);
    const { code, out } = await run('schedules', id);
    expect(code).to.equal(0);
    expect(out).to.match(new RegExp(`^${goesOn.id}  active  0 8 \\* \\* \\*  next \\S+  Daily\n$`));
    expect((await run('list')).out.split('\n')[0]).to.contain('  1 schedule  revoked ');
    expect((await run('schedules', 'key_none')).code).to.equal(1);
  });

  it('npm run keys list shows the state of each key as text; as JSON it has the fields of the contract', async () => {
    await run('create', '--project', 'ending');
    const [{ id }] = (await listed()) as [{ id: string }];
    const line = async (): Promise<string> => (await run('list')).out.split('\n')[0]!;
    expect(await line()).to.match(/ {2}live$/);
    await run('expire', id, '--at', '2999-01-01T00:00:00Z');
    expect(await line()).to.match(/ {2}live, expires 2999-01-01\S+$/);
    await run('expire', id, '--at', '2020-01-01T00:00:00Z');
    expect(await line()).to.match(/ {2}expired 2020-01-01\S+$/);
    expect((await listed())[0]).to.have.all.keys(...FIELDS);
  });

  it('npm run keys revoke of a key that does not exist fails', async () => {
    const { code, err } = await run('revoke', 'key_none');
    expect(code).to.equal(1);
    expect(err).to.contain('key_none');
  });

  const wrong: string[][] = [
    [],
    ['destroy'],
    ['create'],
    ['create', '--project', ' '],
    ['create', '--project', 'a\0b'],
    ['create', '--project', 'p', '--scopes', 'sessions:admin'],
    ['create', '--project', 'p', '--scopes', ''],
    ['create', '--project', 'p', '--max-running-turns', '0'],
    ['create', '--project', 'p', '--max-running-turns', '1.5'],
    ['create', '--project', 'p', '--other'],
    ['create', 'p'],
    ['create', '--project', 'p', '--name', ' '],
    ['create', '--project', 'p', '--name', 'x'.repeat(256)],
    ['create', '--project', 'p', '--expires-in-days', '0'],
    ['create', '--project', 'p', '--expires-in-days', '-1'],
    ['create', '--project', 'p', '--expires-in-days', 'soon'],
    ['create', '--project', 'p', '--expires-in-days', '36501'],
    ['limit', '--rate-per-minute', '5'],
    ['limit', '--project', 'p'],
    ['limit', '--project', 'p', '--rate-per-minute', '-1'],
    ['limit', '--project', 'p', '--rate-per-minute', '1.5'],
    ['list', 'x'],
    ['revoke'],
    ['revoke', 'a', 'b'],
  ];
  for (const args of wrong) {
    it(`npm run keys refuses the arguments ${JSON.stringify(args)}`, async () => {
      const error = await runKeys(args, service.config.databaseUrl).catch((thrown: unknown) => thrown);
      expect(error).to.be.instanceOf(UsageError);
    });
  }
});
