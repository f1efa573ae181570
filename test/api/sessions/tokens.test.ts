import { expect } from 'chai';
import { revokeKey } from '../../../src/projects/api-keys.js';
import { MAX_TOKEN_UPLOAD_BYTES } from '../../../src/files/storage-limit.js';
import { newStorageKey } from '../../../src/files/storage.js';
import { insertFile } from '../../../src/files/store.js';
import { apiClient, type ApiCall, type ApiResponse } from '../../support/client.js';
import { eventually } from '../../support/eventually.js';
import { insertMcpServer, insertTurn, insertWaitingTurn } from '../../support/factories.js';
import { onLogLine } from '../../support/log.js';
import { checkAgainstOpenApi } from '../../support/openapi-check.js';
import { watchStatements } from '../../support/round-trips.js';
import { reachedLimit } from '../../support/rows.js';
import { openSse, type SseReader } from '../../support/sse-reader.js';
import { keyIdOf, newToken, signToken } from '../../support/tokens.js';
import { upload } from '../../support/upload.js';
import { useService } from '../../support/use.js';

const outcomeOf = ({ status, body }: ApiResponse): unknown[] => [
  status,
  body?.error?.type ?? 'ok',
  body?.error?.details?.required ?? null,
];
const OK = [200, 'ok', null];

