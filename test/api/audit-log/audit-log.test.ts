import { expect } from 'chai';
import { pageOfEntries, type AuditFilter } from '../../../src/audit/list.js';
import { createAuditPartitions, dropOldAuditPartitions } from '../../../src/audit/partitions.js';
import { writeEntry } from '../../../src/audit/write.js';
import { transaction } from '../../../src/db/transaction.js';
import { makeKey } from '../../../src/projects/keys-of-project.js';
import { purgeSessions } from '../../../src/sessions/purge.js';
import { breakingAtCommit } from '../../support/breaking-commit.js';
import { failureOf } from '../../support/failure.js';
import { insertWaitingTurn } from '../../support/factories.js';
import { allItems } from '../../support/pages.js';
import { keyIdOf, newToken, signToken } from '../../support/tokens.js';
import { useDatabase, usePool, useService } from '../../support/use.js';
import { confirmation } from '../../support/waiting-turns.js';

// oxlint-disable-next-line typescript/no-explicit-any -- tests look into entries of many operations
type Shown = any;

/** decisions.md "Keys, approvers, audit log". */
describe('the audit log', () => {
  const service = useService();
  const listed = async (query = '', api = service.api): Promise<Shown[]> =>
    allItems(api, `/v1/audit-log?limit=7${query}`);
  const session = async (): Promise<string> =>
    (await service.api('POST', '/v1/sessions', { model_id: 'test-model' })).body.id as string;

  it('the audit log is filtered by each of its fields, and by all of them together', async () => {
    const key = await service.newKey({ name: 'auditor' });
    const api = service.as(key);
    const made = await api('POST', '/v1/keys', { name: 'a', scopes: ['files:read'] }, { 'X-Actor': 'ada' });
    await api('PATCH', `/v1/keys/${made.body.id}`, { name: 'b' }, { 'X-Actor': 'bob' });
    await service.as(made.body.key as string)('DELETE', `/v1/keys/${made.body.id}`);
    const all = await listed();
    const key_id = await keyIdOf(service.db, key);
    const own = all.filter((entry) => entry.key_id === key_id);
    expect(own.map(({ action, actor }) => [action, actor])).to.deep.equal([
      ['updateKey', 'bob'],
      ['createKey', 'ada'],
    ]);
    const at = own[0].created_at as string;
    for (const [query, matches] of [
      ['action=updateKey', ({ action }: Shown) => action === 'updateKey'],
      [`key_id=${key_id}`, (entry: Shown) => entry.key_id === key_id],
      ['actor=ada', ({ actor }: Shown) => actor === 'ada'],
      [`resource_id=${made.body.id}`, ({ resource }: Shown) => resource?.id === made.body.id],
      ['outcome=refused', ({ outcome }: Shown) => outcome === 'refused'],
      [`from=${at}`, ({ created_at }: Shown) => created_at >= at],
      [`to=${at}`, ({ created_at }: Shown) => created_at < at],
      [`outcome=ok&actor=bob&from=${at}`, ({ actor, created_at }: Shown) => actor === 'bob' && created_at >= at],
    ] as const) {
      expect(await listed(`&${query}`), query).to.deep.equal(all.filter(matches));
      expect(all.filter(matches), query).to.not.deep.equal([]);
    }
    expect(await listed('&resource_id=key_none')).to.deep.equal([]);
  });

  it('the audit log refuses filters that mean nothing, and cursors of other filters', async () => {
    for (const [query, path] of [
      ['outcome=maybe', '/query/outcome'],
      ['from=yesterday', '/query/from'],
      ['to=2026-02-30T00:00:00Z', '/query/to'],
      ['from=2026-02-02T00:00:00Z&to=2026-02-01T00:00:00Z', '/query/from'],
    ]) {
      const { status, body } = await service.api('GET', `/v1/audit-log?${query}`);
      expect([status, body.error?.details?.errors?.[0].path], query).to.deep.equal([422, path]);
    }
    const { body } = await service.api('GET', '/v1/audit-log?limit=1');
    const other = await service.api('GET', `/v1/audit-log?actor=ada&cursor=${body.meta.next_cursor}`);
    expect([other.status, other.body.error.type]).to.deep.equal([422, 'invalid_cursor']);
  });

  it('the audit log shows a project its own entries, and keeps those of keys that are revoked', async () => {
    const key = await service.newKey({ project: 'watched', name: 'old' });
    const id = await keyIdOf(service.db, key);
    await service.as(key)('PATCH', `/v1/keys/${id}`, { name: 'new' });
    await service.as(key)('DELETE', `/v1/keys/${id}`);
    const api = service.as(await service.newKey({ project: 'watched' }));
    const entries = await listed('', api);
    expect(entries.map(({ action, key_name, source }) => [action, key_name, source])).to.deep.equal([
      ['createKey', null, 'command'],
      ['revokeKey', 'new', 'key'],
      ['updateKey', 'new', 'key'],
      ['createKey', null, 'command'],
    ]);
    const ids = new Set((await listed()).map((entry) => entry.id as string));
    expect(entries.some((entry) => ids.has(entry.id as string))).to.equal(false);
  });

  it('the audit log has for a token its key, its actor and its source, and ignores the header of its request', async () => {
    const id = await session();
    await insertWaitingTurn(service.db, id);
    const token = await newToken(service, id, { scopes: ['answer'], actor: 'Zoë' });
    const events = [confirmation('toolu_1', 'allow')];
    const headers = { 'X-Actor': '\t'.repeat(200) };
    const answer = await service.as(token)('POST', `/v1/sessions/${id}/events`, { events }, headers);
    expect([answer.status, answer.body.items?.[0].actor], JSON.stringify(answer.body)).to.deep.equal([201, 'Zoë']);
    const [entry] = await listed(`&resource_id=${id}`);
    expect(entry).to.deep.include({ source: 'token', actor: 'Zoë', session_id: id, action: 'sendAnswers' });
    expect(entry.key_id).to.equal(await keyIdOf(service.db, service.key));
  });

  it('the audit log prefers the actor of an answer to that of the header, which changes no event', async () => {
    for (const [given, expected] of [
      [undefined, 'ada'],
      ['Grace', 'Grace'],
    ]) {
      const id = await session();
      await insertWaitingTurn(service.db, id);
      const events = [{ ...confirmation('toolu_1', 'deny'), ...(given && { actor: given }) }];
      const { body } = await service.api('POST', `/v1/sessions/${id}/events`, { events }, { 'X-Actor': 'ada' });
      expect(body.items[0].actor).to.equal(given ?? null);
      expect((await listed(`&resource_id=${id}`))[0].actor).to.equal(expected);
    }
  });

  it('the audit log has what a key was refused, at most 100 times in an hour, and nothing that tokens were', async () => {
    const key = await service.newKey({ scopes: ['sessions:read'] });
    const api = service.as(key);
    const key_id = await keyIdOf(service.db, key);
    const id = await session();
    const token = service.as(await signToken(service, id, { scopes: ['read'] }));
    expect((await token('POST', `/v1/sessions/${id}/events`, {})).status).to.equal(403);
    // Operations that are not recorded.
    expect((await api('POST', '/v1/sessions', {})).status).to.equal(403);
    expect((await api('GET', '/v1/skills')).status).to.equal(403);
    expect(await listed(`&outcome=refused&key_id=${key_id}`)).to.deep.equal([]);
    const refused = await Promise.all(
      Array.from({ length: 130 }, () => api('DELETE', '/v1/skills/skill_1', undefined, { 'X-Actor': 'eve' })),
    );
    expect(refused.map(({ status }) => status)).to.deep.equal(Array(130).fill(403));
    const entries = await listed(`&outcome=refused&key_id=${key_id}`);
    expect(entries).to.have.length(100);
    const details = entries.map((entry) => entry.details as object);
    expect(details.filter((one) => 'more' in one)).to.deep.equal([{ required: 'skills:write', more: true }]);
    expect(entries.at(-1)).to.deep.include({
      action: 'deleteSkill',
      actor: 'eve',
      source: 'key',
      resource: { type: 'skill', id: 'skill_1' },
      details: { required: 'skills:write' },
    });
    // An hour later, another process.
    await service.db.query(`UPDATE audit_refusals SET since = since - interval '1 hour'`);
    const other = await service.anotherApi();
    await fetch(`${other.url}/v1/skills/skill_1`, { method: 'DELETE', headers: { Authorization: `Bearer ${key}` } });
    await other.close();
    expect(await listed(`&outcome=refused&key_id=${key_id}`)).to.have.length(101);
  });

  it('the audit log says which groups a refused key lacked, and takes no text of a request for an id', async () => {
    const key = await service.newKey({ scopes: ['keys:write', 'sessions:write'] });
    const api = service.as(key);
    await api('POST', '/v1/keys', { name: 'a', scopes: ['keys:write'], approver_groups: ['finance'] });
    await api('DELETE', `/v1/skills/${encodeURIComponent('<b>a secret</b>')}`);
    const entries = await listed(`&outcome=refused&key_id=${await keyIdOf(service.db, key)}`);
    expect(entries.map(({ action, resource, details }) => ({ action, resource, details }))).to.deep.equal([
      { action: 'deleteSkill', resource: null, details: { required: 'skills:write' } },
      { action: 'createKey', resource: null, details: { approver_groups: ['finance'] } },
    ]);
  });

  it('the audit log has no secret and no content', async () => {
    const { body } = await service.api('POST', '/v1/keys', { name: 'a', scopes: ['files:read'] });
    const text = JSON.stringify(await listed());
    expect(text).to.not.include(body.key).and.not.include(service.key);
    expect(text).to.not.match(/ask_|sst_|whsec_|secret/);
  });

  it('the audit log keeps its entries when what they are about is purged', async () => {
    const id = await session();
    await service.api('DELETE', `/v1/sessions/${id}`);
    await service.db.query(`UPDATE sessions SET deleted_at = deleted_at - interval '2 hours' WHERE id = $1`, [id]);
    await purgeSessions(service.db, 100);
    expect(await service.db.query('SELECT FROM sessions WHERE id = $1', [id])).to.deep.equal([]);
    expect((await listed(`&resource_id=${id}`)).map(({ action }) => action as string)).to.deep.equal(['deleteSession']);
  });

  it('the audit log has the entry of a change whose commit was in doubt: the connection broke after it', async () => {
    const [{ id: projectId }] = await service.db.query<[{ id: string }]>(`SELECT id FROM projects WHERE name = 'demo'`);
    const keyId = await keyIdOf(service.db, service.key);
    for (const isCommitted of [true, false]) {
      let made = '';
      await failureOf(
        transaction(breakingAtCommit(service.db, isCommitted), async (tx) => {
          const wanted = { name: 'doubt', scopes: ['files:read'] as const, approver_groups: [], expires_at: undefined };
          made = (await makeKey(tx, { projectId, keyId }, wanted)).row.id;
          const sender = { source: 'key', keyId, actor: null } as const;
          const about = { projectId, action: 'createKey', resource: { type: 'key', id: made } };
          writeEntry(tx, { ...sender, ...about, sessionId: null, details: {}, requestId: null });
        }),
      );
      const there = (await service.api('GET', `/v1/keys/${made}`)).status === 200;
      expect([there, (await listed(`&resource_id=${made}`)).length]).to.deep.equal([isCommitted, isCommitted ? 1 : 0]);
    }
  });

  it('the audit log takes no change and no deletion, also not from SQL', async () => {
    for (const statement of ['DELETE FROM audit_log', `UPDATE audit_log SET actor = 'nobody'`]) {
      const { message } = await failureOf(service.db.query(statement));
      expect(message).to.include('cannot be changed or deleted');
    }
  });
});

