import { expect } from 'chai';
import type { Route } from '../../../api/http/core/operation.js';
import { routes } from '../../../api/routes.js';
import { SCOPES, TOKEN_SCOPE_NAMES } from '../../../src/projects/permissions.js';
import type { ApiCall, ApiResponse } from '../../support/client.js';
import {
  insertChangedTool,
  insertCredential,
  insertEndedTurns,
  insertMcpServer,
  insertSchedule,
  insertTurn,
  insertWaitingTurn,
  insertWebhook,
} from '../../support/factories.js';
import { startMcpServer, type TestMcpServer } from '../../support/mcp-server.js';
import { allItems } from '../../support/pages.js';
import { reached } from '../../support/rows.js';
import { newSchedule } from '../../support/schedules.js';
import { startService, type TestService } from '../../support/service.js';
import { keyIdOf, newToken } from '../../support/tokens.js';
import { MULTIPART, filePart, multipartBody } from '../../support/upload.js';
import { useService } from '../../support/use.js';
import { writeTree } from '../../support/workspaces.js';

const MIB = 1024 * 1024;
const withKey = routes.filter(([, , permission]) => permission !== null);
const withResource = withKey.filter(([, path]) => path.includes('{'));
const withJson = withKey.filter(([, , , , { body }]) => body !== undefined);
const withUpload = withKey.filter(([, , , , { multipart }]) => multipart);
const paged = withKey.filter(([, , , , { paged }]) => paged);
const limited = withKey.filter(([, , , limited]) => limited);
const title = ([method, path]: Route): string => `${method} ${path}`;
const file = (...part: Parameters<typeof filePart>): Buffer => multipartBody([filePart(...part)]);
const skillMd = (name: string): string => `---\nname: ${name}\n---\n`;
const skill = (name: string): Buffer => file('SKILL.md', skillMd(name));

