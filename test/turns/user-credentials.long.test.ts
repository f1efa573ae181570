import { expect } from 'chai';
import { runTurn } from '../../ops/turn.js';
import { runWritten } from '../ops/written.js';
import { sampleOf } from '../support/metrics.js';
import { eventually } from '../support/eventually.js';
import { startOauthPair, type OauthPair } from '../support/oauth-server.js';
import { expectNoSecrets } from '../support/secrets.js';
import { startMcpServer, tokenGateway, type TestMcpServer } from '../support/mcp-server.js';
import { steps, toolUse } from '../support/scripted-model.js';
import { startTurnService, type TurnService } from '../support/turns.js';
import { startWebhookReceiver, type WebhookReceiver } from '../support/webhook-receiver.js';
import { webhookCalls } from '../support/webhooks.js';
import { confirmation, requiredActions, sendAnswers } from '../support/waiting-turns.js';

/** A server that takes some tokens, and records which token each call had. */
interface TokenServer {
  mcp: TestMcpServer;
  accepted: Set<string>;
  /** What reached a tool: the number of the call, and the token of its request. */
  calls: { n: number; token: string }[];
}

async function startTokenServer(): Promise<TokenServer> {
  const server: Omit<TokenServer, 'mcp'> = { accepted: new Set(['own']), calls: [] };
  const mcp = await startMcpServer({ tools: [{ name: 'read' }, { name: 'write' }] });
  mcp.options.gateway = tokenGateway(
    (token) => server.accepted.has(token),
    (token, { n }) => server.calls.push({ n: n as number, token }),
  );
  return { mcp, ...server };
}