describe('the months of the audit log', () => {
  const database = useDatabase();
  const db = usePool(database, 2);
  const partitions = async (): Promise<string[]> => {
    const rows = await db.query<{ name: string }[]>(
      `SELECT inhrelid::regclass::text AS name FROM pg_inherits WHERE inhparent = 'audit_log'::regclass ORDER BY 1`,
    );
    return rows.map(({ name }) => name);
  };
  const nameOf = (months: number): string => {
    const now = new Date();
    const month = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + months));
    return `audit_log_${month.toISOString().slice(0, 7).replace('-', '')}`;
  };
  const write = (id: string): Promise<unknown> =>
    db.query(
      `SELECT write_audit_entry($1, 'proj_1', 'createKey', 'ok', 'command', NULL, NULL, NULL, NULL, NULL, '{}', NULL)`,
      [id],
    );

  it('the months of the audit log are created by the first entry, once, and ahead by maintenance', async () => {
    expect(await partitions()).to.deep.equal([]);
    await Promise.all(['aud_1', 'aud_2'].map(write));
    expect(await partitions()).to.deep.equal([nameOf(0)]);
    await Promise.all([createAuditPartitions(db), createAuditPartitions(db)]);
    expect(await partitions()).to.deep.equal([0, 1, 2].map(nameOf));
    expect(await db.query('SELECT id FROM audit_log ORDER BY id')).to.deep.equal([{ id: 'aud_1' }, { id: 'aud_2' }]);
  });

  it('the months of the audit log are dropped when their last day is old enough, also one that was left detached', async () => {
    for (const months of [-14, -13, -12, -2]) {
      await db.query(`SELECT ensure_audit_partition(now() + $1 * interval '1 month')`, [months]);
    }
    const before = await partitions();
    await db.query(`ALTER TABLE audit_log DETACH PARTITION ${nameOf(-14)}`);
    expect(await dropOldAuditPartitions(db, 365)).to.be.within(1, 2);
    const left = await partitions();
    expect(left)
      .to.include.members([nameOf(-2), nameOf(0)])
      .and.not.include(nameOf(-14));
    expect(before).to.include(nameOf(-14));
    // A month whose last day is 31 days ago has entries that are younger than that.
    expect(await dropOldAuditPartitions(db, 20)).to.be.greaterThan(0);
    expect(await partitions())
      .to.include(nameOf(0))
      .and.not.include(nameOf(-2));
    expect(await db.query(`SELECT to_regclass('${nameOf(-14)}') AS gone`)).to.deep.equal([{ gone: null }]);
    expect(await dropOldAuditPartitions(db, 20)).to.equal(0);
  });

  it('a page of the audit log reads by the index of its filter, newest month first, and no more than it shows', async () => {
    for (const months of [-1, 0])
      await db.query(`SELECT ensure_audit_partition(now() + $1 * interval '1 month')`, [months]);
    const filters: [AuditFilter, string][] = [
      [{}, 'project_id_created_at'],
      [{ action: 'createKey' }, 'project_id_action'],
      [{ key_id: 'key_1' }, 'project_id_key_id'],
      [{ actor: 'ada' }, 'project_id_actor'],
      [{ resource_id: 'skill_1' }, 'project_id_resource_id'],
      [{ outcome: 'refused' }, 'project_id_outcome'],
    ];
    for (const [filter, index] of filters) {
      const after = ['2026-11-21T09:48:03.123456Z', 'aud_1'];
      for (const page of [null, after]) {
        const { text, values } = pageOfEntries('proj_1', filter, { limit: 20, after: page });
        const plan = JSON.stringify(await db.query(`EXPLAIN (FORMAT JSON) ${text}`, values));
        expect(plan, plan).to.include(index).and.not.include('"Sort"').and.not.include('Seq Scan');
        expect(plan).to.include('"Node Type":"Append"').and.include('Backward');
      }
    }
  });
});