/** What every operation has in common, shown of every operation. */
describe('every route', () => {
  /** One resource of each kind, of project `demo`, by the name of its path parameter. Of most there are two. */
  let ids: Record<string, string>;
  const service = useService();
  before(async () => {
    const { api, db } = service;
    const create = async (path: string, body: unknown, headers = {}): Promise<string> => {
      const answer = await api('POST', path, body, headers);
      expect(answer.status).to.equal(201);
      return answer.body.id;
    };
    const session_id = await create('/v1/sessions', {
      model_id: 'test-model',
      instruction: 'Answer.',
      metadata: { customer: '4711' },
    });
    await create('/v1/sessions', { model_id: 'test-model' });
    const [skill_id] = [
      await create('/v1/skills', skill('a'), MULTIPART),
      await create('/v1/skills', skill('b'), MULTIPART),
    ];
    const [file_id] = [
      await create('/v1/files', file('a.txt'), MULTIPART),
      await create('/v1/files', file('b.txt'), MULTIPART),
    ];
    await writeTree(service, session_id, { '/workspace/a.txt': 'a', '/workspace/b.txt': 'b' });
    await insertMcpServer(db, 'mcp_one');
    await insertMcpServer(db, 'mcp_two');
    await insertEndedTurns(db, session_id, { count: 2, results: 0 });
    await insertSchedule(db);
    const webhook = await insertWebhook(db);
    const agent_id = await create('/v1/agents', { name: 'a', model_id: 'test-model' });
    await create('/v1/agents', { name: 'b', model_id: 'test-model' });
    await api('PATCH', `/v1/agents/${agent_id}`, { instruction: 'Answer.' });
    const memory_id = await create('/v1/memories', { user: 'ann' });
    await create('/v1/memories', { user: 'bob' });
    for (const path of ['/a.md', '/b.md'])
      expect((await api('POST', `/v1/memories/${memory_id}/files`, { path, content: 'a' })).status).to.equal(201);
    const [erasure] = [
      await api('POST', '/v1/erasures', { user: 'nobody' }),
      await api('POST', '/v1/erasures', { user: 'nobody' }),
    ];
    ids = {
      ...{ agent_id, version: '2', memory_id, erasure_id: erasure.body.id as string },
      ...{ skill_id, file_id, session_id },
      turn_id: `turn_1${session_id}`,
      event_id: `evt_1_1${session_id}`,
      mcp_server_id: 'mcp_one',
      credential_id: await insertCredential(db, 'mcp_two'),
      tool_name: await insertChangedTool(db, 'mcp_one'),
      schedule_id: await insertSchedule(db),
      key_id: await keyIdOf(db, service.key),
      ...webhook,
    };
  });

  const target = ([, path, , , { id }]: Route, of: Record<string, string> = ids): string =>
    path.replaceAll(/\{(\w+)\}/g, (_, name: string) => of[name]!) + (VALID_QUERY[id] ?? '');
  const call = (api: ApiCall, route: Route, path = target(route)): Promise<ApiResponse> =>
    api(route[0], path, route[4].body === undefined ? undefined : VALID_BODY[route[4].id]);
  const refused = ({ status, body }: ApiResponse, type: string): void => {
    expect([status >= 400, body?.error?.type], JSON.stringify(body)).to.deep.equal([true, type]);
  };

  describe('wants a key', () => {
    for (const route of withKey) {
      it(`${title(route)} wants a key`, async () =>
        refused(await call(service.as(null), route), 'authentication_error'));
    }
  });

  describe('takes X-Actor', () => {
    for (const route of withKey) {
      it(`${title(route)} takes an X-Actor of 1 to 128 printable ASCII characters`, async () => {
        for (const actor of ['', 'x'.repeat(129), 'Jos\u00e9', 'a\tb']) {
          const headers = { 'X-Actor': actor };
          const body = route[4].body === undefined ? undefined : VALID_BODY[route[4].id];
          refused(await service.api(route[0], target(route, NONE), body, headers), 'bad_request');
        }
      });
    }
  });

  describe('wants its own permission, and no other', () => {
    for (const route of withKey) {
      it(`${title(route)} needs ${route[2]}`, async () => {
        const others = service.as(await service.newKey({ scopes: SCOPES.filter((scope) => scope !== route[2]) }));
        const answer = await call(others, route, target(route, NONE));
        refused(answer, 'insufficient_scope');
        expect([answer.status, answer.body.error.details]).to.deep.equal([403, { required: route[2] }]);
        const only = service.as(await service.newKey({ project: 'bystander', scopes: [route[2]!] }));
        expect((await call(only, route, target(route, NONE))).status).to.not.equal(403);
      });
    }
  });

  describe('wants the scope of a session token, if a token may do it at all', () => {
    /** The ids of a token's own session, and of nothing else. */
    const own = (): Record<string, string> => ({ ...NONE, session_id: ids.session_id! });

    for (const route of withKey) {
      const [, , permission, , { id }, scope] = route;
      it(`${title(route)} with a session token: ${scope ?? 'none may'}`, async () => {
        // Streams and uploads of these tests are not looked at: what is refused is.
        const as = async (scopes: string[]): Promise<ApiResponse> =>
          call(service.as(await newToken(service, ids.session_id!, { scopes })), route, target(route, own()));
        const others = TOKEN_SCOPE_NAMES.filter((name) => name !== scope);
        const answer = await as(others);
        refused(answer, 'insufficient_scope');
        expect([answer.status, answer.body.error.details]).to.deep.equal([403, { required: scope ?? permission }]);
        if (scope === null) return;
        if (id === 'streamEvents') return;
        const allowed = await as([scope]);
        expect(allowed.status, JSON.stringify(allowed.body)).to.not.be.oneOf([401, 403]);
        // Whatever shows a session hides how it is configured.
        if (allowed.body?.instruction !== undefined) {
          expect(allowed.body).to.deep.include({ instruction: null, metadata: {}, mcp_servers: [], tools: [] });
        }
      });
    }

    for (const route of withKey.filter(([, , , , , scope]) => scope !== null)) {
      it(`${title(route)} with a session token: as often as all tokens of a session may, and as long as it exists`, async () => {
        const callOf = async (sessionId: string): Promise<ApiResponse> =>
          call(
            service.as(await newToken(service, sessionId)),
            route,
            target(route, { ...NONE, session_id: sessionId }),
          );
        const { body: busy } = await service.api('POST', '/v1/sessions', { model_id: 'test-model' });
        await service.db.query('INSERT INTO rate_limits (key, points, expire) VALUES ($1, 1000, $2)', [
          `${busy.id}:${route[4].id}`,
          Date.now() + 60_000,
        ]);
        refused(await callOf(busy.id as string), 'rate_limit_exceeded');

        const { body: gone } = await service.api('POST', '/v1/sessions', { model_id: 'test-model' });
        const token = service.as(await newToken(service, gone.id as string));
        await service.api('DELETE', `/v1/sessions/${gone.id}`);
        refused(
          await call(token, route, target(route, { ...NONE, session_id: gone.id as string })),
          'session_not_found',
        );
      });
    }

    it('every route that takes session tokens refuses the ids of other sessions and files as if there were none', async () => {
      const { body } = await service.api('POST', '/v1/sessions', { model_id: 'test-model' });
      const token = service.as(await newToken(service, body.id as string));
      for (const route of withResource.filter(([, , , , , scope]) => scope !== null)) {
        const type = route[1].includes('{session_id}') ? 'session_not_found' : 'file_not_found';
        refused(await call(token, route), type);
        refused(await call(token, route, target(route, NONE)), type);
      }
    });
  });

  describe('other projects', () => {
    for (const route of withResource) {
      it(`${title(route)} does not see other projects`, async () => {
        const stranger = service.as(await service.newKey({ project: 'strangers' }));
        const theirs = await call(stranger, route);
        const none = await call(stranger, route, target(route, NONE));
        expect([theirs.status, none.status]).to.deep.equal([404, 404]);
        const errorOf = (answer: ApiResponse, { version: _, ...of }: Record<string, string>): string =>
          Object.values(of).reduce((text, id) => text.replaceAll(id, 'ID'), JSON.stringify(answer.body.error));
        expect(errorOf(theirs, ids)).to.equal(errorOf(none, NONE));
        reached(`${route[4].id} does not see other projects`);
      });
    }

    it('the other project still has all of its own', async () => {
      for (const route of withResource.filter(([method, path]) => method === 'GET' && !path.endsWith('/stream'))) {
        expect((await call(service.api, route)).status, title(route)).to.be.below(400);
      }
    });

    it('every route does not see other projects in lists', async () => {
      const strangers = await service.newKey({ project: 'strangers' });
      const stranger = service.as(strangers);
      // A key is a resource of its project, and made there.
      const own = await keyIdOf(service.db, strangers);
      const { items: keys } = (await stranger('GET', '/v1/keys')).body;
      expect(keys.map(({ id }: { id: string }) => id))
        .to.include(own)
        .and.not.include(ids.key_id);
      const { items: entries } = (await stranger('GET', '/v1/audit-log?action=uploadSkill&limit=100')).body;
      expect(entries).to.deep.equal([]);
      const others = ['/v1/models', '/v1/keys', '/v1/audit-log'];
      for (const route of paged.filter(([, path]) => !path.includes('{') && !others.includes(path))) {
        expect((await call(stranger, route)).body.items, title(route)).to.deep.equal([]);
      }
    });
  });

  describe('takes JSON that it can read', () => {
    for (const route of withJson) {
      it(`${title(route)} takes JSON that it can read`, async () => {
        const send = (body: string, headers = {}): Promise<ApiResponse> =>
          service.api(route[0], target(route), body, headers);
        refused(await send('{'), 'bad_request');
        refused(await send('{}', { 'Content-Type': 'text/plain' }), 'unsupported_media_type');
        refused(await send(' '.repeat(2 * MIB + 1)), 'content_too_large');
        const unknown = await send(JSON.stringify({ ...VALID_BODY[route[4].id], undefined_field: 1 }));
        refused(unknown, 'validation_error');
        expect(unknown.body.error.details.errors[0].path).to.equal('/undefined_field');
      });
    }
  });

  describe('takes one file', () => {
    for (const route of withUpload) {
      it(`${title(route)} takes one file`, async () => {
        const send = (parts: Parameters<typeof multipartBody>[0], headers = {}): Promise<ApiResponse> =>
          service.api(route[0], target(route), multipartBody(parts), { ...MULTIPART, ...headers });
        const preamble = Buffer.from(`${'p'.repeat(MIB + 1)}\r\n`);
        refused(await send([]), 'validation_error');
        refused(await send([filePart('a.txt'), filePart('b.txt')]), 'bad_request');
        const around = Buffer.concat([preamble, multipartBody([filePart('a.txt')])]);
        refused(await service.api(route[0], target(route), around, MULTIPART), 'content_too_large');
        refused(await service.api(route[0], target(route), {}), 'unsupported_media_type');
      });
    }
  });

  describe('pages by limit and cursor', () => {
    for (const route of paged) {
      it(`${title(route)} pages by limit and cursor`, async () => {
        const get = (query: string): Promise<ApiResponse> => service.api('GET', `${target(route)}?${query}`);
        for (const limit of [1, 100]) expect((await get(`limit=${limit}`)).status).to.equal(200);
        for (const limit of [0, 101, -1, 'x', '']) refused(await get(`limit=${limit}`), 'validation_error');
        refused(await get('cursor=malformed'), 'invalid_cursor');

        const { items } = (await get('limit=100')).body;
        const all = await allItems(service.api, `${target(route)}?limit=1`);
        expect(all.slice(0, 100)).to.deep.equal(items);
      });
    }
  });

  describe('rate limits', () => {
    const few = useService({ config: { rateLimitPerMinute: 2 } });
    for (const route of limited) {
      it(`${title(route)} has its rate limit`, async () => {
        // Some operations share a limit: each gets a project of its own.
        const project = few.as(await few.newKey({ project: route[4].id }));
        for (const time of [1, 2]) {
          const { headers, body } = await call(project, route, target(route, NONE));
          expect(headers.get('ratelimit-remaining'), `${time}`).to.equal(String(2 - time));
          expect(body?.error?.type).to.not.equal('rate_limit_exceeded');
        }
        const third = await call(project, route, target(route, NONE));
        refused(third, 'rate_limit_exceeded');
        expect(Number(third.headers.get('retry-after'))).to.be.within(1, 60);
      });
    }

    it('a route that does not write has no rate limit', async () => {
      for (const route of withKey.filter(([, , , limited]) => !limited)) {
        for (let times = 0; times < 3; times += 1) {
          const { status, headers } = await call(few.api, route, target(route, NONE));
          expect([status === 429, headers.get('ratelimit-limit')], title(route)).to.deep.equal([false, null]);
        }
      }
    });
  });

  describe('has one effect for a repeated Idempotency-Key, where a resource is created', () => {
    let mcp: TestMcpServer;
    let own: TestService;
    let webhook: { webhook_id: string; delivery_id: string };
    let schedule_id: string;
    before(async () => {
      mcp = await startMcpServer();
      own = await startService({ config: { mcpAllowedHosts: [mcp.host] } });
      webhook = await insertWebhook(own.db);
      schedule_id = await insertSchedule(own.db);
      await insertMcpServer(own.db, 'mcp_one');
    });
    after(async () => {
      await own.close();
      await mcp.close();
    });

    /** Requests of different content for each operation. */
    const contents = (): Record<string, unknown[]> => ({
      uploadSkill: [skill('b'), skill('c'), file('other.zip', skillMd('b'))],
      registerMcpServer: [
        { name: 'b', url: mcp.url },
        { name: 'c', url: mcp.url },
        { name: 'b', url: mcp.url, auth: { type: 'BEARER', token: 'secret' } },
      ],
      putCredential: [VALID_BODY.putCredential, { ...VALID_BODY.putCredential, user: 'bob' }],
      createAgent: [VALID_BODY.createAgent, { ...VALID_BODY.createAgent, description: 'other' }],
      updateAgent: [{ description: 'one' }, { description: 'other' }],
      createMemory: [{ user: 'ann' }, { user: 'bob' }],
      writeMemoryFile: ['one', 'other'].map((content) => ({ path: '/a.md', content })),
      createSession: [{ model_id: 'test-model' }, { model_id: 'test-model', instruction: 'other' }],
      sendMessage: [{ content: 'one' }, { content: 'other' }],
      sendAnswers: ['allow', 'deny'].map((result) => ({
        events: [{ type: 'user.tool_confirmation', tool_use_id: 'toolu_1', result }],
      })),
      uploadFile: [file('b.txt'), file('c.txt'), file('b.txt', 'other bytes')],
      createWebhook: [NEW_WEBHOOK, { ...NEW_WEBHOOK, description: 'other' }],
      updateWebhook: [{ description: 'one' }, { description: 'other' }],
      createSchedule: [newSchedule(), newSchedule({ name: 'other' })],
      updateSchedule: [{ name: 'one' }, { name: 'other' }],
    });

    for (const route of withKey.filter(([, , , , { idempotent }]) => idempotent)) {
      it(`${title(route)} has one effect for a repeated Idempotency-Key`, async () => {
        const session_id = (await own.api('POST', '/v1/sessions', { model_id: 'test-model' })).body.id as string;
        const agent = { name: `agent-${route[4].id.toLowerCase()}`, model_id: 'test-model' };
        const agent_id = (await own.api('POST', '/v1/agents', agent)).body.id as string;
        const memory_id = (await own.api('POST', '/v1/memories', { user: 'someone' })).body.id as string;
        if (route[4].id === 'sendAnswers') await insertWaitingTurn(own.db, session_id);
        if (route[4].id === 'continueTurn') await insertTurn(own.db, session_id, 'cancelled');
        const [content, ...others] = contents()[route[4].id] ?? [];
        const send = (body: unknown, key = 'once'): Promise<ApiResponse> =>
          own.api(route[0], target(route, { session_id, schedule_id, agent_id, memory_id, ...webhook }), body, {
            'Idempotency-Key': key,
            ...(route[4].multipart && MULTIPART),
          });
        const first = await send(content);
        expect(first.status, JSON.stringify(first.body)).to.equal(route[4].success.status);
        const second = await send(content);
        expect(second.headers.get('idempotency-replayed')).to.equal('true');
        expect(second.body).to.deep.equal(first.body);
        // An operation without a body has one content.
        for (const other of others) refused(await send(other), 'idempotency_key_reused');
        refused(await send(content, 'x'.repeat(256)), 'bad_request');

        await own.db.query("UPDATE idempotency_records SET status = NULL, lease_until = now() + interval '30 s'");
        const inUse = await send(content);
        refused(inUse, 'idempotency_key_in_use');
        expect(inUse.headers.get('retry-after')).to.equal('1');
      });
    }
  });
});

