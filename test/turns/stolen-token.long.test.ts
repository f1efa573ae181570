import { expect } from 'chai';
import { TOKEN_SCOPE_NAMES } from '../../src/projects/permissions.js';
import type { ApiCall, ApiResponse } from '../support/client.js';
import { startOauthPair } from '../support/oauth-server.js';
import { message, steps, text, toolUse } from '../support/scripted-model.js';
import { openSse } from '../support/sse-reader.js';
import { newToken, signToken } from '../support/tokens.js';
import { upload } from '../support/upload.js';
import { expectAcceptedRequests, use, useTurnService } from '../support/use.js';

const outcomeOf = ({ status, body }: ApiResponse): unknown[] => [status, body?.error?.type ?? 'ok'];
const FORBIDDEN = [403, 'insufficient_scope'];
const WITHOUT_COPIES = TOKEN_SCOPE_NAMES.filter((scope) => scope !== 'fork' && scope !== 'workspace');

/** What somebody can do who has the token of a page, with every scope: docs/security.md. */
describe('a stolen session token', () => {
  const guarded = use(
    () => startOauthPair([{ name: 'read' }]),
    (pair) => pair.close(),
  );
  const service = useTurnService(() => ({ config: { mcpAllowedHosts: guarded.hosts } }));
  expectAcceptedRequests(service);

  /** A session with a turn in which a file was delivered. */
  const talk = async (): Promise<{ id: string; turnId: string; fileId: string; lastEventId: string }> => {
    service.model.on(
      /Secret/,
      steps(message([text('So.'), toolUse('deliver_file', { filename: 'a.txt', content: 'secret' })]), 'Delivered.'),
    );
    const id = await service.session();
    const turnId = await service.send(id, 'Secret');
    await service.ended(id);
    const history = await service.history(id);
    const fileId = history.find(({ type }) => type === 'agent.file')!.file.id as string;
    return { id, turnId, fileId, lastEventId: history.at(-1)!.id as string };
  };
  const thief = async (sessionId: string, scopes = TOKEN_SCOPE_NAMES): Promise<ApiCall> =>
    service.as(await newToken(service, sessionId, { scopes }));

  it('a stolen session token reads nothing of another session by the ids of its turns, events and files', async () => {
    const victim = await talk();
    const own = await service.session();
    const api = await thief(own);
    for (const path of [
      `/turns/${victim.turnId}`,
      `/turns/${victim.turnId}/timeline`,
      `/events/${victim.lastEventId}`,
    ]) {
      expect(outcomeOf(await api('GET', `/v1/sessions/${victim.id}${path}`)), path).to.deep.equal([
        404,
        'session_not_found',
      ]);
      expect((await api('GET', `/v1/sessions/${own}${path}`)).status, path).to.equal(404);
    }
    expect((await api('GET', `/v1/sessions/${own}/events?turn_id=${victim.turnId}`)).body.items).to.deep.equal([]);
    for (const rest of ['', '/content', '/link']) {
      expect(outcomeOf(await api('GET', `/v1/files/${victim.fileId}${rest}`))).to.deep.equal([404, 'file_not_found']);
    }
    const attached = { content: 'Read it', files: [victim.fileId] };
    expect(outcomeOf(await api('POST', `/v1/sessions/${own}/messages`, attached))).to.deep.equal([
      404,
      'file_not_found',
    ]);
  });

  it('a stolen session token gets nothing of another session by a place in its stream', async () => {
    const victim = await talk();
    service.model.on(/Mine/, 'Mine too.');
    const own = await service.session();
    await service.run(own, 'Mine');
    const token = await newToken(service, own);
    const stream = `${service.url}/v1/sessions/${own}/events/stream`;
    const after = await service.as(token)(
      'GET',
      `/v1/sessions/${own}/events/stream?follow=session&after=${victim.lastEventId}`,
    );
    expect(outcomeOf(after)).to.deep.equal([404, 'event_not_found']);
    const resumed = await openSse(stream, token, victim.lastEventId);
    await resumed.ended;
    expect(resumed.frames.every(({ data }) => data.turn_id !== victim.turnId)).to.equal(true);
    expect(resumed.frames.at(-1)!.data.type).to.equal('turn.completed');
  });

  it('a stolen session token makes no fork without the scope, and reads neither a fork that a key made nor, from there, what was before', async () => {
    const { id, fileId } = await talk();
    const api = await thief(id, WITHOUT_COPIES);
    expect(outcomeOf(await api('POST', `/v1/sessions/${id}/fork`, {}))).to.deep.equal(FORBIDDEN);
    const { body: uploaded } = await upload({ api: await thief(id) }, 'a.txt');
    const { status, body: fork } = await service.api('POST', `/v1/sessions/${id}/fork`, {});
    expect(status).to.equal(201);
    for (const caller of [api, await thief(id)])
      expect(outcomeOf(await caller('GET', `/v1/sessions/${fork.id}`))).to.deep.equal([404, 'session_not_found']);
    const ofFork = await thief(fork.id as string);
    expect(outcomeOf(await ofFork('GET', `/v1/sessions/${id}`))).to.deep.equal([404, 'session_not_found']);
    for (const file of [fileId, uploaded.id]) {
      expect(outcomeOf(await ofFork('GET', `/v1/files/${file}`)), file).to.deep.equal([404, 'file_not_found']);
    }
  });

  it('a stolen session token reads no workspace without the scope, and with it none of another session', async () => {
    const { id } = await talk();
    const other = await service.session();
    const [without, api] = [await thief(id, WITHOUT_COPIES), await thief(id)];
    for (const path of ['files', 'content?path=a.txt', 'archive']) {
      expect(outcomeOf(await without('GET', `/v1/sessions/${id}/workspace/${path}`)), path).to.deep.equal(FORBIDDEN);
      const read = outcomeOf(await api('GET', `/v1/sessions/${other}/workspace/${path}`));
      expect(read, path).to.deep.equal([404, 'session_not_found']);
    }
  });

  it('a stolen session token starts authorizations only of its own session, for its own user, and only of its servers', async () => {
    const body = { name: 'guarded', url: guarded.mcp.url, auth: { type: 'OAUTH' }, credentials: 'user' };
    const { id: serverId } = (await service.api('POST', '/v1/mcp-servers', body)).body;
    const sessionOf = (user: string, mcp_servers: string[]): Promise<string> => service.session({ user, mcp_servers });
    const [own, other, without] = [
      await sessionOf('eve', [serverId]),
      await sessionOf('ada', [serverId]),
      await sessionOf('eve', []),
    ];
    const authorize = async (session: string, token: string): Promise<unknown[]> =>
      outcomeOf(await (await thief(token))('POST', `/v1/sessions/${session}/authorize`, { mcp_server_id: serverId }));
    expect(await authorize(own, own)).to.deep.equal([200, 'ok']);
    expect(await authorize(other, own)).to.deep.equal([404, 'session_not_found']);
    expect(await authorize(without, without)).to.deep.equal([422, 'validation_error']);
    const { items } = (await service.api('GET', '/v1/credentials')).body;
    expect(items.map(({ user }: { user: string }) => user)).to.deep.equal(['eve']);
    const api = await thief(own);
    expect(outcomeOf(await api('GET', '/v1/credentials?user=ada'))).to.deep.equal(FORBIDDEN);
    expect(outcomeOf(await api('DELETE', '/v1/credentials?user=ada'))).to.deep.equal(FORBIDDEN);
    const auth = { type: 'BEARER', token: 'of eve' };
    const stored = await api('POST', '/v1/credentials', { mcp_server_id: serverId, user: 'ada', auth });
    expect(outcomeOf(stored)).to.deep.equal(FORBIDDEN);
  });

  it('a stolen session token gets no answer that another session or the back end got for an Idempotency-Key', async () => {
    service.model.on(/Hello/, 'Hi.');
    const once = { 'Idempotency-Key': 'order-17' };
    const other = await service.session();
    const { body: sent } = await service.api('POST', `/v1/sessions/${other}/messages`, { content: 'Hello' }, once);
    await service.ended(other);
    const own = await service.session();
    const api = await thief(own);
    const mine = await api('POST', `/v1/sessions/${own}/messages`, { content: 'Hello' }, once);
    expect([mine.status, mine.headers.get('idempotency-replayed'), mine.body.id === sent.id]).to.deep.equal([
      201,
      null,
      false,
    ]);
    expect(outcomeOf(await api('POST', `/v1/sessions/${other}/messages`, { content: 'Hello' }, once))).to.deep.equal([
      404,
      'session_not_found',
    ]);
    expect(outcomeOf(await api('POST', '/v1/sessions', { model_id: 'scripted' }, once))).to.deep.equal(FORBIDDEN);
  });

  it('a stolen session token changes neither the budget nor anything else that a turn may cost', async () => {
    const id = await service.session();
    const api = await thief(id);
    for (const [method, path, body] of [
      ['PATCH', `/v1/sessions/${id}`, { budget: null }],
      ['DELETE', `/v1/sessions/${id}`, undefined],
      ['POST', '/v1/schedules', { name: 'x' }],
      ['POST', '/v1/webhooks', { url: 'https://evil.example.com/' }],
      ['POST', `/v1/sessions/${id}/messages`, { content: 'Hi', model_id: 'scripted' }],
    ] as const) {
      expect(outcomeOf(await api(method, path, body)), `${method} ${path}`).to.deep.equal(FORBIDDEN);
    }
  });

  it('a stolen session token is cut off a stream of the session when it ends', async () => {
    const id = await service.session();
    const token = await signToken(service, id, { expiresAt: Date.now() + 1000 });
    const stream = await openSse(`${service.url}/v1/sessions/${id}/events/stream?follow=session`, token);
    await stream.ended;
    expect([stream.status, stream.retry]).to.deep.equal([200, 2000]);
    expect((await service.as(token)('GET', `/v1/sessions/${id}`)).status).to.equal(401);
  });

  it('a stolen session token takes the streams of its session, and none of the back end or of another session', async () => {
    const [id, other] = [await service.session(), await service.session()];
    const token = await newToken(service, id);
    const open = (session: string, key: string) => openSse(`${service.url}/v1/sessions/${session}/events/stream`, key);
    const taken = await Promise.all(Array.from({ length: 12 }, () => open(id, token)));
    expect(taken.filter(({ status }) => status === 429)).to.have.length(2);
    const free = [await open(id, service.key), await open(other, await newToken(service, other))];
    expect(free.map(({ status }) => status)).to.deep.equal([200, 200]);
    for (const stream of [...taken, ...free]) stream.close();
  });
});
