import { expect } from 'chai';
import { transaction } from '../../../src/db/transaction.js';
import { ALL_SCOPES, SCOPES } from '../../../src/projects/permissions.js';
import { makeKey, revokeKeyAs } from '../../../src/projects/keys-of-project.js';
import type { ApiCall, ApiResponse } from '../../support/client.js';
import { eventually } from '../../support/eventually.js';
import { failureOf } from '../../support/failure.js';
import { reached, reachedLimit } from '../../support/rows.js';
import { openSse } from '../../support/sse-reader.js';
import { keyIdOf } from '../../support/tokens.js';
import { useService } from '../../support/use.js';

const FIELDS = [
  ...['id', 'name', 'scopes', 'approver_groups', 'created_by'],
  ...['created_at', 'expires_at', 'revoked_at', 'last_used_at'],
];
const DAY_MS = 86_400_000;
const inDays = (days: number): string => new Date(Date.now() + days * DAY_MS).toISOString();

// oxlint-disable-next-line typescript/no-explicit-any -- tests look into fields of many types
type Shown = Record<string, any>;

/** decisions.md "Keys, approvers, audit log". */
describe('keys over HTTP', () => {
  const service = useService();
  const made = async (api: ApiCall, body: object): Promise<Shown> => {
    const answer = await api('POST', '/v1/keys', body);
    expect(answer.status, JSON.stringify(answer.body)).to.equal(201);
    return answer.body as Shown;
  };
  const outcomeOf = ({ status, body }: ApiResponse): unknown[] => [status, body?.error?.type, body?.error?.details];
  const pathOf = ({ body }: ApiResponse): string => body.error.details.errors[0].path as string;

  it('a new key shows its secret once, and works', async () => {
    const { key, ...shown } = await made(service.api, { name: 'desk', scopes: ['sessions:read', 'files:read'] });
    expect(key).to.match(/^ask_[A-Za-z0-9_-]{43}$/);
    expect(shown).to.have.all.keys(FIELDS);
    expect(shown).to.deep.include({
      name: 'desk',
      scopes: ['sessions:read', 'files:read'],
      approver_groups: [],
      created_by: await keyIdOf(service.db, service.key),
      expires_at: null,
      revoked_at: null,
      last_used_at: null,
    });
    expect((await service.as(key as string)('GET', '/v1/sessions')).status).to.equal(200);
    const { body } = await service.api('GET', `/v1/keys/${shown.id}`);
    expect({ ...body, last_used_at: null }).to.deep.equal(shown);
    const { body: page } = await service.api('GET', '/v1/keys?limit=1');
    expect(page.items[0].id).to.equal(shown.id);
    expect(JSON.stringify(page)).to.not.include(key);
  });

  it('a new key has a name, known scopes and groups, and ends in the future', async () => {
    const valid = { name: 'desk', scopes: ['sessions:read'] };
    const wrong: [object, string][] = [
      [{ scopes: ['sessions:read'] }, '/name'],
      [{ ...valid, name: '' }, '/name'],
      [{ ...valid, name: 'x'.repeat(256) }, '/name'],
      [{ name: 'desk' }, '/scopes'],
      [{ ...valid, scopes: [] }, '/scopes'],
      [{ ...valid, scopes: ['sessions:read', 'sessions:read'] }, '/scopes'],
      [{ ...valid, scopes: ['all'] }, '/scopes/0'],
      [{ ...valid, approver_groups: ['*'] }, '/approver_groups/0'],
      [{ ...valid, approver_groups: ['Finance'] }, '/approver_groups/0'],
      [{ ...valid, approver_groups: ['a--b'] }, '/approver_groups/0'],
      [{ ...valid, approver_groups: ['a'.repeat(65)] }, '/approver_groups/0'],
      [{ ...valid, approver_groups: ['a', 'a'] }, '/approver_groups'],
      [{ ...valid, approver_groups: Array.from({ length: 21 }, (_, n) => `g${n}`) }, '/approver_groups'],
      [{ ...valid, expires_at: null }, '/expires_at'],
      [{ ...valid, expires_at: 'tomorrow' }, '/expires_at'],
      [{ ...valid, expires_at: '2027-02-30T00:00:00Z' }, '/expires_at'],
      [{ ...valid, expires_at: inDays(-1) }, '/expires_at'],
    ];
    for (const [body, path] of wrong) {
      const answer = await service.api('POST', '/v1/keys', body);
      expect([answer.status, answer.status === 422 && pathOf(answer)], JSON.stringify(body)).to.deep.equal([422, path]);
    }
    await made(service.api, { ...valid, name: '🦆'.repeat(255) });
    reachedLimit('key name: 255 characters');
    const every = service.as(await service.newKey({ approverGroups: ['*'] }));
    const groups = Array.from({ length: 20 }, (_, n) => `${'a'.repeat(61)}-${n % 10}${n < 10 ? '' : 'b'}`.slice(-64));
    expect((await made(every, { ...valid, approver_groups: groups })).approver_groups).to.deep.equal(groups);
    reachedLimit('approver groups of a key: 20');
  });

  it('a key gives at most the scopes, groups and lifetime that it has', async () => {
    const end = inDays(10);
    const own = await made(service.as(await service.newKey({ approverGroups: ['finance', 'legal'] })), {
      name: 'own',
      scopes: ['keys:write', 'sessions:read'],
      approver_groups: ['finance'],
      expires_at: end,
    });
    const api = service.as(own.key as string);
    const valid = { name: 'child', scopes: ['sessions:read'] };
    expect(
      outcomeOf(await api('POST', '/v1/keys', { ...valid, scopes: ['sessions:read', 'files:read', 'skills:read'] })),
    ).to.deep.equal([403, 'insufficient_scope', { required: 'files:read' }]);
    expect(outcomeOf(await api('POST', '/v1/keys', { ...valid, approver_groups: ['finance', 'legal'] }))).to.deep.equal(
      [403, 'not_an_approver', { approver_groups: ['legal'] }],
    );
    const later = await api('POST', '/v1/keys', { ...valid, expires_at: inDays(11) });
    expect([later.status, pathOf(later)]).to.deep.equal([422, '/expires_at']);
    const child = await made(api, { ...valid, approver_groups: ['finance'] });
    expect(child.expires_at).to.equal(own.expires_at);
    expect(Date.parse(own.expires_at as string)).to.equal(Date.parse(end));
    expect((await made(api, { ...valid, expires_at: inDays(9) })).expires_at).to.not.equal(own.expires_at);
  });

  it('a key is changed in its name and groups, and gets only groups of the key that changes it', async () => {
    const finance = service.as(await service.newKey({ approverGroups: ['finance'] }));
    const every = service.as(await service.newKey({ approverGroups: ['*'] }));
    const { id } = await made(every, { name: 'a', scopes: ['sessions:read'], approver_groups: ['legal'] });
    const patch = (api: ApiCall, body: object): Promise<ApiResponse> => api('PATCH', `/v1/keys/${id}`, body);
    expect(outcomeOf(await patch(service.api, { approver_groups: ['legal', 'finance'] }))).to.deep.equal([
      ...[403, 'not_an_approver', { approver_groups: ['finance'] }],
    ]);
    const both = await patch(finance, { name: 'b', approver_groups: ['legal', 'finance'] });
    expect(both.body).to.deep.include({ name: 'b', approver_groups: ['legal', 'finance'] });
    expect((await patch(service.api, { approver_groups: [] })).body).to.deep.include({
      name: 'b',
      approver_groups: [],
    });
    expect((await patch(service.api, {})).status).to.equal(200);
    expect((await patch(every, { approver_groups: ['*'] })).status).to.equal(422);
    for (const field of ['scopes', 'expires_at', 'revoked_at']) {
      const answer = await patch(every, { [field]: null });
      expect([answer.status, pathOf(answer)]).to.deep.equal([422, `/${field}`]);
    }
    // A key with every group has each: to keep one of them is to take the others away.
    const all = await service.newKey({ approverGroups: ['*'] });
    const taken = await service.api('PATCH', `/v1/keys/${await keyIdOf(service.db, all)}`, { approver_groups: ['x'] });
    expect([taken.status, taken.body.approver_groups]).to.deep.equal([200, ['x']]);
  });

  it('a revoked key is refused within 5 s, its streams end, and a second revocation changes nothing', async () => {
    const { id, key } = await made(service.api, { name: 'a', scopes: ['sessions:read'] });
    const { body: session } = await service.api('POST', '/v1/sessions', { model_id: 'test-model' });
    const stream = await openSse(`${service.url}/v1/sessions/${session.id}/events/stream`, key as string);
    expect((await service.api('DELETE', `/v1/keys/${id}`)).status).to.equal(204);
    const { body: first } = await service.api('GET', `/v1/keys/${id}`);
    expect(first.revoked_at).to.not.equal(null);
    await eventually(
      'the key is refused',
      async () => (await service.as(key as string)('GET', '/v1/models')).status === 401,
    );
    await stream.ended;
    expect((await service.api('DELETE', `/v1/keys/${id}`)).status).to.equal(204);
    expect((await service.api('GET', `/v1/keys/${id}`)).body.revoked_at).to.equal(first.revoked_at);
  });

  it('a revocation takes the keys that a key made, and theirs, if asked, also later', async () => {
    const scopes = ['keys:write', 'keys:read'];
    const parent = await made(service.api, { name: 'parent', scopes });
    const child = await made(service.as(parent.key as string), { name: 'child', scopes });
    const grandchild = await made(service.as(child.key as string), { name: 'grandchild', scopes });
    const revoked = async (): Promise<boolean[]> =>
      Promise.all(
        [parent, child, grandchild].map(
          async ({ id }) => (await service.api('GET', `/v1/keys/${id}`)).body.revoked_at !== null,
        ),
      );
    const wrong = await service.api('DELETE', `/v1/keys/${parent.id}?descendants=yes`);
    expect([wrong.status, pathOf(wrong)]).to.deep.equal([422, '/query/descendants']);
    // It may revoke itself.
    expect((await service.as(parent.key as string)('DELETE', `/v1/keys/${parent.id}`)).status).to.equal(204);
    expect(await revoked()).to.deep.equal([true, false, false]);
    await service.api('DELETE', `/v1/keys/${parent.id}?descendants=true`);
    expect(await revoked()).to.deep.equal([true, true, true]);
  });

  it('a key changes nothing from the 204 of its revocation on, while other processes still know it', async () => {
    const { id, key } = await made(service.api, { name: 'a', scopes: ['keys:write', 'sessions:read'] });
    const api = service.as(key as string);
    const other = await made(service.api, { name: 'b', scopes: ['sessions:read'] });
    expect((await api('GET', '/v1/models')).status).to.equal(200);
    await service.api('DELETE', `/v1/keys/${id}`);
    // The API remembers the key for three seconds: other operations still work.
    expect((await api('GET', '/v1/models')).status).to.equal(200);
    for (const answer of [
      await api('POST', '/v1/keys', { name: 'c', scopes: ['sessions:read'] }),
      await api('PATCH', `/v1/keys/${other.id}`, { name: 'c' }),
      await api('DELETE', `/v1/keys/${other.id}`),
    ]) {
      expect([answer.status, answer.body.error.type]).to.deep.equal([401, 'authentication_error']);
      expect(answer.headers.get('www-authenticate')).to.equal('Bearer');
    }
    expect((await service.api('GET', `/v1/keys/${other.id}`)).body).to.include({ name: 'b', revoked_at: null });
  });

  it('a revocation with descendants finds a key that one of them is making at this moment', async () => {
    const child = await made(service.api, { name: 'child', scopes: ['keys:write'] });
    const projectId = (await service.db.query<{ id: string }[]>(`SELECT id FROM projects WHERE name = 'demo'`))[0]!.id;
    const [own, childId] = [await keyIdOf(service.db, service.key), child.id as string];
    let isMade!: (id: string) => void;
    let mayCommit!: () => void;
    const waits = new Promise<void>((resolve) => (mayCommit = resolve));
    const newborn = new Promise<string>((resolve) => (isMade = resolve));
    const making = transaction(service.db, async (tx) => {
      const wanted = { name: 'x', scopes: ['keys:write'] as const, approver_groups: [], expires_at: undefined };
      isMade((await makeKey(tx, { projectId, keyId: childId }, wanted)).row.id);
      await waits;
    });
    const id = await newborn;
    const revoking = transaction(service.db, (tx) => revokeKeyAs(tx, { projectId, keyId: own }, childId, true));
    await eventually('the revocation waits', async () => {
      const rows = await service.db.query<unknown[]>(
        `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
      );
      return rows.length > 0;
    });
    mayCommit();
    await Promise.all([making, revoking]);
    expect((await service.api('GET', `/v1/keys/${id}`)).body.revoked_at).to.not.equal(null);
  });

  it('a project has at most 1,000 keys that can be used', async () => {
    const key = await service.newKey({ project: 'full' });
    const [{ id }] = await service.db.query<[{ id: string }]>(`SELECT id FROM projects WHERE name = 'full'`);
    await service.db.query(
      `INSERT INTO api_keys (id, project_id, key_hash, scopes, revoked_at, expires_at)
       SELECT 'key_' || n, $1, sha256(n::text::bytea), '{}', CASE WHEN n > 998 AND n <= 1100 THEN now() END, CASE WHEN n > 1100 THEN now() END
       FROM generate_series(1, 1200) AS n`,
      [id],
    );
    const api = service.as(key);
    const last = await made(api, { name: 'last', scopes: ['sessions:read'] });
    const answer = await api('POST', '/v1/keys', { name: 'one more', scopes: ['sessions:read'] });
    expect([answer.status, answer.body.error.type]).to.deep.equal([409, 'key_limit_reached']);
    const { message } = await failureOf(service.newKey({ project: 'full' }));
    expect(message).to.include('1000 keys');
    await api('DELETE', `/v1/keys/${last.id}`);
    await made(api, { name: 'again', scopes: ['sessions:read'] });
    reachedLimit('keys of a project: 1,000 that can be used');
  });

  it('keys with each scope alone give themselves and others nothing more', async () => {
    const every = service.as(await service.newKey({ approverGroups: ['*'] }));
    const target = await made(every, { name: 'target', scopes: ['sessions:read'] });
    const { body: session } = await service.api('POST', '/v1/sessions', { model_id: 'test-model' });
    const before = await service.db.query('SELECT id, scopes, approver_groups, expires_at FROM api_keys ORDER BY id');
    for (const scope of SCOPES) {
      const key = await service.newKey({ scopes: [scope] });
      const own = await keyIdOf(service.db, key);
      const api = service.as(key);
      const attempts = [
        ...SCOPES.filter((other) => other !== scope).map((other) =>
          api('POST', '/v1/keys', { name: 'more', scopes: [scope, other] }),
        ),
        api('POST', '/v1/keys', { name: 'more', scopes: [scope], approver_groups: ['finance'] }),
        ...[own, target.id].map((id) => api('PATCH', `/v1/keys/${id}`, { approver_groups: ['finance'] })),
        api('POST', `/v1/sessions/${session.id}/tokens`, { scopes: ['read', 'files'] }),
        api('POST', `/v1/sessions/${session.id}/tokens`, { scopes: ['answer'], approver_groups: ['finance'] }),
        api('POST', '/v1/schedules', {
          at: inDays(1),
          target: { type: 'new_session', session: { model_id: 'test-model', mcp_servers: ['mcp_1'] } },
          message: { content: 'x', skills: ['skill_1'], files: ['file_1'] },
        }),
      ];
      for (const answer of await Promise.all(attempts)) {
        expect([answer.status, answer.body?.error?.type], `${scope}: ${JSON.stringify(answer.body)}`).to.be.deep.oneOf([
          [403, 'insufficient_scope'],
          [403, 'not_an_approver'],
        ]);
      }
      // What it may give is what it has: a key that makes keys makes such ones.
      const twin = await api('POST', '/v1/keys', { name: 'twin', scopes: [scope] });
      expect(twin.status).to.equal(scope === 'keys:write' ? 201 : 403);
    }
    const after = await service.db.query<{ id: string }[]>(
      'SELECT id, scopes, approver_groups, expires_at FROM api_keys WHERE id = ANY($1) ORDER BY id',
      [before.map(({ id }: { id: string }) => id)],
    );
    expect(after).to.deep.equal(before);
    expect(ALL_SCOPES).to.not.include('keys:write');
  });

  it('keys of another project are not found, and no operation takes them', async () => {
    const { id } = await made(service.api, { name: 'a', scopes: ['sessions:read'] });
    const stranger = service.as(await service.newKey({ project: 'strangers' }));
    for (const method of ['GET', 'PATCH', 'DELETE']) {
      const answer = await stranger(method, `/v1/keys/${id}`, method === 'PATCH' ? { name: 'x' } : undefined);
      expect([answer.status, answer.body.error.type]).to.deep.equal([404, 'key_not_found']);
    }
    reached('revokeKey does not see other projects');
  });
});
