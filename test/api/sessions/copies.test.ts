import { expect } from 'chai';
import { MAX_COPIES } from '../../../src/sessions/families.js';
import { MAX_TOKEN_UPLOAD_BYTES } from '../../../src/files/storage-limit.js';
import type { ApiCall, ApiResponse } from '../../support/client.js';
import { reachedLimit } from '../../support/rows.js';
import { newToken } from '../../support/tokens.js';
import { upload } from '../../support/upload.js';
import { useTurnService } from '../../support/use.js';

const outcomeOf = ({ status, body }: ApiResponse): unknown[] => [
  status,
  body?.error?.type ?? 'ok',
  body?.error?.details?.required ?? null,
];

/** docs/decisions.md "Copies by session tokens". */
describe('a copy that a session token makes', function () {
  this.timeout(60_000);
  const service = useTurnService();
  const ALL = ['read', 'send', 'cancel', 'answer', 'files', 'workspace', 'fork'];
  const session = async (body: object = {}): Promise<string> => service.session({ thinking_enabled: false, ...body });
  const page = async (sessionId: string, scopes: string[] = ALL, more = {}): Promise<ApiCall> =>
    service.as(await newToken(service, sessionId, { scopes, ...more }));
  const forkOf = (api: ApiCall, sessionId: string, body: object = {}, headers = {}): Promise<ApiResponse> =>
    api('POST', `/v1/sessions/${sessionId}/fork`, body, headers);
  const get = (api: ApiCall, path: string): Promise<ApiResponse> => api('GET', path);

  it('a copy that a session token makes comes with a token for it, and shows what tokens see', async () => {
    const custom = { type: 'custom', name: 'pick', description: 'Picks.', input_schema: { type: 'object' } };
    const id = await session({ instruction: 'Secret.', metadata: { a: 'b' }, tools: [custom, { type: 'wait' }] });
    await service.run(id, 'Hello');
    const made = await service.api('POST', `/v1/sessions/${id}/tokens`, { scopes: ['fork', 'read'], actor: 'ada' });
    const api = service.as(made.body.token);
    const { status, body } = await forkOf(api, id);
    expect(status).to.equal(201);
    const { token, ...fork } = body;
    expect(fork).to.deep.include({ instruction: null, metadata: {}, mcp_servers: [], turn_count: 1, tools: [custom] });
    expect(token).to.deep.include({ session_id: fork.id, scopes: ['fork', 'read'], actor: 'ada' });
    expect(token.expires_at).to.equal(made.body.expires_at);
    const copy = service.as(token.token);
    expect((await get(copy, `/v1/sessions/${fork.id}`)).body).to.deep.equal(fork);
    // Each token is for its own session alone.
    expect(outcomeOf(await get(copy, `/v1/sessions/${id}`))).to.deep.equal([404, 'session_not_found', null]);
    expect(outcomeOf(await get(api, `/v1/sessions/${fork.id}`))).to.deep.equal([404, 'session_not_found', null]);
    // For a key it is an ordinary session, and an answer to a key has no token.
    expect((await service.api('GET', `/v1/sessions/${fork.id}`)).body).to.deep.include({ instruction: 'Secret.' });
    expect((await forkOf(service.api, id)).body).to.not.have.property('token');
  });

  it('a copy that a session token makes has no other rights: other fields of the fork, and other scopes, are refused', async () => {
    const id = await session();
    const api = await page(id);
    for (const body of [{ metadata: {} }, { model_id: 'scripted' }]) {
      expect(outcomeOf(await forkOf(api, id, body))).to.deep.equal([403, 'insufficient_scope', 'sessions:write']);
    }
    const others = ALL.filter((scope) => scope !== 'fork');
    expect(outcomeOf(await forkOf(await page(id, others), id))).to.deep.equal([403, 'insufficient_scope', 'fork']);
    const { token } = (await forkOf(await page(id, ['fork']), id)).body;
    const copy = service.as(token.token);
    const path = `/v1/sessions/${token.session_id}`;
    for (const [method, rest, body, required] of [
      ['GET', '', undefined, 'read'],
      ['POST', '/messages', { content: 'Hi' }, 'send'],
      ['POST', '/cancel', undefined, 'cancel'],
      ['POST', '/events', { events: [] }, 'answer'],
      ['GET', '/workspace/files', undefined, 'workspace'],
      ['PATCH', '', { metadata: {} }, 'sessions:write'],
      ['PATCH', '', { forget_approvals: [] }, 'sessions:write'],
      ['DELETE', '', undefined, 'sessions:write'],
      ['POST', '/tokens', { scopes: ['read'] }, 'sessions:write'],
    ] as const) {
      expect(outcomeOf(await copy(method, path + rest, body)), method + rest).to.deep.equal([
        403,
        'insufficient_scope',
        required,
      ]);
    }
    expect(outcomeOf(await copy('GET', '/v1/sessions'))).to.deep.equal([403, 'insufficient_scope', 'sessions:read']);
    expect((await forkOf(copy, token.session_id)).status).to.equal(201);
  });

  it('a copy that a session token makes needs a key that has the permissions of its scopes', async () => {
    const id = await session();
    const create = async (scopes: string[], has: string[]): Promise<unknown[]> =>
      outcomeOf(
        await service
          .as(await service.newKey({ scopes: has as never }))
          .call(null, 'POST', `/v1/sessions/${id}/tokens`, { scopes }),
      );
    expect(await create(['workspace'], ['sessions:write'])).to.deep.equal([403, 'insufficient_scope', 'files:read']);
    expect(await create(['workspace', 'fork'], ['sessions:write', 'files:read'])).to.deep.equal([201, 'ok', null]);
  });

  it('a copy that a session token makes is made once for an Idempotency-Key, whose record has no token', async () => {
    const id = await session();
    const header = { 'Idempotency-Key': 'again' };
    const first = await forkOf(await page(id, ['fork'], { actor: 'ada' }), id, {}, header);
    const again = await forkOf(await page(id, ['fork', 'read'], { actor: 'bob' }), id, {}, header);
    expect(again.headers.get('idempotency-replayed')).to.equal('true');
    expect(again.body.id).to.equal(first.body.id);
    expect(again.body.token).to.deep.include({ session_id: first.body.id, scopes: ['fork', 'read'], actor: 'bob' });
    const kept = await service.db.query('SELECT response::text FROM idempotency_records WHERE response IS NOT NULL');
    expect(JSON.stringify(kept)).to.include(first.body.id).and.not.include('sst_');
    const byKey = await forkOf(service.api, id, {}, header);
    expect(byKey.body.id).to.equal(first.body.id);
    expect(byKey.body).to.not.have.property('token');
    // What a key has made is nobody else's.
    const other = { 'Idempotency-Key': 'of the key' };
    expect((await forkOf(service.api, id, {}, other)).status).to.equal(201);
    expect(outcomeOf(await forkOf(await page(id), id, {}, other))).to.deep.equal([422, 'idempotency_key_reused', null]);
  });

  it('a copy that a session token makes is one of at most 20 that exist, copies of copies included', async () => {
    const id = await session();
    const first = (await forkOf(await page(id), id)).body;
    const copy = service.as(first.token.token);
    await service.db.query(
      `INSERT INTO family_sessions (session_id, family_id) SELECT 'ses_other_' || n, $1 FROM generate_series(1, $2) AS n`,
      [id, MAX_COPIES - 2],
    );
    expect((await forkOf(copy, first.id)).status).to.equal(201);
    for (const answer of [await forkOf(await page(id), id), await forkOf(copy, first.id)]) {
      expect(outcomeOf(answer)).to.deep.equal([409, 'fork_limit_reached', null]);
      expect(answer.headers.get('x-should-retry')).to.equal('false');
    }
    reachedLimit('copies by session tokens: 20');
    expect((await forkOf(service.api, id)).status).to.equal(201);
    expect((await service.api('DELETE', `/v1/sessions/${first.id}`)).status).to.equal(204);
    expect((await forkOf(await page(id), id)).status).to.equal(201);
  });

  it('a copy that a session token makes is one of 20 also when many requests come at once', async () => {
    const id = await session();
    const api = await page(id, ['fork']);
    expect((await forkOf(api, id)).status).to.equal(201);
    await service.db.query(
      `INSERT INTO family_sessions (session_id, family_id) SELECT 'ses_race_' || n, $1 FROM generate_series(1, $2) AS n`,
      [id, MAX_COPIES - 3],
    );
    const answers = await Promise.all(Array.from({ length: 8 }, () => forkOf(api, id)));
    expect(answers.filter(({ status }) => status === 201)).to.have.length(2);
    expect(answers.filter(({ status }) => status === 409)).to.have.length(6);
  });

  it('a copy that a session token makes has the files of the copied events that the token could read, and no other', async () => {
    const id = await session();
    const api = await page(id);
    const attached = (await upload({ api }, 'attached.txt')).body;
    const later = (await upload({ api }, 'later.txt')).body;
    const loose = (await upload({ api }, 'loose.txt')).body;
    const ofKey = (await upload(service, 'key.txt')).body;
    await service.send(id, 'One', { files: [attached.id, ofKey.id] });
    await service.ended(id);
    const second = await service.send(id, 'Two', { files: [later.id] });
    await service.ended(id);
    const { body } = await forkOf(api, id, { before_turn_id: second });
    const copy = service.as(body.token.token);
    const status = async (by: ApiCall, file: { id: string }): Promise<number> =>
      (await get(by, `/v1/files/${file.id}`)).status;
    expect(await status(copy, attached)).to.equal(200);
    expect((await get(copy, `/v1/files/${attached.id}/content`)).status).to.equal(307);
    for (const file of [later, loose, ofKey]) expect(await status(copy, file), file.filename).to.equal(404);
    const send = (by: ApiCall, session_: string, file: { id: string }) =>
      by('POST', `/v1/sessions/${session_}/messages`, { content: 'Use it', files: [file.id] });
    expect((await send(copy, body.id, attached)).status).to.equal(201);
    expect(outcomeOf(await send(copy, body.id, ofKey))).to.deep.equal([404, 'file_not_found', null]);
    await service.ended(body.id);

    // A copy of the copy has what its token could read; what it uploads itself is nobody else's.
    const own = (await upload({ api: copy }, 'own.txt')).body;
    const deep = (await forkOf(copy, body.id)).body;
    const deepest = service.as(deep.token.token);
    expect(await status(deepest, attached)).to.equal(200);
    for (const file of [later, loose, ofKey, own]) expect(await status(deepest, file), file.filename).to.equal(404);
    expect(await status(api, own)).to.equal(404);
    const stranger = await page(await session());
    expect(await status(stranger, attached)).to.equal(404);
    await service.api('DELETE', `/v1/files/${attached.id}`);
    expect(await status(deepest, attached)).to.equal(404);
  });

  it('a copy that a session token makes counts in the limits of its session: requests, uploads', async () => {
    const id = await session();
    const api = await page(id);
    const copies = [(await forkOf(api, id)).body, (await forkOf(api, id)).body];
    const pages = [...copies.map(({ token, id: of }) => [of, service.as(token.token)] as const), [id, api] as const];
    const [ofCopy] = pages;
    // A token that the back end makes for a copy counts there, too.
    pages.push([ofCopy![0], await page(ofCopy![0])]);
    let last: ApiResponse;
    for (let n = 0; n < 20; n += 1) {
      const [of, by] = pages[n % pages.length]!;
      last = await by('POST', `/v1/sessions/${of}/cancel`);
    }
    expect(last!.status).to.not.equal(429);
    for (const [of, by] of pages) expect((await by('POST', `/v1/sessions/${of}/cancel`)).status).to.equal(429);
    expect((await service.api('POST', `/v1/sessions/${id}/cancel`)).status).to.not.equal(429);

    await upload({ api: pages[0]![1] }, 'small.txt');
    await service.db.query('UPDATE files SET size_bytes = $2 WHERE token_session_id = $1', [
      copies[0].id,
      MAX_TOKEN_UPLOAD_BYTES,
    ]);
    await service.api('DELETE', `/v1/sessions/${copies[0].id}`);
    expect(outcomeOf(await upload({ api: pages[1]![1] }, 'more.txt'))).to.deep.equal([
      413,
      'storage_limit_reached',
      null,
    ]);
  });
});