/** docs/decisions.md "Session tokens". */
describe('session tokens', () => {
  let sessionId: string;
  const service = useService();
  const newSession = async (body = {}): Promise<string> =>
    (await service.api('POST', '/v1/sessions', { model_id: 'test-model', ...body })).body.id as string;
  beforeEach(async () => {
    sessionId = await newSession();
  });

  const create = (body: unknown, api: ApiCall = service.api, id = sessionId): Promise<ApiResponse> =>
    api('POST', `/v1/sessions/${id}/tokens`, body);
  const page = async (scopes?: string[], more = {}): Promise<ApiCall> =>
    service.as(await newToken(service, sessionId, { ...(scopes && { scopes }), ...more }));
  const path = (rest = ''): string => `/v1/sessions/${sessionId}${rest}`;

  describe('creation', () => {
    it('session tokens are made with what was asked for, for 15 minutes unless it says otherwise', async () => {
      const before = Date.now();
      const { status, body, headers } = await create({ scopes: ['answer', 'read'] });
      expect(status).to.equal(201);
      expect(headers.get('cache-control')).to.equal('no-store');
      const { token, expires_at, ...rest } = body;
      expect(rest).to.deep.equal({ session_id: sessionId, scopes: ['answer', 'read'], actor: null });
      expect(token).to.match(/^sst_/);
      expect(Date.parse(expires_at)).to.be.within(before + 899_000, Date.now() + 901_000);
      const short = await create({ scopes: ['read'], expires_in: 60, actor: 'jane' });
      expect(short.body.actor).to.equal('jane');
      expect(Date.parse(short.body.expires_at)).to.be.within(before + 59_000, Date.now() + 61_000);
      expect(outcomeOf(await service.as(token)('GET', path()))).to.deep.equal(OK);
    });

    for (const [name, body, place] of [
      ['without scopes', {}, '/scopes'],
      ['with no scope', { scopes: [] }, '/scopes'],
      ['with an unknown scope', { scopes: ['write'] }, '/scopes/0'],
      ['with a scope twice', { scopes: ['read', 'read'] }, '/scopes'],
      ['for 59 seconds', { scopes: ['read'], expires_in: 59 }, '/expires_in'],
      ['for 3,601 seconds', { scopes: ['read'], expires_in: 3601 }, '/expires_in'],
      ['for half seconds', { scopes: ['read'], expires_in: 60.5 }, '/expires_in'],
      ['for a text of seconds', { scopes: ['read'], expires_in: '60' }, '/expires_in'],
      ['for an empty actor', { scopes: ['read'], actor: '' }, '/actor'],
      ['for an actor of 129 characters', { scopes: ['read'], actor: 'a'.repeat(129) }, '/actor'],
      ['with a field that is none', { scopes: ['read'], session_id: 'ses_x' }, '/session_id'],
    ] as const) {
      it(`session tokens are made not ${name}: 422`, async () => {
        const { status, body: answer } = await create(body);
        expect([status, answer.error?.type]).to.deep.equal([422, 'validation_error']);
        expect(answer.error.details.errors[0].path).to.equal(place);
      });
    }

    it('session tokens are made for at most an hour, for an actor of 128 characters or null', async () => {
      const longest = await create({ scopes: ['read'], expires_in: 3600, actor: '🙂'.repeat(128) });
      expect(longest.status).to.equal(201);
      expect((await create({ scopes: ['read'], actor: null })).status).to.equal(201);
      reachedLimit('session token: 60 to 3,600 s');
    });

    it('session tokens are made with a key that has the permissions of the scopes, checked in the order of the scopes', async () => {
      const needs = async (scopes: string[], has: Parameters<typeof service.newKey>[0]): Promise<unknown> =>
        (await create({ scopes }, service.as(await service.newKey(has)))).body.error?.details.required ?? null;
      const writer = { scopes: ['sessions:write'] as const };
      expect(await needs(['files', 'read'], writer)).to.equal('sessions:read');
      expect(await needs(['send', 'cancel', 'answer'], writer)).to.equal(null);
      const reader = { scopes: ['sessions:write', 'sessions:read'] as const };
      expect(await needs(['files', 'read'], reader)).to.equal('files:read');
      const fileReader = { scopes: ['sessions:write', 'sessions:read', 'files:read'] as const };
      expect(await needs(['files', 'read'], fileReader)).to.equal('files:write');
    });

    it('session tokens are made not for a session of another project, or none: 404', async () => {
      const stranger = service.as(await service.newKey({ project: 'strangers' }));
      expect(outcomeOf(await create({ scopes: ['read'] }, stranger))).to.deep.equal([404, 'session_not_found', null]);
      expect(outcomeOf(await create({}, service.api, 'ses_none'))).to.deep.equal([404, 'session_not_found', null]);
    });

    it('session tokens are made while a turn is open, too', async () => {
      await insertTurn(service.db, sessionId, 'running');
      expect((await create({ scopes: ['read'] })).status).to.equal(201);
    });

    it('session tokens are made to live no longer than their key', async () => {
      const key = await service.newKey({ expiresInDays: 120 / 86_400 });
      const { body } = await create({ scopes: ['read'], expires_in: 900 }, service.as(key));
      expect(Date.parse(body.expires_at) - Date.now()).to.be.within(60_000, 120_000);
    });

    it('session tokens are made new each time, whatever Idempotency-Key the request has', async () => {
      const send = (scopes: string[]): Promise<ApiResponse> =>
        service.api('POST', path('/tokens'), { scopes }, { 'Idempotency-Key': 'same' });
      expect((await send(['read'])).status).to.equal(201);
      const second = await send(['send']);
      expect([second.status, second.headers.get('idempotency-replayed')]).to.deep.equal([201, null]);
    });
  });

  describe('refusal', () => {
    const refused = async (token: string): Promise<void> => {
      const { status, body, headers } = await service.as(token)('GET', path());
      expect([status, body.error.type]).to.deep.equal([401, 'authentication_error']);
      expect(headers.get('www-authenticate')).to.equal('Bearer');
      expect(JSON.stringify(body)).to.not.include(token);
    };

    it('session tokens are refused with 401 when they are malformed or altered', async () => {
      const token = await newToken(service, sessionId);
      await refused('sst_');
      await refused('sst_x.y');
      await refused(`${token}A`);
      await refused(token.replace(/\.(.)/, (_, first: string) => `.${first === 'A' ? 'B' : 'A'}`));
    });

    it('session tokens are refused with 401 when they have expired', async () => {
      const token = await signToken(service, sessionId, { expiresAt: Date.now() + 1500 });
      expect(outcomeOf(await service.as(token)('GET', path()))).to.deep.equal(OK);
      await eventually('it is refused', async () => (await service.as(token)('GET', path())).status === 401);
      await refused(token);
    });

    it('session tokens are refused within 5 s after their key is revoked', async () => {
      const key = await service.newKey();
      const token = await newToken({ api: service.as(key) }, sessionId);
      expect(outcomeOf(await service.as(token)('GET', path()))).to.deep.equal(OK);
      const before = performance.now();
      await revokeKey(service.db, await keyIdOf(service.db, key));
      await eventually('it is refused', async () => (await service.as(token)('GET', path())).status === 401);
      expect(performance.now() - before).to.be.below(5000);
      await refused(token);
    });

    it('session tokens are refused with 401 when their key has expired', async () => {
      const key = await service.newKey({ expiresInDays: 1 });
      const keyId = await keyIdOf(service.db, key);
      const token = await signToken(service, sessionId, { keyId });
      await service.db.query('UPDATE api_keys SET expires_at = now() WHERE id = $1', [keyId]);
      await refused(token);
    });

    it('session tokens are refused with 401 when no key of this service made them', async () => {
      await refused(await signToken(service, sessionId, { keyId: 'key_none' }));
      const { db, key, config } = service;
      await refused(
        await signToken({ db, key, config: { ...config, encryptionKeys: [Buffer.alloc(32, 8)] } }, sessionId),
      );
    });

    it('session tokens are refused with 401 in a query, where they are ignored', async () => {
      const token = await newToken(service, sessionId);
      for (const name of ['token', 'access_token', 'authorization', 'key']) {
        const { status } = await service.as(null)('GET', path(`?${name}=${token}`));
        expect(status, name).to.equal(401);
      }
    });

    it('session tokens are refused with 401 by the pages of the console, which is for keys', async () => {
      const { status } = await service.as(await newToken(service, sessionId))('GET', '/console/config.json');
      expect(status).to.be.oneOf([401, 404]);
    });
  });

  it('session tokens are accepted by every process, with any key of the list', async () => {
    const token = await newToken(service, sessionId);
    const other = await service.anotherApi();
    const { status } = await apiClient(other.url, token, checkAgainstOpenApi)('GET', path());
    expect(status).to.equal(200);
  });

  it('session tokens need no query once their key is known', async () => {
    const token = await newToken(service, sessionId, { scopes: ['send'] });
    const call = (): Promise<ApiResponse> => service.as(token)('PATCH', path(), { metadata: {} });
    await call();
    let lookups = 0;
    const stop = watchStatements(({ text }) => (lookups += Number(text.includes('api_keys'))));
    try {
      for (let times = 0; times < 20; times += 1) expect((await call()).status).to.equal(403);
    } finally {
      stop();
    }
    // A key is looked up again after a while.
    expect(lookups).to.be.at.most(1);
  });

  it('session tokens end with their session: 404, for its files too', async () => {
    const pageOf = await page();
    const { body: file } = await upload({ api: pageOf }, 'a.txt');
    await service.api('DELETE', path());
    const gone = [404, 'session_not_found', null];
    expect(outcomeOf(await pageOf('GET', path()))).to.deep.equal(gone);
    expect(outcomeOf(await pageOf('POST', path('/messages'), { content: 'Hello' }))).to.deep.equal(gone);
    expect(outcomeOf(await pageOf('GET', `/v1/files/${file.id}`))).to.deep.equal(gone);
    expect(outcomeOf(await upload({ api: pageOf }, 'b.txt'))).to.deep.equal(gone);
  });

  it('session tokens count as a use of their key', async () => {
    const key = await service.newKey();
    const keyId = await keyIdOf(service.db, key);
    await service.as(await signToken(service, sessionId, { keyId }))('GET', path());
    await eventually('the use is stored', async () => {
      const [row] = await service.db.query<[{ used: boolean }]>(
        'SELECT last_used_at IS NOT NULL AS used FROM api_keys WHERE id = $1',
        [keyId],
      );
      return row.used;
    });
  });

  it('session tokens are named in the log by their key, and never shown', async () => {
    const lines: Record<string, unknown>[] = [];
    const stop = onLogLine((line) => lines.push(line));
    const token = await newToken(service, sessionId);
    await service.as(token)('GET', path());
    await service.as(token)('GET', path(`?token=${token}`));
    await eventually('both are logged', () => lines.filter(({ session_token: used }) => used === true).length === 2);
    stop();
    const [line] = lines.filter(({ session_token: used }) => used === true);
    expect(line).to.include({ key_id: await keyIdOf(service.db, service.key), route: '/v1/sessions/{session_id}' });
    expect(JSON.stringify(lines)).to.not.include(token);
    expect(JSON.stringify(lines)).to.not.include(token.split('.')[1]);
  });

  describe('reading', () => {
    it('session tokens see the state of a session, and not how it is configured', async () => {
      await insertMcpServer(service.db, 'mcp_secret');
      const custom = { type: 'custom', name: 'pick', description: 'Picks.', input_schema: { type: 'object' } };
      sessionId = await newSession({
        instruction: 'The secret instruction.',
        metadata: { customer: '4711' },
        mcp_servers: ['mcp_secret'],
        tools: [{ type: 'mcp_toolset', mcp_server_id: 'mcp_secret' }, custom],
      });
      const whole = (await service.api('GET', path())).body;
      const expected = { ...whole, instruction: null, metadata: {}, mcp_servers: [], tools: [custom] };
      const pageOf = await page();
      expect((await pageOf('GET', path())).body).to.deep.equal(expected);
      expect((await pageOf('POST', path('/cancel'))).body).to.deep.equal(expected);
      expect((await pageOf('POST', path('/queue/release'))).body).to.deep.equal(expected);
    });

    it('session tokens see nothing of another session, whether it exists or not', async () => {
      const other = await newSession();
      const pageOf = await page();
      for (const id of [other, 'ses_none', 'SES_NONE', '%00']) {
        const answer = await pageOf('GET', `/v1/sessions/${id}`);
        expect(outcomeOf(answer), id).to.deep.equal([404, 'session_not_found', null]);
        const sent = await pageOf('POST', `/v1/sessions/${id}/messages`, { content: 'Hello' });
        expect(outcomeOf(sent), id).to.deep.equal([404, 'session_not_found', null]);
      }
    });

    it('session tokens get 403 before 404, and 404 before an error of the body', async () => {
      const reader = await page(['read']);
      expect(outcomeOf(await reader('POST', '/v1/sessions/ses_none/messages', {}))).to.deep.equal([
        403,
        'insufficient_scope',
        'send',
      ]);
      const sender = await page(['send']);
      expect(outcomeOf(await sender('POST', '/v1/sessions/ses_none/messages', '{'))).to.deep.equal([
        404,
        'session_not_found',
        null,
      ]);
    });
  });

  describe('sending', () => {
    const send = async (body: object, scopes = ['send']): Promise<ApiResponse> =>
      (await page(scopes))('POST', path('/messages'), { content: 'Hello', ...body });

    it('session tokens send messages with content and files, at once or in the queue', async () => {
      expect((await send({})).status).to.equal(201);
      expect((await send({ when_running: 'queue' })).body.state).to.equal('queued');
    });

    it('session tokens send messages, but do not choose the model, thinking or skills: 403', async () => {
      const refused = (required: string): unknown[] => [403, 'insufficient_scope', required];
      expect(outcomeOf(await send({ model_id: 'test-model' }))).to.deep.equal(refused('sessions:write'));
      expect(outcomeOf(await send({ thinking_enabled: false }))).to.deep.equal(refused('sessions:write'));
      expect(outcomeOf(await send({ output_schema: { type: 'object' } }))).to.deep.equal(refused('sessions:write'));
      expect(outcomeOf(await send({ skills: ['skill_none'] }))).to.deep.equal(refused('skills:read'));
      expect(outcomeOf(await send({ files: ['file_none'] }))).to.deep.equal(refused('files'));
      expect((await send({ skills: [], files: [] })).status).to.equal(201);
    });

    it('session tokens get no answer to the Idempotency-Key of a message that they could not send', async () => {
      const body = { content: 'Hello', model_id: 'test-model' };
      const first = await service.api('POST', path('/messages'), body, { 'Idempotency-Key': 'one' });
      expect(first.status).to.equal(201);
      const replay = await (await page(['send']))('POST', path('/messages'), body, { 'Idempotency-Key': 'one' });
      expect(outcomeOf(replay)).to.deep.equal([403, 'insufficient_scope', 'sessions:write']);
    });
  });

  describe('answering', () => {
    const confirm = (more = {}): object => ({
      events: [{ type: 'user.tool_confirmation', tool_use_id: 'toolu_1', result: 'allow', ...more }],
    });
    beforeEach(() => insertWaitingTurn(service.db, sessionId));

    it('session tokens answer as their actor', async () => {
      const { status, body } = await (await page(['answer'], { actor: 'jane' }))('POST', path('/events'), confirm());
      expect([status, body.items[0].actor]).to.deep.equal([201, 'jane']);
    });

    it('session tokens answer as nobody without one', async () => {
      const { status, body } = await (await page(['answer']))('POST', path('/events'), confirm());
      expect([status, body.items[0].actor]).to.deep.equal([201, null]);
    });

    it('session tokens allow or deny a call only if their key has approvals:write', async () => {
      const { key_id } = { key_id: await keyIdOf(service.db, await service.newKey({ scopes: ['sessions:write'] })) };
      const pageOf = service.as(await signToken(service, sessionId, { keyId: key_id, scopes: ['answer'] }));
      expect(outcomeOf(await pageOf('POST', path('/events'), confirm()))).to.deep.equal([
        403,
        'insufficient_scope',
        'approvals:write',
      ]);
      const result = { type: 'user.custom_tool_result', tool_use_id: 'toolu_none', content: 'Yes.' };
      expect(outcomeOf(await pageOf('POST', path('/events'), { events: [result] }))).to.deep.equal([
        404,
        'tool_use_not_found',
        null,
      ]);
    });

    it('session tokens never answer as another actor: 422', async () => {
      for (const actor of ['jane', 'joe']) {
        const pageOf = await page(['answer'], { actor: 'jane' });
        const { status, body } = await pageOf('POST', path('/events'), confirm({ actor }));
        expect([status, body.error.details.errors[0].path]).to.deep.equal([422, '/events/0/actor']);
      }
      const [row] = await service.db.query<[{ state: string }]>('SELECT state FROM waits WHERE session_id = $1', [
        sessionId,
      ]);
      expect(row.state).to.equal('open');
    });
  });

  describe('files', () => {
    const attach = (pageOf: ApiCall, files: string[]): Promise<ApiResponse> =>
      pageOf('POST', path('/messages'), { content: 'Look.', files, when_running: 'queue' });
    const missing = (id: string): unknown[] => [404, 'file_not_found', [id]];
    const found = ({ status, body }: ApiResponse): unknown[] => [
      status,
      body?.error?.type ?? 'ok',
      body?.error?.details?.file_ids ?? null,
    ];
    const content = (id: string) => ({
      id,
      filename: 'a.txt',
      mime_type: 'text/plain',
      size_bytes: 1,
      storage_key: newStorageKey('files', 'proj'),
    });
    const projectId = async (): Promise<string> =>
      (
        await service.db.query<[{ project_id: string }]>('SELECT project_id FROM sessions WHERE id = $1', [sessionId])
      )[0].project_id;

    it('session tokens use files that were uploaded with a token of their session: read, linked and attached, with another token too', async () => {
      const { status, body: file } = await upload({ api: await page(['files']) }, 'a.txt');
      expect([status, file.origin, file.session_id]).to.deep.equal([201, 'UPLOAD', null]);
      const pageOf = await page(['files', 'send']);
      expect((await pageOf('GET', `/v1/files/${file.id}`)).body).to.deep.equal(file);
      expect((await pageOf('GET', `/v1/files/${file.id}/content`)).status).to.equal(307);
      const { url } = (await pageOf('GET', `/v1/files/${file.id}/link`)).body;
      expect(await (await fetch(url)).text()).to.equal('content');
      const { status: sent, body } = await attach(pageOf, [file.id]);
      expect([sent, body.files[0].id]).to.deep.equal([201, file.id]);
      // The back end sees it as any upload.
      expect((await service.api('GET', `/v1/files/${file.id}`)).status).to.equal(200);
    });

    it('session tokens get links that end with them, and keys links of an hour', async () => {
      const { body: file } = await upload({ api: await page(['files']) }, 'a.txt');
      const expiresAt = Date.now() + 90_000;
      const token = service.as(await signToken(service, sessionId, { scopes: ['files'], expiresAt }));
      /** When the links of both operations end, in seconds since 1970. */
      const endsOf = async (caller: ApiCall): Promise<number[]> => {
        const { body } = await caller('GET', `/v1/files/${file.id}/link`);
        const { headers } = await caller('GET', `/v1/files/${file.id}/content`);
        return [body.url as string, headers.get('location')!].map((url) =>
          Number(new URL(url).searchParams.get('expires')),
        );
      };
      for (const end of await endsOf(token)) expect(end).to.be.within(expiresAt / 1000 - 5, expiresAt / 1000);
      for (const end of await endsOf(service.api)) expect(end * 1000 - Date.now()).to.be.within(3_590_000, 3_600_000);
    });

    it('session tokens use files that the agent delivered in their session', async () => {
      const { id } = await insertFile(service.db, {
        ...content('file_delivered'),
        project_id: await projectId(),
        origin: 'OUTPUT',
        session_id: sessionId,
      });
      const pageOf = await page();
      expect((await pageOf('GET', `/v1/files/${id}`)).status).to.equal(200);
      expect((await attach(pageOf, [id])).status).to.equal(201);
    });

    it('session tokens use no other files: 404, as for an id that does not exist', async () => {
      const pageOf = await page();
      const { body: own } = await upload({ api: pageOf }, 'own.txt');
      const { body: ofKey } = await upload(service, 'key.txt');
      const other = await newSession();
      const { body: ofOther } = await upload({ api: service.as(await newToken(service, other)) }, 'other.txt');
      const delivered = await insertFile(service.db, {
        ...content('file_other'),
        project_id: await projectId(),
        origin: 'OUTPUT',
        session_id: other,
      });
      for (const id of [ofKey.id, ofOther.id, delivered.id, 'file_none']) {
        for (const rest of ['', '/content', '/link']) {
          expect(found(await pageOf('GET', `/v1/files/${id}${rest}`)), id).to.deep.equal(missing(id));
        }
        expect(found(await attach(pageOf, [own.id, id])), id).to.deep.equal(missing(id));
      }
      const { body } = await attach(pageOf, [ofKey.id, own.id, 'file_none']);
      expect(body.error.details.file_ids).to.deep.equal([ofKey.id, 'file_none']);
    });

    it('session tokens do not reach a file by the Idempotency-Key of an upload that others made', async () => {
      const once = { 'Idempotency-Key': 'upload' };
      const { body: ofKey } = await upload(service, 'same.txt', 'same', once);
      const pageOf = await page(['files']);
      const { status, body, headers } = await upload({ api: pageOf }, 'same.txt', 'same', once);
      expect([status, headers.get('idempotency-replayed')]).to.deep.equal([201, null]);
      expect(body.id).to.not.equal(ofKey.id);
      const again = await upload({ api: pageOf }, 'same.txt', 'same', once);
      expect([again.body.id, again.headers.get('idempotency-replayed')]).to.deep.equal([body.id, 'true']);
    });

    it('session tokens of one session upload up to 256 MiB together', async () => {
      await insertFile(service.db, {
        ...content('file_old'),
        project_id: await projectId(),
        origin: 'UPLOAD',
        session_id: null,
        size_bytes: MAX_TOKEN_UPLOAD_BYTES - 10,
        token_session_id: sessionId,
      });
      const over = await upload({ api: await page(['files']) }, 'a.txt', 'eleven bytes');
      expect(outcomeOf(over)).to.deep.equal([413, 'storage_limit_reached', null]);
      expect(over.body.error.details).to.deep.equal({ max_bytes: 268_435_456 });
      const both = await Promise.all(
        ['a.txt', 'b.txt'].map(async (name) => upload({ api: await page(['files']) }, name, 'sixsix')),
      );
      expect(both.map(({ status }) => status).sort()).to.deep.equal([201, 413]);
      // Neither the project's key nor another session is limited by it.
      expect((await upload(service, 'c.txt', 'eleven bytes')).status).to.equal(201);
      const other = service.as(await newToken(service, await newSession()));
      expect((await upload({ api: other }, 'd.txt', 'eleven bytes')).status).to.equal(201);
      reachedLimit('session tokens: 256 MiB of uploads');
    });
  });

  describe('limits', () => {
    it('session tokens of one session send 20 requests a minute to each writing operation together, in all processes', async () => {
      const other = await service.anotherApi();
      const apis = await Promise.all(
        [service.url, other.url].map(async (url) =>
          apiClient(url, await newToken(service, sessionId, { scopes: ['cancel', 'send'] }), checkAgainstOpenApi),
        ),
      );
      const answers = await Promise.all(Array.from({ length: 25 }, (_, n) => apis[n % 2]!('POST', path('/cancel'))));
      expect(answers.filter(({ status }) => status === 200)).to.have.length(20);
      const refused = answers.find(({ status }) => status === 429)!;
      expect(refused.body.error.type).to.equal('rate_limit_exceeded');
      expect(Number(refused.headers.get('retry-after'))).to.be.within(1, 60);
      expect(refused.headers.get('ratelimit-limit')).to.equal('20');
      // Another operation, the key and another session have their own.
      expect((await apis[0]!('POST', path('/queue/release'))).status).to.equal(200);
      expect((await service.api('POST', path('/cancel'))).status).to.equal(200);
      const third = await newSession();
      const ofThird = service.as(await newToken(service, third));
      expect((await ofThird('POST', `/v1/sessions/${third}/cancel`)).status).to.equal(200);
      reachedLimit('session tokens: 20 writes a minute');
    });

    it('session tokens of one session send 120 requests a minute to each reading operation together', async () => {
      const pageOf = await page(['read']);
      const begun = performance.now();
      const answers: ApiResponse[] = [];
      while (!answers.some(({ status }) => status === 429))
        answers.push(...(await Promise.all(Array.from({ length: 25 }, () => pageOf('GET', path('/queue'))))));
      // The tests may be slow: two more are allowed each second.
      const refilled = Math.ceil(((performance.now() - begun) / 1000) * 2);
      expect(answers.filter(({ status }) => status === 200).length).to.be.within(120, 120 + refilled);
      reachedLimit('session tokens: 120 reads a minute');
      expect((await pageOf('GET', path())).status).to.equal(200);
    });

    it('session tokens of one session have 10 open streams together', async () => {
      const streams: SseReader[] = [];
      const open = async (token: string, id = sessionId): Promise<SseReader> => {
        const stream = await openSse(`${service.url}/v1/sessions/${id}/events/stream`, token);
        streams.push(stream);
        return stream;
      };
      const tokens = [await newToken(service, sessionId), await newToken(service, sessionId)];
      for (let count = 0; count < 10; count += 1) expect((await open(tokens[count % 2]!)).status).to.equal(200);
      const { status, body, headers } = await service.as(tokens[0]!)('GET', path('/events/stream'));
      expect([status, body.error.type]).to.deep.equal([429, 'too_many_streams']);
      expect(headers.get('retry-after')).to.match(/^\d+$/);
      expect((await open(service.key)).status).to.equal(200);
      reachedLimit('session tokens: 10 streams');
      streams[0]!.close();
      await eventually('there is room for another', async () => (await open(tokens[0]!)).status === 200);
      for (const stream of streams) stream.close();
    });
  });

  describe('the limits of a project', () => {
    /** A project with so many requests a minute, its sessions, and what a caller's requests to each of them get. */
    const projectWith = async (name: string, ratePerMinute: number, sessions: number) => {
      const first = service.as(await service.newKey({ project: name }));
      const made = Array.from({ length: sessions }, () => first('POST', '/v1/sessions', { model_id: 'test-model' }));
      const ids = (await Promise.all(made)).map(({ body }) => body.id as string);
      const pages = await Promise.all(
        ids.map(async (id) => service.as(await newToken({ api: first }, id, { scopes: ['cancel'] }))),
      );
      await service.db.query('UPDATE projects SET rate_per_minute = $1 WHERE name = $2', [ratePerMinute, name]);
      // The first key is remembered with the limit from before.
      const api = service.as(await service.newKey({ project: name }));
      /** How often a page is answered, then how often a key is. */
      const send = async (caller: ApiCall, id: string, times: number): Promise<Record<number, number>> => {
        const counts: Record<number, number> = {};
        const answers = await Promise.all(
          Array.from({ length: times }, () => caller('POST', `/v1/sessions/${id}/cancel`)),
        );
        for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1;
        return counts;
      };
      return { api, ids, pages, send };
    };

    for (const [name, { rate, pages: count, each }, ofEach, ofKey] of [
      ['one page', { rate: 30, pages: 1, each: 25 }, [{ 200: 20, 429: 5 }], { 200: 30, 429: 2 }],
      [
        'three pages',
        { rate: 50, pages: 3, each: 20 },
        [{ 200: 20 }, { 200: 20 }, { 200: 10, 429: 10 }],
        { 200: 50, 429: 2 },
      ],
      ['a hundred pages', { rate: 20, pages: 100, each: 1 }, null, { 200: 20, 429: 2 }],
    ] as const)
      it(`session tokens of ${name} use up no request of a key`, async () => {
        const { api, ids, pages, send } = await projectWith(name, rate, count);
        const sent: Record<number, number>[] = [];
        for (const [n, page] of pages.entries()) sent.push(await send(page, ids[n]!, each));
        if (ofEach !== null) expect(sent).to.deep.equal(ofEach);
        const allowed = sent.reduce((sum, counts) => sum + (counts[200] ?? 0), 0);
        expect(allowed).to.equal(Math.min(rate, count * Math.min(each, 20)));
        expect(await send(api, ids[0]!, rate + 2)).to.deep.equal(ofKey);
      });

    it('session tokens are told whose limit it is, and requests of a key use up nothing of theirs', async () => {
      const { api, ids, pages, send } = await projectWith('told', 3, 2);
      expect(await send(api, ids[0]!, 5)).to.deep.equal({ 200: 3, 429: 2 });
      expect(await send(pages[0]!, ids[0]!, 3)).to.deep.equal({ 200: 3 });
      const { status, body, headers } = await pages[1]!('POST', `/v1/sessions/${ids[1]}/cancel`);
      expect([status, body.error.type]).to.deep.equal([429, 'rate_limit_exceeded']);
      expect(body.error.message).to.contain('all session tokens of the project together');
      expect(headers.get('ratelimit-limit')).to.equal('3');
      expect(headers.get('retry-after')).to.match(/^\d+$/);
    });
  });

  describe('streams', () => {
    const open = (token: string, lastEventId?: string): Promise<SseReader> =>
      openSse(`${service.url}${path('/events/stream')}`, token, lastEventId);

    it('session tokens keep a stream until they end, within 10 s', async () => {
      const stream = await open(await signToken(service, sessionId, { expiresAt: Date.now() + 1000 }));
      const other = await open(await newToken(service, sessionId));
      const before = performance.now();
      await stream.ended;
      expect(performance.now() - before).to.be.within(500, 11_000);
      expect(stream.retry).to.equal(2000);
      let isOver = false;
      void other.ended.then(() => (isOver = true));
      await eventually('a second passes', () => performance.now() - before > 3000);
      expect(isOver).to.equal(false);
      other.close();
    });

    it('session tokens keep a stream until their key is revoked, within 10 s', async () => {
      const key = await service.newKey();
      const stream = await open(await newToken({ api: service.as(key) }, sessionId));
      const before = performance.now();
      await revokeKey(service.db, await keyIdOf(service.db, key));
      await stream.ended;
      expect(performance.now() - before).to.be.below(10_000);
    });
  });

  describe('stolen ones', () => {
    it('a stolen session token cannot make another token, whatever its scopes', async () => {
      const pageOf = await page();
      expect(outcomeOf(await create({ scopes: ['read'] }, pageOf))).to.deep.equal([
        403,
        'insufficient_scope',
        'sessions:write',
      ]);
    });

    it('a stolen session token cannot be carried over to a session of the same name in another project', async () => {
      const stranger = await service.newKey({ project: 'strangers' });
      const keyId = await keyIdOf(service.db, stranger);
      const token = await signToken(service, sessionId, { keyId });
      expect(outcomeOf(await service.as(token)('GET', path()))).to.deep.equal([404, 'session_not_found', null]);
    });

    it('a stolen session token cannot reach a session by another spelling of its path', async () => {
      const other = await newSession();
      const pageOf = await page();
      for (const spelling of [
        `/v1/sessions/${sessionId}/../${other}`,
        `/v1/sessions/${sessionId}%2F..%2F${other}`,
        `/v1/sessions/${other}?session_id=${sessionId}`,
        `/v1//sessions/${other}`,
      ]) {
        const { status, body } = await pageOf('GET', spelling);
        expect(status, spelling).to.equal(404);
        expect(JSON.stringify(body), spelling).to.not.include('test-model');
      }
    });

    it('a stolen session token cannot be sent as another scheme, or beside a key', async () => {
      const token = await newToken(service, sessionId);
      const send = async (authorization: string): Promise<number> =>
        (await fetch(service.url + path(), { headers: { Authorization: authorization } })).status;
      expect(await send(`Bearer ${token}`)).to.equal(200);
      expect(await send(`Basic ${Buffer.from(`${token}:`).toString('base64')}`)).to.equal(401);
      expect(await send(`Bearer ${token}, Bearer ${service.key}`)).to.equal(401);
      expect(await send(token)).to.equal(401);
    });

    it('a stolen session token cannot use up the streams or requests of its project', async () => {
      const pageOf = await page(['read']);
      for (let count = 0; count < 130; count += 1) await pageOf('GET', path('/turns'));
      expect((await service.api('GET', path('/turns'))).status).to.equal(200);
    });
  });
});
