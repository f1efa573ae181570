import { expect } from 'chai';
import { MAX_LOST_WORKERS, MAX_LOST_WORKERS_OF_MODEL_CALL } from '../../src/steps/lost-workers.js';
import { eventually } from '../support/eventually.js';
import { failAttempt } from '../support/lost-worker.js';
import { McpServers } from '../support/mcp-server.js';
import { steps, text, toolUse, wait } from '../support/scripted-model.js';
import { useTemporalClient, useTurnService } from '../support/use.js';

/** An attempt is failed from outside, as the reconciler does for a dead worker: the worker reports no outcome. */
describe('an activity that loses one worker after the other', () => {
  const client = useTemporalClient();
  const servers = new McpServers();
  const service = useTurnService(() => ({ own: 'it closes a worker', config: { mcpAllowedHosts: servers.hosts } }));
  after(async () => {
    await servers.close();
  });
  beforeEach(() => service.model.reset());

  const loseWorker = (turnId: string, attempt: number) => failAttempt(client, turnId, attempt);
  const loseWorkers = async (turnId: string, count: number): Promise<void> => {
    for (let attempt = 1; attempt <= count; attempt += 1) await loseWorker(turnId, attempt);
  };
  const register = async (
    name: string,
  ): Promise<{ id: string; hang: () => void; refuse: () => void; calls: () => number }> => {
    const server = await servers.start({
      tools: [{ name: 'look', annotations: { readOnlyHint: true }, run: () => new Promise(() => undefined) }],
    });
    const { status, body } = await service.api('POST', '/v1/mcp-servers', { name, url: server.url });
    expect(status).to.equal(201);
    return {
      id: body.id as string,
      hang: () => (server.options.gateway = () => true),
      refuse: () => (server.options.auth = { header: 'authorization', value: 'another' }),
      calls: () => server.calls.length,
    };
  };

  it('no longer connects MCP servers; the turn continues without them', async () => {
    const { id, hang } = await register('poison');
    const sessionId = await service.session({ mcp_servers: [id] });
    hang();
    const turnId = await service.send(sessionId, 'hello');
    await loseWorkers(turnId, MAX_LOST_WORKERS);
    expect((await service.ended(sessionId)).type).to.equal('turn.completed');
    const errors = (await service.history(sessionId)).filter(({ type }) => type === 'agent.mcp_error');
    const message =
      'The MCP server was not connected: 3 workers were lost while they connected the session’s MCP servers.';
    expect(errors).to.have.length(1);
    expect(errors[0]).to.include({ mcp_server_id: id, message });
    expect((await service.api('GET', `/v1/mcp-servers/${id}`)).body.last_connect_error).to.equal(message);
  });

  it('an activity that loses one worker after the other does not send the call of a repeatable tool again: its outcome is unknown', async () => {
    const { id, calls } = await register('look');
    const sessionId = await service.session({ mcp_servers: [id] });
    service.model.on(/look/, [toolUse('mcp__look__look')], 'done');
    const turnId = await service.send(sessionId, 'look');
    for (let attempt = 1; attempt <= MAX_LOST_WORKERS; attempt += 1) {
      await eventually('the call arrives', () => calls() === attempt);
      await loseWorker(turnId, attempt);
    }
    expect((await service.ended(sessionId)).type).to.equal('turn.completed');
    const result = await service.resultOf(sessionId);
    expect(result).to.include({ is_error: true });
    expect(result!.content).to.match(/The outcome of this call of mcp__look__look is unknown/);
    expect(calls()).to.equal(MAX_LOST_WORKERS);
  });

  it('an activity that loses one worker after the other reports an unknown outcome of a call whose first attempt was sent', async () => {
    const { id, refuse, calls } = await register('closed');
    const sessionId = await service.session({ mcp_servers: [id] });
    service.model.on(/closed/, [toolUse('mcp__closed__look')], 'done');
    const turnId = await service.send(sessionId, 'closed');
    await eventually('the call arrives', () => calls() === 1);
    refuse();
    await loseWorker(turnId, 1);
    expect((await service.ended(sessionId)).type).to.equal('turn.completed');
    const result = await service.resultOf(sessionId);
    expect(result!.content).to.match(/HTTP 401.*Its outcome is unknown/);
  });

  it('an activity that loses one worker after the other ends the turn when it is a model call; continued, it does nothing a second time', async () => {
    const server = await servers.start({ tools: [{ name: 'buy', run: () => 'bought a lamp' }] });
    const { body } = await service.api('POST', '/v1/mcp-servers', { name: 'shop', url: server.url });
    const gate = service.model.gate();
    service.model.on(/model/, steps(toolUse('mcp__shop__buy'), text('never', { before: { 0: wait(gate) } })));
    const sessionId = await service.session({ mcp_servers: [body.id], thinking_enabled: false });
    const turnId = await service.send(sessionId, 'model');
    await service.model.request(1);
    await loseWorkers(turnId, MAX_LOST_WORKERS_OF_MODEL_CALL);
    const end = await service.ended(sessionId);
    expect([end.type, end.error.type]).to.deep.equal(['turn.failed', 'internal_error']);
    gate.open();
    service.model.reset();
    service.model.reply('Done.');
    const continued = await service.api('POST', `/v1/sessions/${sessionId}/continue`);
    expect(continued.body).to.include({ type: 'turn.continued', continues_turn_id: turnId });
    expect((await service.ended(sessionId)).type).to.equal('turn.completed');
    expect(JSON.stringify(service.model.requests.at(-1)!.body.messages))
      .to.include('bought a lamp')
      .and.not.include('never');
    expect(server.calls).to.have.length(1);
  });

  it('an activity that loses one worker after the other counts no attempt that was handed over by a deploy', async () => {
    const gate = service.model.gate();
    const late = text('late', { before: { 0: wait(gate) } });
    service.model.on(/deploy/, late, late, late);
    const sessionId = await service.session();
    const turnId = await service.send(sessionId, 'deploy');
    await loseWorker(turnId, 1);
    await eventually('the second attempt runs', () => service.model.requests.length === 2);
    const [first] = service.workers;
    await service.startWorker();
    await first!.close();
    await eventually('the third attempt runs', async () => (await pending(turnId)).attempt === 3);
    expect((await pending(turnId)).details).to.deep.equal({ unknownFaults: 0, endedAttempts: 1 });
    gate.open();
    expect((await service.ended(sessionId)).type).to.equal('turn.completed');
  });

  const pending = async (turnId: string): Promise<{ attempt: number; details: unknown }> => {
    const { raw } = await client.workflow.getHandle(turnId).describe();
    const [activity] = raw.pendingActivities ?? [];
    const payload = activity?.heartbeatDetails?.payloads?.[0];
    const details = payload ? (JSON.parse(Buffer.from(payload.data!).toString()) as unknown) : null;
    return { attempt: Number(activity?.attempt ?? 0), details };
  };
});