const NONE = {
  skill_id: 'skill_none',
  file_id: 'file_none',
  session_id: 'ses_none',
  turn_id: 'turn_none',
  event_id: 'evt_none',
  mcp_server_id: 'mcp_none',
  credential_id: 'cred_none',
  tool_name: 'tool_none',
  webhook_id: 'whk_none',
  delivery_id: 'dlv_none',
  schedule_id: 'sched_none',
  agent_id: 'agent_none',
  version: '1',
  key_id: 'key_none',
};
const VALID_QUERY: Record<string, string> = {
  workspaceContent: '?path=/workspace/a.txt',
  skillContent: '?path=SKILL.md',
  memoryContent: '?path=/a.md',
  deleteMemoryFiles: '?path=/a.md',
  deleteMemories: '?user=ann',
};
const NEW_WEBHOOK = { url: 'https://hooks.invalid/', event_types: ['turn.completed'] };
const VALID_BODY: Record<string, object> = {
  registerMcpServer: { name: 'one', url: 'https://mcp.invalid/mcp' },
  updateMcpServer: { name: 'two' },
  putCredential: { mcp_server_id: 'mcp_one', user: 'ann', auth: { type: 'BEARER', token: 'secret' } },
  callMcpTool: { input: {} },
  authorizeSession: { mcp_server_id: 'mcp_one' },
  createAgent: { name: 'one', model_id: 'test-model' },
  updateAgent: { description: 'two' },
  createMemory: { user: 'ann' },
  writeMemoryFile: { path: '/a.md', content: 'a' },
  createErasure: { user: 'nobody' },
  createSession: { model_id: 'test-model' },
  updateSession: { metadata: {} },
  sendMessage: { content: 'hello' },
  createWebhook: NEW_WEBHOOK,
  updateWebhook: { description: 'two' },
  createSchedule: newSchedule(),
  updateSchedule: { name: 'two' },
  createKey: { name: 'one', scopes: ['keys:write'] },
  updateKey: { name: 'two' },
  createSessionToken: { scopes: ['read'] },
  sendAnswers: { events: [{ type: 'user.tool_confirmation', tool_use_id: 'toolu_1', result: 'allow' }] },
};
