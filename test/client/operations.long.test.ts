import { expect } from 'chai';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  AgentSessionClient,
  ApiError,
  verifyWebhook,
  WebhookVerificationError,
  type WorkspaceFile,
} from '../../client/src/index.js';
import { fromPath } from '../../client/src/node.js';
import { startMcpServer, type TestMcpServer } from '../support/mcp-server.js';
import { text, wait } from '../support/scripted-model.js';
import { startTurnService, type TurnService } from '../support/turns.js';
import { newSecret } from '../../src/webhooks/sign.js';
import { startWebhookReceiver } from '../support/webhook-receiver.js';
import { readZip } from '../support/read-zip.js';
import { writeTree } from '../support/workspaces.js';
import { eventually } from '../support/eventually.js';

describe('the client, operation by operation', () => {
  let service: TurnService;
  let mcp: TestMcpServer;
  let client: AgentSessionClient;
  const mcpAllowedHosts: string[] = [];
  before(async () => {
    mcp = await startMcpServer({ tools: [{ name: 'look' }, { name: 'find' }] });
    mcpAllowedHosts.push(mcp.host);
    service = await startTurnService({ config: { mcpAllowedHosts, webhookDeliveries: true } });
    client = new AgentSessionClient({ baseUrl: `${service.url}/`, apiKey: service.key });
  });
  after(async () => {
    await service.close();
    await mcp.close();
  });

  it('the client has the operations of sessions, messages, events', async () => {
    const { items } = await client.listModels();
    expect(items.map(({ id }) => id)).to.deep.equal(['scripted']);
    const session = await client.createSession({ model_id: 'scripted', metadata: { a: '1' } });
    expect((await client.updateSession(session.id, { metadata: { a: null, b: '2' } })).metadata).to.deep.equal({
      b: '2',
    });

    // The text comes when the stream is open: what is complete by then arrives without its deltas.
    const gate = service.model.gate();
    service.model.on(/Say hello/, text('Hello.', { before: { 0: wait(gate) } }));
    const deltas: string[] = [];
    const { status, message, usage, events, turnId } = await client.run(
      session.id,
      { content: 'Say hello' },
      {
        onEvent(event) {
          gate.open();
          if (event.type === 'agent.message.delta') deltas.push(event.content);
        },
      },
    );
    expect({ status, message }).to.deep.equal({ status: 'completed', message: 'Hello.' });
    expect(deltas.join('')).to.equal('Hello.');
    expect(usage!.output_tokens).to.be.greaterThan(0);
    expect(events).to.deep.equal(await service.history(session.id));
    expect((await client.listEvents(session.id, { limit: 1 })).items).to.deep.equal(events.slice(0, 1));
    expect((await client.getSession(session.id)).last_turn_id).to.equal(turnId);

    service.model.on(/Take your time/, text('never', { before: { 0: wait(600_000) } }));
    const running = client.run(session.id, { content: 'Take your time' });
    await eventually('the turn runs', async () => (await client.getSession(session.id)).status === 'RUNNING');
    await client.cancelTurn(session.id);
    expect(await running).to.include({ status: 'cancelled', message: '' });

    await client.deleteSession(session.id);
    expect((await client.listSessions()).items).to.deep.equal([]);
  });

  it('run() of the client reads its turn from the history when another message followed at once', async () => {
    service.model.on(/First/, text('One.'));
    service.model.on(/Second/, text('Two.', { before: { 0: wait(1000) } }));
    const id = await service.session();
    const late = new AgentSessionClient({
      baseUrl: service.url,
      apiKey: service.key,
      // Between its message and its stream the turn ends, and the next one starts.
      fetch: async (input, init) => {
        if ((input as string).endsWith('/stream')) {
          await service.ended(id);
          await service.send(id, 'Second');
        }
        return fetch(input, init);
      },
    });
    const { message, events } = await late.run(id, { content: 'First' });
    expect(message).to.equal('One.');
    expect(events.map(({ type }) => type)).to.deep.equal(['user.message', 'agent.message', 'turn.completed']);
    await service.ended(id);
  });

  it('the client uploads and reads files, from a text, a Blob, a path and a stream', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'client-'));
    const path = join(folder, 'Übung "1".csv');
    await writeFile(path, 'a,b\n');
    const stream = new Blob(['streamed']).stream();
    const uploads = [
      await client.uploadFile({ filename: 'text.txt', content: 'text' }),
      await client.uploadFile({ filename: 'blob.bin', content: new Blob([new Uint8Array([0, 255])]) }),
      await client.uploadFile(await fromPath(path)),
      await client.uploadFile({ filename: '名前.txt', content: stream }),
      // A part of a larger buffer, and memory that threads share.
      await client.uploadFile({ filename: 'part.txt', content: Buffer.from('a part').subarray(2) }),
      await client.uploadFile({ filename: 'shared.bin', content: new Uint8Array(new SharedArrayBuffer(3)) }),
    ];
    await rm(folder, { recursive: true });
    expect(uploads.map(({ filename, size_bytes }) => [filename, size_bytes])).to.deep.equal([
      ['text.txt', 4],
      ['blob.bin', 2],
      ['Übung "1".csv', 4],
      ['名前.txt', 8],
      ['part.txt', 4],
      ['shared.bin', 3],
    ]);
    expect(await (await client.downloadFile(uploads[3]!.id)).text()).to.equal('streamed');
    expect(await (await client.downloadFile(uploads[4]!.id)).text()).to.equal('part');
    expect(await client.getFile(uploads[0]!.id)).to.deep.equal(uploads[0]);
    expect((await client.listFiles({ origin: 'OUTPUT' })).items).to.deep.equal([]);
    const all: string[] = [];
    for await (const file of client.eachFile({ origin: 'UPLOAD' })) all.push(file.id);
    expect(all).to.deep.equal(uploads.map(({ id }) => id).reverse());
    await client.deleteFile(uploads[0]!.id);
    const gone = await client.downloadFile(uploads[0]!.id).catch((error: unknown) => error);
    expect(gone).to.be.instanceOf(ApiError).and.include({ type: 'file_not_found', status: 404, retryable: false });
  });

  it('the client has the operations of the files of a workspace', async () => {
    const id = await service.session();
    const names = Array.from({ length: 25 }, (_, index) => `/workspace/data/${index + 10} 名前 & more.txt`);
    await writeTree(service, id, Object.fromEntries(names.map((name) => [name, `This is ${name}.`])));
    const found: WorkspaceFile[] = [];
    for await (const file of client.eachWorkspaceFile(id, { path: '/workspace/data' })) found.push(file);
    expect(found.map(({ path }) => path)).to.deep.equal(names);
    expect((await client.listWorkspaceFiles(id)).items[0]).to.include({ path: '/workspace/data', type: 'directory' });
    expect(await (await client.workspaceContent(id, names[3]!)).text()).to.equal(`This is ${names[3]}.`);
    const archives = [client.workspaceArchive(id), client.workspaceArchive(id, { path: '/workspace/data' })];
    const [whole, part] = await Promise.all(
      archives.map(async (archive) => Object.keys(await readZip(Buffer.from(await (await archive).arrayBuffer())))),
    );
    expect([whole!.length, part!.length]).to.deep.equal([26, 25]);
    const none = await client.workspaceContent(id, '/workspace/none').catch((error: unknown) => error);
    expect(none instanceof ApiError && none.is('workspace_file_not_found')).to.equal(true);
  });

  it('the client has the operations of skills and MCP servers', async () => {
    const content: Uint8Array = new TextEncoder().encode('---\nname: greet\n---\nGreet.');
    const skill = await client.uploadSkill({ filename: 'SKILL.md', content });
    expect(await client.getSkill(skill.id)).to.deep.equal(skill);
    expect((await client.listSkills()).items).to.deep.equal([skill]);
    await client.deleteSkill(skill.id);

    const server = await client.registerMcpServer({ name: 'tools', url: mcp.url });
    expect(server.tools.map(({ name }) => name)).to.deep.equal(['look', 'find']);
    const narrowed = await client.updateMcpServer(server.id, { allowed_tools: ['look'] });
    expect(await client.getMcpServer(server.id)).to.deep.equal(narrowed);
    expect((await client.probeMcpServer(server.id)).last_probed_at).to.not.equal(server.last_probed_at);
    expect((await client.listMcpServers()).items).to.have.length(1);

    await client.updateMcpServer(server.id, { pin_tools: true });
    mcp.options.tools!.push({ name: 'send/all' }, { name: 'sort' });
    const [added, sorted] = (await client.probeMcpServer(server.id)).changed_tools;
    expect(await client.getChangedMcpTool(server.id, 'send/all')).to.deep.equal(added);
    const stale = await client.acceptMcpTools(server.id, { digests: { sort: added!.digest } }).catch((error) => error);
    expect(stale instanceof ApiError && stale.is('tools_changed') && stale.details).to.deep.equal({ tools: ['sort'] });
    const digests = { 'send/all': added!.digest };
    expect((await client.acceptMcpTools(server.id, { digests })).changed_tools).to.deep.equal([sorted]);
    expect((await client.acceptMcpTools(server.id)).changed_tools).to.deep.equal([]);
    await client.deleteMcpServer(server.id);
    const none: unknown[] = [];
    for await (const one of client.eachMcpServer()) none.push(one);
    for await (const one of client.eachSkill()) none.push(one);
    expect(none).to.deep.equal([]);
  });

  it('the client has the operations of webhooks', async () => {
    const receiver = await startWebhookReceiver();
    mcpAllowedHosts.push(receiver.host);
    const { secret, ...webhook } = await client.createWebhook({ url: receiver.url, event_types: ['turn.completed'] });
    expect(await client.getWebhook(webhook.id)).to.deep.equal(webhook);
    expect((await client.listWebhooks()).items).to.deep.equal([webhook]);
    const { description } = await client.updateWebhook(webhook.id, { description: 'Orders' });
    expect(description).to.equal('Orders');
    const { id } = await client.testWebhook(webhook.id);
    await eventually('the request', () => receiver.received.length > 0);
    const { body, headers, payload } = receiver.received[0]!;
    expect(await verifyWebhook(body, headers, secret))
      .to.deep.equal(payload)
      .and.include({ type: 'webhook.test' });
    const { secret: second } = await client.rotateWebhookSecret(webhook.id);
    expect(second).to.not.equal(secret);
    await client.retryWebhookDelivery(webhook.id, id);
    await eventually('the request again', () => receiver.of(id).length > 1);
    const again = receiver.of(id)[1]!;
    // For 24 hours a request carries a signature of each secret.
    for (const one of [secret, second, [newSecret(), second]]) await verifyWebhook(again.body, again.headers, one);
    const stranger = verifyWebhook(again.body, again.headers, newSecret()).catch((error: unknown) => error);
    expect(await stranger).to.be.instanceOf(WebhookVerificationError);
    expect((await client.listWebhookDeliveries(webhook.id, { limit: 1 })).items[0]!.id).to.equal(id);
    await eventually('the second attempt', async () => {
      const { items } = await client.listWebhookDeliveries(webhook.id, { state: 'delivered' });
      return items.length === 1;
    });
    for await (const { id } of client.eachWebhookDelivery(webhook.id, { state: 'failed' })) expect.fail(id);
    expect(await client.retryFailedWebhookDeliveries(webhook.id)).to.deep.equal({ count: 0 });
    await client.deleteWebhook(webhook.id);
    const none: unknown[] = [];
    for await (const one of client.eachWebhook()) none.push(one);
    expect(none).to.deep.equal([]);
    const gone = await client.listWebhookDeliveries(webhook.id).catch((error: unknown) => error);
    expect(gone).to.be.instanceOf(ApiError).and.include({ type: 'webhook_not_found' });
    await receiver.close();
  });

  it('the client has the operations of schedules', async () => {
    const session = await client.createSession({ model_id: 'scripted' });
    service.model.on(/Report/, 'Nothing is late.');
    const schedule = await client.createSchedule({
      cron: '0 8 * * MON-FRI',
      timezone: 'Europe/Berlin',
      target: { type: 'existing_session', session_id: session.id },
      message: { content: 'Report.' },
    });
    expect(await client.getSchedule(schedule.id)).to.deep.equal(schedule);
    expect((await client.listSchedules()).items).to.deep.equal([schedule]);
    expect((await client.updateSchedule(schedule.id, { name: 'Daily' })).name).to.equal('Daily');
    expect((await client.pauseSchedule(schedule.id)).state).to.equal('paused');
    const { last_run } = await client.runSchedule(schedule.id);
    expect(last_run!.session_id).to.equal(session.id);
    expect((await client.resumeSchedule(schedule.id)).state).to.equal('active');
    expect((await client.listScheduleRuns(schedule.id, { limit: 1 })).items).to.deep.equal([last_run]);
    for await (const run of client.eachScheduleRun(schedule.id)) expect(run).to.deep.equal(last_run);
    await client.deleteSchedule(schedule.id);
    for await (const one of client.eachSchedule()) expect.fail(one.id);
    await service.ended(session.id);
  });

  it('the client goes through all pages, and asks for the next one when it is needed', async () => {
    const key = await service.newKey({ project: 'many' });
    const many = new AgentSessionClient({ baseUrl: service.url, apiKey: key });
    for (let made = 0; made < 101; made += 1) await many.createSession({ model_id: 'scripted' });
    const ids = new Set<string>();
    for await (const { id } of many.eachSession()) ids.add(id);
    expect(ids.size).to.equal(101);
  });

  it('the client finds sessions by status, time and metadata', async () => {
    const metadata = { 'customer & more': 'a=b', team: 'red' };
    const { id, created_at } = await client.createSession({ model_id: 'scripted', metadata });
    const { items } = await client.listSessions({
      status: 'IDLE',
      metadata,
      created_before: '2999-01-01T00:00:00+02:00',
    });
    expect(items.map((session) => [session.id, session.preview])).to.deep.equal([[id, null]]);
    const others = client.eachSession({ metadata, created_after: created_at });
    for await (const other of others) expect.fail(other.id);
  });

  it('the client throws errors with their type and details', async () => {
    const error = await client.createSession({ model_id: 'none' }).catch((thrown: unknown) => thrown);
    if (!(error instanceof ApiError) || !error.is('unknown_model')) throw error;
    expect(error.details!.available_models).to.deep.equal(['scripted']);
    expect(error.message).to.equal('There is no model of this id.');
    expect(error.requestId).to.match(/^req_/);
  });

  it('the client refuses an id that would change the path', () => {
    for (const id of ['', '.', '..']) expect(() => client.getSession(id)).to.throw(TypeError);
  });
});
