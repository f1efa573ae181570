import { expect } from 'chai';
import { randomUUID } from 'node:crypto';
import {
  beginIdempotent,
  releaseClaim,
  renewClaim,
  storeAnswer,
  type RequestClaim,
} from '../../../src/projects/idempotency.js';
import { expireSessions, purgeSessions } from '../../../src/sessions/purge.js';
import { useService } from '../../support/use.js';

describe('Idempotency-Key (decisions.md "HTTP")', () => {
  const service = useService({ config: { rateLimitPerMinute: 1000 } });

  const post = (key: string, body: unknown = { model_id: 'test-model' }, api = service.api) =>
    api('POST', '/v1/sessions', body, { 'Idempotency-Key': key });
  const sessions = async (): Promise<number> => {
    const [row] = await service.db.query<{ n: number }[]>('SELECT count(*)::integer AS n FROM sessions');
    return row!.n;
  };

  it('Idempotency-Key gives the first answer again, for the same content however it is written', async () => {
    const key = randomUUID();
    const first = await post(key, '{"model_id":"test-model","metadata":{"a":"1","b":"2"}}');
    const before = await sessions();
    const again = await post(key, '{ "metadata": {"b":"2", "a":"1"}, "model_id": "test-model" }');
    expect(first.status).to.equal(201);
    expect(first.headers.get('idempotency-replayed')).to.equal(null);
    expect(again.status).to.equal(201);
    expect(again.headers.get('idempotency-replayed')).to.equal('true');
    expect(again.body).to.deep.equal(first.body);
    expect(await sessions()).to.equal(before);
  });

  it('Idempotency-Key does not replay an answer to a key that lacks a permission for what the body names', async () => {
    const file = new FormData();
    file.set('file', new Blob(['text']), 'a.txt');
    const { body: uploaded } = await service.api('POST', '/v1/files', file);
    const { body: session } = await service.api('POST', '/v1/sessions', { model_id: 'test-model' });
    const message = { content: 'Read it', files: [uploaded.id] };
    const send = (api: typeof service.api) =>
      api('POST', `/v1/sessions/${session.id}/messages`, message, { 'Idempotency-Key': 'with-a-file' });
    expect((await send(service.api)).status).to.equal(201);
    const { status, body, headers } = await send(service.as(await service.newKey({ scopes: ['sessions:write'] })));
    expect([status, body.error.type, body.error.details]).to.deep.equal([
      403,
      'insufficient_scope',
      { required: 'files:read' },
    ]);
    expect(headers.get('idempotency-replayed')).to.equal(null);
    expect((await send(service.api)).headers.get('idempotency-replayed')).to.equal('true');
  });

  it('Idempotency-Key makes one session of many parallel posts', async () => {
    const key = randomUUID();
    const before = await sessions();
    const answers = await Promise.all(Array.from({ length: 20 }, () => post(key)));
    expect(await sessions()).to.equal(before + 1);
    for (const { status, headers, body } of answers) {
      expect(status).to.be.oneOf([201, 409]);
      if (status === 409) {
        expect(body.error.type).to.equal('idempotency_key_in_use');
        expect(headers.get('x-should-retry')).to.equal('true');
        expect(headers.get('retry-after')).to.equal('1');
      }
    }
    expect(new Set(answers.filter(({ status }) => status === 201).map(({ body }) => body.id))).to.have.property(
      'size',
      1,
    );
  });

  it('Idempotency-Key keeps no other answer than a success', async () => {
    const key = randomUUID();
    expect((await post(key, { model_id: 'other' })).status).to.equal(422);
    expect((await post(key)).status).to.equal(201);
  });

  it('Idempotency-Key is looked up after permission, rate limit and body', async () => {
    const key = randomUUID();
    const first = await post(key);
    const reader = service.as(await service.newKey({ scopes: ['sessions:read'] }));
    expect((await post(key, undefined, reader)).status).to.equal(403);
    expect((await post(key, {})).body.error.type).to.equal('validation_error');
    const replayed = await post(key);
    expect(Number(replayed.headers.get('ratelimit-remaining'))).to.be.lessThan(
      Number(first.headers.get('ratelimit-remaining')),
    );
  });

  it('Idempotency-Key is of its project and path', async () => {
    const key = randomUUID();
    const mine = await post(key);
    const other = service.as(await service.newKey({ project: 'other' }));
    const theirs = await post(key, undefined, other);
    expect(theirs.status).to.equal(201);
    expect(theirs.body.id).to.not.equal(mine.body.id);
  });

  it('Idempotency-Key must be 1 to 255 printable ASCII characters', async () => {
    for (const key of ['', 'a'.repeat(256), 'é', 'a\tb']) {
      const { status, body } = await post(key);
      expect(`${status} ${body.error?.type}`, key).to.equal('400 bad_request');
    }
    expect((await post(' ~'.repeat(60).trim())).status).to.equal(201);
    expect((await post('k'.repeat(255))).status).to.equal(201);
  });

  it('Idempotency-Key is ignored by operations that do not create', async () => {
    const { body: session } = await post(randomUUID());
    const headers = { 'Idempotency-Key': 'same' };
    expect((await service.api('DELETE', `/v1/sessions/${session.id}`, undefined, headers)).status).to.equal(204);
    expect((await service.api('DELETE', `/v1/sessions/${session.id}`, undefined, headers)).status).to.equal(404);
  });

  it('Idempotency-Key starts anew after 24 hours', async () => {
    const key = randomUUID();
    const first = await post(key);
    await service.db.query(
      "UPDATE idempotency_records SET created_at = now() - interval '24 hours 1 second' WHERE key = $1",
      [key],
    );
    const next = await post(key, { model_id: 'test-model', instruction: 'other' });
    expect(next.status).to.equal(201);
    expect(next.body.id).to.not.equal(first.body.id);
  });

  describe('the answers about a deleted resource', () => {
    const MARK = `mark-${randomUUID()}`;
    const once = (path: string, body: unknown, key: string) =>
      service.api('POST', path, body, { 'Idempotency-Key': key });
    const created = async (path: string, body: unknown, key: string = randomUUID()): Promise<string> => {
      const { status, body: made } = await once(path, body, key);
      expect(status, JSON.stringify(made)).to.be.oneOf([200, 201]);
      return made.id as string;
    };
    const form = (): FormData => {
      const file = new FormData();
      file.set('file', new Blob(['text']), `${MARK}.txt`);
      return file;
    };
    const marked = async (): Promise<string[]> =>
      (
        await service.db.query<{ path: string }[]>(
          'SELECT path FROM idempotency_records WHERE response::text LIKE $1',
          [`%${MARK}%`],
        )
      ).map(({ path }) => path);

    it('the answers to an Idempotency-Key are emptied with what they show, and a repeat makes nothing again', async () => {
      const session = { model_id: 'test-model', instruction: MARK };
      const schedule = {
        cron: '0 8 * * *',
        name: MARK,
        target: { type: 'new_session', session },
        message: { content: MARK },
      };
      const webhook = { url: `https://example.com/${MARK}`, event_types: ['turn.completed'] };
      for (const [path, body] of [
        ['/v1/sessions', session],
        ['/v1/files', form()],
        ['/v1/schedules', schedule],
        ['/v1/webhooks', webhook],
      ] as const) {
        const key = randomUUID();
        const id = await created(path, body, key);
        expect(await marked(), path).to.deep.equal([path]);
        expect((await service.api('DELETE', `${path}/${id}`)).status).to.equal(204);
        expect(await marked(), path).to.deep.equal([]);
        const again = await once(path, path === '/v1/files' ? form() : body, key);
        expect([again.status, again.body.error.type], path).to.deep.equal([422, 'idempotency_key_reused']);
        expect(again.body.error.message).to.match(/is deleted/);
      }
    });

    it('the answers to an Idempotency-Key below a session go with it, however the path is written, and those of a fork with the fork', async () => {
      const parent = await created('/v1/sessions', { model_id: 'test-model' });
      const written = `/v1/sessions/%${parent.charCodeAt(0).toString(16)}${parent.slice(1)}`;
      await created(`${written}/messages`, { content: MARK });
      expect((await service.api('POST', `/v1/sessions/${parent}/cancel`)).status).to.equal(200);
      const fork = await created(`/v1/sessions/${parent}/fork`, { metadata: { mark: MARK } });
      expect(await marked()).to.have.members([`${written}/messages`, `/v1/sessions/${parent}/fork`]);
      expect((await service.api('DELETE', `/v1/sessions/${parent}`)).status).to.equal(204);
      expect(await marked()).to.deep.equal([`/v1/sessions/${parent}/fork`]);
      expect((await service.api('DELETE', `/v1/sessions/${fork}`)).status).to.equal(204);
      expect(await marked()).to.deep.equal([]);
    });

    it('the answers to an Idempotency-Key go with a session that RETENTION_DAYS deletes, and its records with the purge', async () => {
      const id = await created('/v1/sessions', { model_id: 'test-model', instruction: MARK });
      await beginIdempotent(
        service.db,
        { projectId: 'proj', path: '/v1/x', key: MARK, resourceId: id },
        Buffer.alloc(32),
      );
      await service.db.query(`UPDATE sessions SET metadata_updated_at = now() - interval '40 days' WHERE id = $1`, [
        id,
      ]);
      expect(await expireSessions(service.db, 30, 1000)).to.equal(1);
      expect(await marked()).to.deep.equal([]);
      await service.db.query(`UPDATE sessions SET deleted_at = now() - interval '2 hours' WHERE id = $1`, [id]);
      await purgeSessions(service.db, 1000);
      const left = await service.db.query('SELECT key FROM idempotency_records WHERE resource_id = $1', [id]);
      expect(left, 'the request under way, too').to.deep.equal([]);
    });
  });

  describe('the claim of a key', () => {
    const hash = Buffer.alloc(32, 1);
    const begin = async () => {
      const key = { projectId: 'proj', path: '/v1/sessions', key: randomUUID(), resourceId: null };
      return { key, claim: (await beginIdempotent(service.db, key, hash)) as RequestClaim };
    };
    const expire = (claim: RequestClaim) =>
      service.db.query("UPDATE idempotency_records SET lease_until = now() - interval '1 second' WHERE key = $1", [
        claim.key,
      ]);
    const refusalOf = (work: Promise<unknown>): Promise<string> =>
      work.then(
        () => 'none',
        (error: { type: string }) => error.type,
      );

    it('the claim of an Idempotency-Key keeps others from the key until it ends, runs out or is released', async () => {
      const { key, claim } = await begin();
      expect(await refusalOf(beginIdempotent(service.db, key, hash))).to.equal('idempotency_key_in_use');
      expect(await refusalOf(beginIdempotent(service.db, key, Buffer.alloc(32)))).to.equal('idempotency_key_reused');
      await expire(claim);
      await renewClaim(service.db, claim);
      expect(await refusalOf(beginIdempotent(service.db, key, hash))).to.equal('idempotency_key_in_use');
      await releaseClaim(service.db, claim);
      expect(await beginIdempotent(service.db, key, hash)).to.have.property('claimId');
    });

    it('the claim of an Idempotency-Key that expired and was taken rolls back the work of its first holder', async () => {
      const { key, claim } = await begin();
      await expire(claim);
      const second = (await beginIdempotent(service.db, key, hash)) as RequestClaim;
      const before = await sessions();
      const late = service.db.transaction(async (tx) => {
        await tx.query(`INSERT INTO sessions (id, project_id, model_id, thinking_enabled, mcp_servers, metadata)
                        SELECT 'ses_late', id, 'm', true, '{}', '{}' FROM projects LIMIT 1`);
        await storeAnswer(tx, claim, { status: 201, response: {} });
      });
      expect(await refusalOf(late)).to.equal('idempotency_key_in_use');
      expect(await sessions()).to.equal(before);
      await releaseClaim(service.db, claim);
      await storeAnswer(service.db, second, { status: 201, response: { a: 1 } });
      expect(await beginIdempotent(service.db, key, hash)).to.deep.equal({ status: 201, response: { a: 1 } });
    });

    it('the claim of an Idempotency-Key that ran out and was not taken still counts', async () => {
      const { key, claim } = await begin();
      await expire(claim);
      await storeAnswer(service.db, claim, { status: 201, response: null });
      await releaseClaim(service.db, claim);
      expect(await beginIdempotent(service.db, key, hash)).to.deep.equal({ status: 201, response: null });
    });
  });
});
