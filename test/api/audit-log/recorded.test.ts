import { expect } from 'chai';
import { routes } from '../../../api/routes.js';
import type { ApiResponse } from '../../support/client.js';
import { insertChangedTool, insertMcpServer, insertWaitingTurn } from '../../support/factories.js';
import type { OauthPair } from '../../support/oauth-server.js';
import { newSchedule } from '../../support/schedules.js';
import { keyIdOf } from '../../support/tokens.js';
import { MULTIPART, filePart, multipartBody } from '../../support/upload.js';
import { useMcpServer, useOauthCalls } from '../../support/use.js';
import { confirmation, customResult } from '../../support/waiting-turns.js';

// oxlint-disable-next-line typescript/no-explicit-any -- tests look into what many operations answer
type Shown = any;

/** A request that succeeds, and what its entry is about. */
interface Arranged {
  path: string;
  body?: unknown;
  headers?: Record<string, string>;
  /** Of an operation without a resource in its path: what it is about, or the type of what it makes. */
  about?: { type: string; id: string } | string | null;
  details?: object;
}

const WRITES = new Set(['POST', 'PATCH', 'DELETE']);
const recorded = routes.filter(([, , , , , , records]) => records !== null);

/** decisions.md "Keys, approvers, audit log": every operation that is recorded, each with its commit and without. */
describe('operations that the audit log records', function () {
  this.timeout(60_000);
  const calls = useOauthCalls();
  const mcp = useMcpServer({ tools: [{ name: 'send' }, { name: 'search' }] });
  let pair: OauthPair;
  let count = 0;
  before(async () => {
    calls.allowed.push(mcp.host);
    pair = await calls.start();
  });

  const next = (): number => (count += 1);
  const made = async (path: string, body: unknown, headers = {}): Promise<Record<string, Shown>> => {
    const answer = await calls.service.api('POST', path, body, headers);
    expect(answer.status, JSON.stringify(answer.body)).to.equal(201);
    return answer.body as Record<string, Shown>;
  };
  const session = async (): Promise<string> => (await made('/v1/sessions', { model_id: 'test-model' })).id as string;
  const webhook = async (): Promise<string> => {
    await calls.service.db.query(`UPDATE webhooks SET deleted_at = now() WHERE deleted_at IS NULL`);
    return (await made('/v1/webhooks', NEW_WEBHOOK)).id as string;
  };
  const newAgent = () => ({ name: `a${next()}`, model_id: 'test-model' });
  const agent = async (): Promise<string> => (await made('/v1/agents', newAgent())).id as string;
  const schedule = async (): Promise<string> => (await made('/v1/schedules', newSchedule())).id as string;
  const memory = async (): Promise<string> => (await made('/v1/memories', { user: `u${next()}` })).id as string;
  const newKey = async (): Promise<string> => (await made('/v1/keys', NEW_KEY)).id as string;
  const server = async (fields = {}): Promise<string> =>
    (await made('/v1/mcp-servers', { name: `m${next()}`, url: `${mcp.url}?${count}`, ...fields })).id as string;
  const oauthServer = async (credentials = 'shared'): Promise<string> => {
    await calls.service.db.query(`UPDATE mcp_servers SET deleted_at = now() WHERE url = $1`, [pair.mcp.url]);
    return (await made('/v1/mcp-servers', { ...oauth(), credentials })).id as string;
  };
  const oauth = () => ({ name: `o${next()}`, url: pair.mcp.url, auth: { type: 'OAUTH' } });
  const credential = async (): Promise<string> => {
    const mcp_server_id = await oauthServer('user');
    return (await made('/v1/credentials', { mcp_server_id, user: 'ann', auth: { type: 'OAUTH' } })).id as string;
  };
  const skill = (): Buffer => multipartBody([filePart('SKILL.md', `---\nname: s${next()}\n---\n`)]);
  const at =
    (path: string) =>
    async (id: () => Promise<string>, more: Partial<Arranged> = {}): Promise<Arranged> => ({
      path: path.replace('{}', await id()),
      ...more,
    });

  const CASES: Record<string, () => Promise<Arranged>> = {
    uploadSkill: async () => ({ path: '/v1/skills', body: skill(), headers: MULTIPART, about: 'skill' }),
    deleteSkill: () => at('/v1/skills/{}')(async () => (await made('/v1/skills', skill(), MULTIPART)).id as string),
    registerMcpServer: async () => ({
      path: '/v1/mcp-servers',
      body: { name: `m${next()}`, url: `${mcp.url}?${count}` },
      about: 'mcp_server',
    }),
    updateMcpServer: () =>
      at('/v1/mcp-servers/{}')(server, {
        body: { name: `m${next()}`, auth: { type: 'BEARER', token: 'secret' } },
        details: { fields: ['name', 'auth'] },
      }),
    probeMcpServer: () => at('/v1/mcp-servers/{}/probe')(server),
    authorizeMcpServer: () => at('/v1/mcp-servers/{}/authorize')(oauthServer),
    mcpOauthCallback: async () => {
      const { id, auth } = await made('/v1/mcp-servers', { ...(await freed()), auth: { type: 'OAUTH' } });
      const url = await pair.consent(auth.authorization_url as string);
      return { path: `${url.pathname}${url.search}`, about: { type: 'mcp_server', id: id as string } };
    },
    acceptMcpTools: () =>
      at('/v1/mcp-servers/{}/accept-tools')(
        async () => {
          const id = `mcp_${next()}`;
          await insertMcpServer(calls.service.db, id);
          await insertChangedTool(calls.service.db, id);
          return id;
        },
        { body: { names: ['new'] } },
      ),
    callMcpTool: () => at('/v1/mcp-servers/{}/tools/send/call')(server, { body: { input: {} } }),
    deleteMcpServer: () => at('/v1/mcp-servers/{}')(server),
    putCredential: async () => ({
      path: '/v1/credentials',
      body: { mcp_server_id: await server({ credentials: 'user' }), user: 'ann', auth: { type: 'BEARER', token: 'x' } },
      about: 'credential',
    }),
    authorizeCredential: () => at('/v1/credentials/{}/authorize')(credential),
    deleteCredential: () => at('/v1/credentials/{}')(credential),
    deleteCredentials: async () => {
      await credential();
      return { path: '/v1/credentials?user=ann', about: null };
    },
    updateSession: () =>
      at('/v1/sessions/{}')(session, {
        body: { metadata: { a: 'b' }, budget: null },
        details: { fields: ['metadata', 'budget'] },
      }),
    deleteSession: () => at('/v1/sessions/{}')(session),
    authorizeSession: async () => {
      const mcp_server_id = await oauthServer('user');
      const { id } = await made('/v1/sessions', { model_id: 'test-model', mcp_servers: [mcp_server_id], user: 'ann' });
      return { path: `/v1/sessions/${id}/authorize`, body: { mcp_server_id } };
    },
    sendAnswers: () =>
      at('/v1/sessions/{}/events')(
        async () => {
          const id = await session();
          await insertWaitingTurn(calls.service.db, id);
          return id;
        },
        {
          body: { events: [confirmation('toolu_1', 'deny', 'not now')] },
          details: { type: 'user.tool_confirmation', tool_use_id: 'toolu_1', result: 'deny' },
        },
      ),
    createSessionToken: () =>
      at('/v1/sessions/{}/tokens')(session, { body: { scopes: ['read'], approver_groups: ['finance'] } }),
    deleteFile: () =>
      at('/v1/files/{}')(
        async () => (await made('/v1/files', multipartBody([filePart('a.txt')]), MULTIPART)).id as string,
      ),
    createAgent: async () => ({ path: '/v1/agents', body: newAgent(), about: 'agent' }),
    updateAgent: () =>
      at('/v1/agents/{}')(agent, { body: { instruction: 'Be kind.' }, details: { fields: ['instruction'] } }),
    deleteAgent: () => at('/v1/agents/{}')(agent),
    createWebhook: async () => {
      await webhook();
      return { path: '/v1/webhooks', body: NEW_WEBHOOK, about: 'webhook' };
    },
    updateWebhook: () =>
      at('/v1/webhooks/{}')(webhook, { body: { description: 'x' }, details: { fields: ['description'] } }),
    deleteWebhook: () => at('/v1/webhooks/{}')(webhook),
    rotateWebhookSecret: () => at('/v1/webhooks/{}/rotate-secret')(webhook),
    testWebhook: () => at('/v1/webhooks/{}/test')(webhook, { about: 'delivery' }),
    retryWebhookDelivery: async () => {
      const id = await webhook();
      const { body } = await calls.service.api('POST', `/v1/webhooks/${id}/test`);
      return { path: `/v1/webhooks/${id}/deliveries/${body.id}/retry`, about: { type: 'delivery', id: body.id } };
    },
    retryFailedWebhookDeliveries: () => at('/v1/webhooks/{}/retry-failed')(webhook),
    createSchedule: async () => ({ path: '/v1/schedules', body: newSchedule(), about: 'schedule' }),
    updateSchedule: () => at('/v1/schedules/{}')(schedule, { body: { name: 'x' }, details: { fields: ['name'] } }),
    deleteSchedule: () => at('/v1/schedules/{}')(schedule),
    pauseSchedule: () => at('/v1/schedules/{}/pause')(schedule),
    resumeSchedule: () =>
      at('/v1/schedules/{}/resume')(async () => {
        const id = await schedule();
        await calls.service.api('POST', `/v1/schedules/${id}/pause`);
        return id;
      }),
    runSchedule: () => at('/v1/schedules/{}/run')(schedule),
    createMemory: async () => ({ path: '/v1/memories', body: { user: `u${next()}` }, about: 'memory' }),
    deleteMemory: () => at('/v1/memories/{}')(memory),
    deleteMemories: async () => {
      await made('/v1/memories', { user: 'ann' });
      return { path: '/v1/memories?user=ann', about: null };
    },
    writeMemoryFile: () => at('/v1/memories/{}/files')(memory, { body: { path: '/a.md', content: 'x' } }),
    deleteMemoryFiles: () =>
      at('/v1/memories/{}/files?path=/a')(async () => {
        const id = await memory();
        await made(`/v1/memories/${id}/files`, { path: '/a/b.md', content: 'x' });
        return id;
      }),
    createErasure: async () => ({ path: '/v1/erasures', body: { user: `u${next()}` }, about: 'erasure' }),
    createKey: async () => ({
      path: '/v1/keys',
      body: NEW_KEY,
      about: 'key',
      details: { scopes: NEW_KEY.scopes, approver_groups: [] },
    }),
    updateKey: () => at('/v1/keys/{}')(newKey, { body: { name: 'x' }, details: { fields: ['name'] } }),
    revokeKey: () => at('/v1/keys/{}')(newKey),
  };
  /** A server of type OAUTH to register: its address is free. */
  const freed = async (): Promise<object> => {
    await calls.service.db.query(`UPDATE mcp_servers SET deleted_at = now() WHERE url = $1`, [pair.mcp.url]);
    return oauth();
  };

  const entries = async (): Promise<Shown[]> =>
    (await calls.service.api('GET', '/v1/audit-log?limit=100')).body.items as Shown[];
  /** Everything that operations change, without what processes write by themselves. */
  const state = async (): Promise<unknown> => {
    const parts = TABLES.map(
      ([table, left = []]) =>
        `SELECT '${table}' AS name, md5(coalesce(string_agg(row, ',' ORDER BY row), '')) AS rows FROM (
           SELECT (to_jsonb(t) - '{${left.join(',')}}'::text[])::text AS row FROM ${table} t) AS of_table`,
    );
    return calls.service.db.query(parts.join(' UNION ALL '));
  };
  const send = async ([method, , , , { id }]: (typeof routes)[number], arranged: Arranged): Promise<ApiResponse> => {
    const api = calls.service.as(id === 'mcpOauthCallback' ? null : everyGroup);
    return api(method, arranged.path, arranged.body, { ...arranged.headers, 'X-Actor': 'ada' });
  };
  let everyGroup: string;
  let keyName: string;
  before(async () => {
    keyName = 'every group';
    everyGroup = await calls.service.newKey({ name: keyName, approverGroups: ['*'] });
  });

  it('operations that write say each whether they are recorded, and those that are have a case here', () => {
    const names = recorded.map(([, , , , { id }]) => id);
    expect(Object.keys(CASES)).to.have.members(names);
    const others = routes.filter(([method, , , , , , records]) => WRITES.has(method) && records === null);
    expect(others.map(([, , , , { id }]) => id)).to.have.members(UNRECORDED);
    const reads = recorded.filter(([method]) => !WRITES.has(method)).map(([, , , , { id }]) => id);
    expect(reads).to.deep.equal(['mcpOauthCallback']);
  });

  for (const route of recorded) {
    const [, , , , { id, success }] = route;
    it(`${id} writes an entry with its change, or neither`, async () => {
      const arranged = await CASES[id]!();
      const before = await state();
      const known = await entries();
      mcp.calls.length = 0;

      await calls.service.db.query(BREAK_COMMIT);
      const broken = await send(route, arranged);
      await calls.service.db.query(MEND_COMMIT);
      expect(broken.status, JSON.stringify(broken.body)).to.be.at.least(422);
      expect(await state()).to.deep.equal(before);
      expect(await entries()).to.deep.equal(known);
      expect(mcp.calls, 'a call was sent without its entry').to.deep.equal([]);

      // A state of OAuth is used up by the attempt.
      const again = id === 'mcpOauthCallback' ? await CASES[id]!() : arranged;
      const since = (await entries())[0]?.id as string | undefined;
      const done = await send(route, again);
      expect(done.status, JSON.stringify(done.body)).to.equal(success.status);
      const all = await entries();
      const added = all.slice(
        0,
        all.findIndex((entry) => entry.id === since),
      );
      expect(added.map(({ action }) => action)).to.deep.equal([id]);
      const { about, details = {}, path } = again;
      const { id: _, created_at: __, key_id, request_id, resource, ...entry } = added[0];
      // A callback has the key of the request that began the authorization.
      const key = id === 'mcpOauthCallback' ? calls.service.key : everyGroup;
      expect(key_id).to.equal(await keyIdOf(calls.service.db, key));
      expect(entry).to.deep.equal({
        action: id,
        outcome: 'ok',
        source: 'key',
        key_name: id === 'mcpOauthCallback' ? null : keyName,
        actor: id === 'mcpOauthCallback' ? null : 'ada',
        session_id: /\/sessions\/(ses_\w+)/.exec(path)?.[1] ?? null,
        details,
      });
      expect(request_id).to.equal(done.headers.get('x-request-id'));
      if (typeof about === 'string') expect(resource).to.deep.equal({ type: about, id: done.body.id });
      else if (about !== undefined) expect(resource).to.deep.equal(about);
      else {
        const [, kind, named] = /^\/v1\/([a-z-]+)s\/(\w+)/.exec(path)!;
        const type = kind === 'memorie' ? 'memory' : kind!.replace('-', '_');
        expect(resource).to.deep.equal({ type, id: named });
      }
    });
  }

  it('operations that the audit log records in part leave no entry for what conversations are made of', async () => {
    const id = await session();
    await insertWaitingTurn(calls.service.db, id, { kind: 'custom_tool_result' });
    const known = await entries();
    for (const [path, method, body] of [
      [`/v1/sessions/${id}`, 'PATCH', { metadata: { a: 'c' } }],
      [`/v1/sessions/${id}/tokens`, 'POST', { scopes: ['read'] }],
      [`/v1/sessions/${id}/tokens`, 'POST', { scopes: ['read'], approver_groups: [] }],
      [`/v1/sessions/${id}/events`, 'POST', { events: [customResult('toolu_1', 'x')] }],
    ] as const) {
      const answer = await calls.service.api(method, path, body);
      expect(answer.status, JSON.stringify(answer.body)).to.be.below(300);
    }
    expect(await entries()).to.deep.equal(known);
  });

  it('operations that are replayed or repeated leave no second entry', async () => {
    const id = await session();
    await insertWaitingTurn(calls.service.db, id);
    const body = { events: [confirmation('toolu_1', 'allow'), confirmation('toolu_1', 'allow')] };
    for (const headers of [{ 'Idempotency-Key': 'one' }, { 'Idempotency-Key': 'one' }, {}]) {
      expect((await calls.service.api('POST', `/v1/sessions/${id}/events`, body, headers as never)).status).to.equal(
        201,
      );
    }
    const { body: page } = await calls.service.api('GET', `/v1/audit-log?resource_id=${id}`);
    expect(page.items.map(({ action }: { action: string }) => action)).to.deep.equal(['sendAnswers']);
    const newWebhook = { ...NEW_WEBHOOK, description: 'replayed' };
    await calls.service.db.query(`UPDATE webhooks SET deleted_at = now()`);
    const first = await calls.service.api('POST', '/v1/webhooks', newWebhook, { 'Idempotency-Key': 'two' });
    const second = await calls.service.api('POST', '/v1/webhooks', newWebhook, { 'Idempotency-Key': 'two' });
    expect(second.headers.get('idempotency-replayed')).to.equal('true');
    const { body: of } = await calls.service.api('GET', `/v1/audit-log?resource_id=${first.body.id}`);
    expect(of.items).to.have.length(1);
  });
});