/** decisions.md "User credentials", against servers that know their users by their tokens. */
describe('the credential of a user', () => {
  let service: TurnService;
  let server: TokenServer;
  let pair: OauthPair;
  let receiver: WebhookReceiver;
  let serverId: string;
  let guardedId: string;
  before(async () => {
    server = await startTokenServer();
    pair = await startOauthPair([{ name: 'echo' }]);
    receiver = await startWebhookReceiver();
    const hosts = [server.mcp.host, receiver.host, ...pair.hosts];
    service = await startTurnService({ config: { mcpAllowedHosts: hosts, webhookDeliveries: true } });
    const auth = { type: 'BEARER', token: 'own' };
    const body = { name: 'notes', url: server.mcp.url, auth, credentials: 'user' };
    const made = await service.api('POST', '/v1/mcp-servers', body);
    expect(made.body, JSON.stringify(made.body)).to.include({ credentials: 'user' });
    serverId = made.body.id;
    const guarded = { name: 'guarded', url: pair.mcp.url, auth: { type: 'OAUTH' }, credentials: 'user' };
    guardedId = (await service.api('POST', '/v1/mcp-servers', guarded)).body.id;
  });
  after(async () => {
    await service.close();
    await server.mcp.close();
    await receiver.close();
    await pair.close();
  });
  afterEach(() => {
    service.model.reset();
    server.calls.length = 0;
  });

  const session = (user: string | null, tools: object[] = [], mcp_servers = [serverId]): Promise<string> =>
    service.session({ user, mcp_servers, tools });
  const put = (user: string, token: string, headers = {}) =>
    service.api('POST', '/v1/credentials', { mcp_server_id: serverId, user, auth: { type: 'BEARER', token } }, headers);
  const call = (n: number, id = `toolu_${n}`, tool = 'read'): ReturnType<typeof toolUse> =>
    toolUse(`mcp__notes__${tool}`, { n }, { id });
  const results = async (sessionId: string) =>
    (await service.history(sessionId)).filter(({ type }) => type === 'agent.tool_result');

  it('the credential of a user cannot be authorized where its server cannot be, and says why', async () => {
    const sessionId = await session('zoe', [], [guardedId]);
    const put = () =>
      service.api('POST', '/v1/credentials', { mcp_server_id: guardedId, user: 'zoe', auth: { type: 'OAUTH' } });
    const { id } = (await put()).body;
    const requests = [
      put,
      () => service.api('POST', `/v1/credentials/${id}/authorize`),
      () => service.api('POST', `/v1/sessions/${sessionId}/authorize`, { mcp_server_id: guardedId }),
    ];
    const change = (fields: string, ...values: string[]) =>
      service.db.query(`UPDATE mcp_servers SET ${fields} WHERE id = $1`, [guardedId, ...values]);
    for (const [url, type] of [
      ['http://10.0.0.1/mcp', 'invalid_mcp_server_url'],
      [`${server.mcp.url}?other`, 'mcp_oauth_failed'],
    ]) {
      await change('url = $2', url!);
      for (const request of requests) {
        const { status, body } = await request();
        expect([status, body.error.type], url).to.deep.equal([422, type]);
      }
    }
    await change('url = $2, deleted_at = now()', pair.mcp.url);
    const { status, body } = await requests[1]!();
    expect([status, body.error.type]).to.deep.equal([404, 'mcp_server_not_found']);
    await change('deleted_at = NULL');
    expect((await service.api('DELETE', '/v1/credentials?user=zoe')).status).to.equal(204);
  });

  it('the credential of a user is stored, replaced, listed and deleted, without its secret', async () => {
    const made = await put('ann', 'secret-1');
    expect(made.status, JSON.stringify(made.body)).to.equal(201);
    expect(made.body).to.deep.include({ mcp_server_id: serverId, user: 'ann', auth: { type: 'BEARER', name: null } });
    expect(made.body.id).to.match(/^cred_/);
    const again = await put('ann', 'secret-2');
    expect(again.body.id).to.equal(made.body.id);
    await put('bob', 'secret-3');
    const list = (query: string) => service.api('GET', `/v1/credentials${query}`);
    expect((await list('')).body.items.map(({ user }: { user: string }) => user)).to.deep.equal(['bob', 'ann']);
    const ofAnn = await list('?user=ann');
    expect(ofAnn.body.items).to.have.length(1);
    expect((await list(`?mcp_server_id=${guardedId}`)).body.items).to.deep.equal([]);
    expect(JSON.stringify([made.body, ofAnn.body])).not.to.include('secret');
    const one = `/v1/credentials/${made.body.id}`;
    expect((await service.api('GET', one)).body).to.include({ user: 'ann', last_error: null });
    expect((await service.api('DELETE', one)).status).to.equal(204);
    const gone = await service.api('GET', one);
    expect([gone.status, gone.body.error.type]).to.deep.equal([404, 'credential_not_found']);
    expect((await service.api('DELETE', '/v1/credentials?user=bob')).status).to.equal(204);
    expect((await service.api('DELETE', '/v1/credentials?user=bob')).status).to.equal(204);
    expect((await service.api('DELETE', '/v1/credentials')).status).to.equal(422);
    expect((await list('')).body.items).to.deep.equal([]);
  });

  it('the credential of a user is refused with the place of the error', async () => {
    const refused = async (body: object): Promise<string> =>
      (await service.api('POST', '/v1/credentials', body)).body.error.details?.errors?.[0]?.path;
    const base = { mcp_server_id: serverId, user: 'ann', auth: { type: 'BEARER', token: 't' } };
    expect(await refused({ ...base, user: 'a b' })).to.equal('/user');
    expect(await refused({ ...base, auth: { type: 'NONE' } })).to.match(/^\/auth/);
    expect(await refused({ ...base, auth: { type: 'OAUTH' } })).to.equal('/auth/type');
    const missing = await service.api('POST', '/v1/credentials', { ...base, mcp_server_id: 'mcp_x' });
    expect([missing.status, missing.body.error.type]).to.deep.equal([404, 'mcp_server_not_found']);
  });

  it('the credential of a user is used for the calls of its user only, never the server’s own', async () => {
    server.accepted.add('t-ann').add('t-bob');
    await put('ann', 't-ann');
    await put('bob', 't-bob');
    service.model.on(/ann/, steps([call(1)], 'Done.'));
    service.model.on(/bob/, steps([call(2)], 'Done.'));
    const [ann, bob] = [await session('ann'), await session('bob')];
    await Promise.all([service.run(ann, 'for ann'), service.run(bob, 'for bob')]);
    expect(new Set(server.calls.map(({ n, token }) => `${n} ${token}`))).to.deep.equal(new Set(['1 t-ann', '2 t-bob']));
    const { body } = await service.api('GET', '/v1/credentials?user=ann');
    await eventually('the use is shown', async () => {
      const shown = await service.api('GET', `/v1/credentials/${body.items[0].id}`);
      return shown.body.last_used_at !== null;
    });
    const shown = await service.api('GET', `/v1/mcp-servers/${serverId}`);
    expect([shown.body.last_connected_at, shown.body.last_connect_error]).to.deep.equal([null, null]);
  });

  it('the credential of a user is waited for, in all sessions of the user, and lets the calls run by itself', async () => {
    server.accepted.add('t-cem');
    await webhookCalls(service.api, receiver.url).create({ event_types: ['agent.requires_action'] });
    service.model.on(/one/, steps([call(1)], 'Done.'));
    service.model.on(/two/, steps([call(2)], 'Done.'));
    const sessions = [await session('cem'), await session('cem')];
    const turnId = await service.send(sessions[0]!, 'one');
    await service.send(sessions[1]!, 'two');
    for (const [n, id] of sessions.entries()) {
      const [action] = await requiredActions(service, id);
      expect(action).to.deep.include({
        type: 'mcp_authorization',
        tool_use_id: `toolu_${n + 1}`,
        mcp_server_id: serverId,
      });
      expect(action).to.deep.include({ name: 'mcp__notes__read', input: { n: n + 1 } });
      const asked = (await service.history(id)).filter(({ type }) => type === 'agent.requires_action');
      expect(asked).to.have.length(1);
      expect(asked[0].required_actions).to.deep.equal([action]);
    }
    const shown = await runWritten(() => runTurn(['show', turnId], service.config.databaseUrl));
    expect(shown.out).to.match(/^Waits for\n *mcp_authorization {2}step 1\.0 {2}since \S+Z {2}expires \S+Z$/m);
    expect(await sampleOf(service, 'turns_waiting')).to.equal(2);
    expect(await sampleOf(service, 'turns_oldest_waiting_seconds')).to.be.above(0);
    const found = await service.api('GET', '/v1/sessions?requires_action=true');
    expect(found.body.items.map(({ id }: { id: string }) => id)).to.have.members(sessions);
    expect(server.calls).to.deep.equal([]);
    await eventually('a webhook for each of them', () => receiver.received.length === 2);
    expect(receiver.received.map(({ payload }) => payload.data.session_id)).to.have.members(sessions);
    await put('cem', 't-cem');
    for (const id of sessions) expect((await service.ended(id)).type).to.equal('turn.completed');
    expect(server.calls.map(({ token }) => token)).to.deep.equal(['t-cem', 't-cem']);
  });

  it('the credential of a user that the server refuses makes the call wait, and the reason is shown until the next success', async () => {
    server.accepted.delete('t-dan');
    const { body: made } = await put('dan', 't-dan');
    service.model.on(/Go/, steps([call(1)], 'Done.'));
    const id = await session('dan');
    await service.send(id, 'Go');
    await requiredActions(service, id);
    const shown = async () => (await service.api('GET', `/v1/credentials/${made.id}`)).body;
    expect(await shown()).to.include({ last_error: 'it rejected the credential (HTTP 401)', last_used_at: null });
    server.accepted.add('t-dan');
    await put('dan', 't-dan');
    await service.ended(id);
    expect(server.calls).to.deep.equal([{ n: 1, token: 't-dan' }]);
    expect((await results(id)).map(({ is_error }) => is_error)).to.deep.equal([false]);
    await eventually('the error is gone', async () => (await shown()).last_error === null);
  });

  it('the credential of a user can be declined, and cannot be allowed', async () => {
    service.model.on(/Go/, steps([call(1)], 'Done.'));
    const id = await session('eve');
    await service.send(id, 'Go');
    await requiredActions(service, id);
    const allowed = await sendAnswers(service, id, [confirmation('toolu_1', 'allow')]);
    expect([allowed.status, allowed.body.error.details.errors[0].path]).to.deep.equal([422, '/events/0/result']);
    const denied = await sendAnswers(service, id, [confirmation('toolu_1', 'deny', 'not now')]);
    expect(denied.status, JSON.stringify(denied.body)).to.equal(201);
    await service.ended(id);
    const [result] = await results(id);
    expect(result).to.include({ is_error: true });
    expect(result.content).to.match(/did not authorize .* not now/);
    const again = await sendAnswers(service, id, [confirmation('toolu_1', 'deny', 'not now')]);
    expect([again.status, again.body.items[0].id]).to.deep.equal([201, denied.body.items[0].id]);
    const other = await sendAnswers(service, id, [confirmation('toolu_1', 'deny', 'other')]);
    expect([other.status, other.body.error.details.state]).to.deep.equal([409, 'denied']);
  });

  it('the credential of a user comes after the confirmation that a call needs, and calls that need nothing run first', async () => {
    server.accepted.add('t-fay');
    const tools = [
      {
        type: 'mcp_toolset',
        mcp_server_id: serverId,
        configs: [{ name: 'write', permission_policy: { type: 'always_ask' } }],
      },
    ];
    const asked = [call(1, 'toolu_w', 'write'), toolUse('list_files', {}, { id: 'toolu_l' })];
    service.model.on(/Go/, steps(asked, 'Done.'));
    const id = await session('fay', tools);
    await service.send(id, 'Go');
    const [first] = await requiredActions(service, id);
    expect(first).to.include({ type: 'tool_confirmation', tool_use_id: 'toolu_w' });
    await sendAnswers(service, id, [confirmation('toolu_w', 'allow')]);
    await eventually('the call waits for an authorization', async () => {
      const [action] = await requiredActions(service, id);
      return action.type === 'mcp_authorization';
    });
    const repeated = await sendAnswers(service, id, [confirmation('toolu_w', 'allow')]);
    expect(repeated.status).to.equal(201);
    await put('fay', 't-fay');
    await service.ended(id);
    expect(server.calls).to.deep.equal([{ n: 1, token: 't-fay' }]);
    const types = (await service.history(id)).map(({ type, tool_use_id }) => `${type} ${tool_use_id ?? ''}`.trim());
    expect(types.indexOf('agent.tool_result toolu_l')).to.be.lessThan(types.indexOf('agent.requires_action'));
  });

  it('the credential of a user that is missing lets the turn be cancelled', async () => {
    service.model.on(/Go/, steps([call(1)], 'Done.'));
    const id = await session('gil');
    await service.send(id, 'Go');
    await requiredActions(service, id);
    await service.api('POST', `/v1/sessions/${id}/cancel`);
    expect((await service.ended(id)).type).to.equal('turn.cancelled');
    const denied = await sendAnswers(service, id, [confirmation('toolu_1', 'deny')]);
    expect([denied.status, denied.body.error.details.state]).to.deep.equal([409, 'cancelled']);
  });

  it('the credential of a user does not exist for a session without a user: the tools are absent', async () => {
    service.model.on(/Go/, 'Done.');
    const id = await session(null);
    const events = await service.run(id, 'Go');
    const error = events.find(({ type }) => type === 'agent.mcp_error');
    expect(error).to.include({ mcp_server_id: serverId });
    expect(error.message).to.match(/acts as a user, and the session has none/);
    expect(JSON.stringify(service.model.requests.at(-1))).not.to.include('mcp__notes__read');
  });

  it('the credential of a user that was just stored keeps its calls when workers hear what it replaced; one that is deleted ends them', async () => {
    server.accepted.add('t-max').add('t-nia');
    const { body: ofMax } = await put('max', 't-old');
    await put('max', 't-max');
    const { body: ofNia } = await put('nia', 't-nia');
    let answer = (): void => undefined;
    const held = new Promise<void>((resolve) => (answer = resolve));
    const [tool] = server.mcp.options.tools!;
    tool!.run = () => held.then(() => 'read');
    service.model.on(/Go/, steps([call(1)], 'Done.'));
    const [max, nia] = [await session('max'), await session('nia')];
    await service.send(max, 'Go');
    await service.send(nia, 'Go');
    await eventually('both calls are under way', () => server.calls.length === 2);
    await service.db.query(`SELECT pg_notify('user_credentials', $1)`, [`${ofMax.id}:2`]);
    await service.api('DELETE', `/v1/credentials/${ofNia.id}`);
    // The worker hears of both in this order.
    await service.ended(nia);
    answer();
    await service.ended(max);
    delete tool!.run;
    expect((await results(nia)).map(({ is_error }) => is_error)).to.deep.equal([true]);
    expect((await results(max)).map(({ is_error }) => is_error)).to.deep.equal([false]);
  });

  it('the credential of a user that is deleted is not used by the next call', async () => {
    server.accepted.add('t-hal');
    const { body: made } = await put('hal', 't-hal');
    service.model.on(/one/, steps([call(1)], 'Done.'));
    service.model.on(/two/, steps([call(2)], 'Done.'));
    const id = await session('hal');
    await service.run(id, 'one');
    await service.api('DELETE', `/v1/credentials/${made.id}`);
    await service.send(id, 'two');
    await requiredActions(service, id);
    expect(server.calls).to.deep.equal([{ n: 1, token: 't-hal' }]);
    await service.api('POST', `/v1/sessions/${id}/cancel`);
    await service.ended(id);
  });

  it('the credential of a user of type OAUTH is authorized from the session, and the first one lists the tools of its server', async () => {
    const id = await session('ivy', [], [guardedId]);
    const errorOf = async (text: string) => {
      service.model.on(new RegExp(text), 'Done.');
      return (await service.run(id, text)).find(({ type }) => type === 'agent.mcp_error');
    };
    const unlisted = await errorOf('Before');
    expect(unlisted).to.include({ mcp_server_id: guardedId });
    expect(unlisted.message).to.include('nobody has authorized it. Let the user of the session do so');
    const authorize = (session_id: string, mcp_server_id = guardedId) =>
      service.api('POST', `/v1/sessions/${session_id}/authorize`, { mcp_server_id });
    const started = await authorize(id);
    expect(started.status, JSON.stringify(started.body)).to.equal(200);
    expect(started.body).to.have.keys(['authorization_url', 'expires_at']);
    const callback = await pair.consent(started.body.authorization_url);
    const page = await fetch(`${service.url}${callback.pathname}${callback.search}`);
    expect(page.status, await page.clone().text()).to.equal(200);
    const { body } = await service.api('GET', `/v1/mcp-servers/${guardedId}`);
    expect(body.tools.map(({ name }: { name: string }) => name)).to.deep.equal(['echo']);
    expect(body.auth.status, 'of the server itself').to.equal('authorization_required');
    expect(await errorOf('Afterwards')).to.equal(undefined);
    service.model.on(/Go/, steps([toolUse('mcp__guarded__echo')], 'Done.'));
    expect((await service.run(id, 'Go')).at(-1)!.type).to.equal('turn.completed');

    const jay = await session('jay', [], [guardedId]);
    service.model.on(/Jay/, steps([toolUse('mcp__guarded__echo')], 'Done.'));
    await service.send(jay, 'Jay');
    await requiredActions(service, jay);
    const second = await authorize(jay);
    const toSecond = await pair.consent(second.body.authorization_url);
    expect((await fetch(`${service.url}${toSecond.pathname}${toSecond.search}`)).status).to.equal(200);
    expect((await service.ended(jay)).type).to.equal('turn.completed');
    const list = await service.api('GET', `/v1/credentials?mcp_server_id=${guardedId}`);
    expect(list.body.items.map(({ auth }: { auth: { status: string } }) => auth.status)).to.deep.equal([
      'authorized',
      'authorized',
    ]);
    for (const [session_id, mcp_server_id] of [
      [await session(null, [], [guardedId]), guardedId],
      [await session('ivy'), guardedId],
      [await session('ivy'), serverId],
    ] as const) {
      const refused = await authorize(session_id, mcp_server_id);
      expect([refused.status, refused.body.error.details.errors[0].path]).to.deep.equal([422, '/mcp_server_id']);
    }
    await expectNoSecrets(service, id, new Set(pair.shown));
  });

  it('the credential of a user that cannot be refreshed makes the next call wait', async () => {
    const id = await session('ivy', [], [guardedId]);
    for (const token of pair.shown) pair.rejected.add(token);
    pair.gateway = (req, res) => {
      if (!req.url!.startsWith('/token')) return false;
      res.writeHead(400, { 'content-type': 'application/json' }).end('{"error":"invalid_grant"}');
      return true;
    };
    service.model.on(/Again/, steps([toolUse('mcp__guarded__echo')], 'Done.'));
    await service.send(id, 'Again');
    await requiredActions(service, id);
    const { body } = await service.api('GET', `/v1/credentials?user=ivy`);
    expect(body.items[0].last_error).to.match(
      /authorization has ended, or its refresh was refused|authorization server refused the/,
    );
    expect(body.items[0].auth.status).to.equal('authorization_required');
    pair.gateway = undefined;
    const again = await service.api('POST', `/v1/credentials/${body.items[0].id}/authorize`);
    expect(again.status, JSON.stringify(again.body)).to.equal(200);
    const callback = await pair.consent(again.body.auth.authorization_url);
    await fetch(`${service.url}${callback.pathname}${callback.search}`);
    expect((await service.ended(id)).type).to.equal('turn.completed');
  });

  it('the credential of a user is wiped with its server', async () => {
    await put('kay', 't-kay');
    const made = await service.api('POST', '/v1/mcp-servers', {
      name: 'other',
      url: `${server.mcp.url}?other`,
      auth: { type: 'BEARER', token: 'own' },
      credentials: 'user',
    });
    const body = { mcp_server_id: made.body.id, user: 'kay', auth: { type: 'BEARER', token: 't-kay' } };
    const { body: credential } = await service.api('POST', '/v1/credentials', body);
    await service.api('DELETE', `/v1/mcp-servers/${made.body.id}`);
    expect((await service.api('GET', `/v1/credentials/${credential.id}`)).status).to.equal(404);
    const [{ count }] = await service.db.query<[{ count: number }]>(
      'SELECT count(*)::integer AS count FROM user_credentials WHERE mcp_server_id = $1',
      [made.body.id],
    );
    expect(count).to.equal(0);
  });
});

describe('a call that nobody authorizes', () => {
  it('a call that nobody authorizes ends in time with a result that says so', async () => {
    const server = await startTokenServer();
    const service = await startTurnService({
      config: { mcpAllowedHosts: [server.mcp.host], actionTimeoutSeconds: 1 },
    });
    const auth = { type: 'BEARER', token: 'own' };
    const body = { name: 'notes', url: server.mcp.url, auth, credentials: 'user' };
    const { id } = (await service.api('POST', '/v1/mcp-servers', body)).body;
    service.model.on(/Go/, steps([toolUse('mcp__notes__read', { n: 1 })], 'Done.'));
    const sessionId = await service.session({ user: 'ann', mcp_servers: [id] });
    const events = await service.run(sessionId, 'Go');
    const result = events.find(({ type }) => type === 'agent.tool_result');
    expect(result.content).to.match(/not authorized in time/);
    expect(result.is_error).to.equal(true);
    expect(server.calls).to.deep.equal([]);
    await service.close();
    await server.mcp.close();
  });
});