const NEW_WEBHOOK = { url: 'https://hooks.invalid/', event_types: ['turn.completed'] };
const NEW_KEY = { name: 'desk', scopes: ['sessions:read'] };

/** What conversations are made of. */
const UNRECORDED = [
  ...['createSession', 'sendMessage', 'cancelTurn', 'continueTurn', 'forkSession', 'releaseQueue', 'withdrawMessage'],
  'uploadFile',
];

const TABLES: [table: string, left?: string[]][] = [
  ['skills'],
  ['agents'],
  ['agent_versions'],
  ['files'],
  ['memories'],
  ['memory_files'],
  ['memory_versions'],
  ['erasures'],
  ['mcp_servers'],
  ['user_credentials'],
  ['sessions'],
  ['turns'],
  ['events'],
  ['waits'],
  ['webhooks'],
  ['webhook_deliveries', ['wake_at', 'attempts', 'state', 'next_attempt_at', 'claimed_until']],
  ['schedules', ['synced_version', 'refill_at', 'checked_at']],
  ['schedule_runs'],
  ['api_keys', ['last_used_at']],
  ['audit_log'],
];

/** The connection of a transaction with an entry dies at its commit. */
const BREAK_COMMIT = `
  CREATE FUNCTION break_commit() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END $$;
  CREATE CONSTRAINT TRIGGER break_commit AFTER INSERT ON audit_log DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW EXECUTE FUNCTION break_commit()`;
const MEND_COMMIT = 'DROP FUNCTION break_commit CASCADE';
