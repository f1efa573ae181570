import { Client, Connection } from '@temporalio/client';
import { expect } from 'chai';
import { randomBytes } from 'node:crypto';
import { startApi, type Api } from '../api/main.js';
import { createLogger } from '../src/platform/logger.js';
import { stopTracing, isTracingConfigured, withTrace } from '../src/platform/tracing.js';
import { temporalSettings } from '../src/temporal/connection.js';
import { acceptMessage } from './support/accept-message.js';
import { eventually } from './support/eventually.js';
import { apiClient } from './support/client.js';
import { startMcpServer, type TestMcpServer } from './support/mcp-server.js';
import { startOtlpReceiver, type OtlpReceiver } from './support/otlp-receiver.js';
import { streaming } from './support/open-turn.js';
import { text, thinking, toolUse } from './support/scripted-model.js';
import { openSse } from './support/sse-reader.js';
import { temporalAddress } from './support/temporal.js';
import { startTurnService, type TurnService } from './support/turns.js';
import { startWebhookReceiver, type WebhookReceiver } from './support/webhook-receiver.js';
import { webhookCalls } from './support/webhooks.js';
import { describeTurn } from './support/turn-workflow.js';

/** An export that takes longer than 10 s loses its spans. The receiver is in this process, which a busy machine may hold up. */
const PATIENT_EXPORT = { OTEL_EXPORTER_OTLP_TIMEOUT: '120000', OTEL_BSP_EXPORT_TIMEOUT: '120000' };

describe('traces', () => {
  let receiver: OtlpReceiver;
  let mcp: TestMcpServer;
  let webhooks: WebhookReceiver;
  let service: TurnService;
  /** Closed at the end: an API that ends stops the tracing of its process. */
  let trusting: Api | undefined;
  before(async () => {
    receiver = await startOtlpReceiver();
    mcp = await startMcpServer({ tools: [{ name: 'search' }] });
    Object.assign(process.env, { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, ...PATIENT_EXPORT });
    webhooks = await startWebhookReceiver();
    service = await startTurnService({
      own: 'tracing begins with a process',
      config: { mcpAllowedHosts: [mcp.host, webhooks.host], webhookDeliveries: true },
    });
  });
  after(async () => {
    for (const name of ['OTEL_EXPORTER_OTLP_ENDPOINT', ...Object.keys(PATIENT_EXPORT)]) delete process.env[name];
    await trusting?.close();
    await stopTracing();
    await Promise.all([mcp.close(), webhooks.close()]);
    await receiver.close();
  });

  it('traces go on where the reconciler starts a turn that was not started', async () => {
    const sessionId = await service.session();
    const [session] = await service.db.query<{ project_id: string }[]>(
      'SELECT project_id FROM sessions WHERE id = $1',
      [sessionId],
    );
    const traceId = randomBytes(16).toString('hex');
    const message = { content: 'Hello', files: [], skills: [] };
    await withTrace(`00-${traceId}-${randomBytes(8).toString('hex')}-01`, () =>
      acceptMessage(service.db, session!.project_id, sessionId, message, temporalSettings().namespace),
    );
    await service.ended(sessionId);
    await eventually('the trace has the start', () => /^StartWorkflow:turn/m.test(receiver.tree(traceId)));
  });

  it('traces show the request of a stream once the stream is open: nothing of the request waits for its end', async () => {
    const { sessionId, gate } = await streaming(service);
    const stream = await openSse(`${service.url}/v1/sessions/${sessionId}/events/stream`, service.key);
    const isShown = (): boolean =>
      receiver.spans.some(({ attributes }) => attributes['url.path'] === `/v1/sessions/${sessionId}/events/stream`);
    await eventually('the span has ended', isShown);
    gate.open();
    await stream.ended;
  });

  it('traces take no trace and no baggage from a client, unless a setting trusts it', async () => {
    const traceId = randomBytes(16).toString('hex');
    const headers = { traceparent: `00-${traceId}-${randomBytes(8).toString('hex')}-01`, baggage: 'tenant=smuggled' };
    const send = async (api: typeof service.api): Promise<{ trace: string; started: string }> => {
      const session = await service.session();
      const { body } = await api('POST', `/v1/sessions/${session}/messages`, { content: 'Hello' }, headers);
      await service.ended(session);
      const rows = await service.db.query<{ trace: string }[]>('SELECT trace FROM turns WHERE id = $1', [body.turn_id]);
      const connection = await Connection.connect({ address: await temporalAddress() });
      const client = new Client({ connection });
      await describeTurn(client, body.turn_id as string);
      const history = await client.workflow.getHandle(body.turn_id as string).fetchHistory();
      await connection.close();
      const fields = history.events![0]!.workflowExecutionStartedEventAttributes!.header!.fields!;
      const started = Object.values(fields).map(({ data }) => Buffer.from(data!).toString());
      return { trace: rows[0]!.trace, started: started.join() };
    };
    const own = await send(service.api);
    expect(own.trace).to.match(/^00-/).and.not.contain(traceId);
    expect(own.started).to.contain('traceparent').and.not.contain(traceId).and.not.contain('smuggled');

    trusting = await startApi({ ...service.config, trustTraceparent: true }, createLogger('silent', 'api'));
    const trusted = await send(apiClient(trusting.url, service.key, () => undefined));
    expect(trusted.trace).to.contain(traceId);
    expect(trusted.started).to.contain(traceId).and.not.contain('smuggled');
  });

  it('traces are one per turn, from the request to the model and the MCP call', async () => {
    const { body: server } = await service.api('POST', '/v1/mcp-servers', { name: 'web', url: mcp.url });
    service.model.on(/Look it up/, [thinking('Search.'), toolUse('mcp__web__search', {})], text('Found.'));
    const sessionId = await service.session({ mcp_servers: [server.id] });
    await webhookCalls(service.api, webhooks.url).create({ event_types: ['turn.completed'] });
    const turnId = await service.send(sessionId, 'Look it up');
    const ended = await service.ended(sessionId);
    expect(ended).to.include({ type: 'turn.completed' });
    await eventually('the webhook is called', () => webhooks.received.length > 0);

    const [turn] = await service.db.query<{ trace: string }[]>('SELECT trace FROM turns WHERE id = $1', [turnId]);
    const traceId = turn!.trace.split('-')[1]!;
    // The turn ends inside its last activity; the workflow's own spans are exported a moment later, at the latest when its
    // worker ends.
    const connection = await Connection.connect({ address: await temporalAddress() });
    await new Client({ connection }).workflow.getHandle(turnId).result();
    await connection.close();
    await service.close();
    await stopTracing();
    const tree = receiver.tree(traceId);
    console.log(tree.replaceAll(/^/gm, '      '));
    expect(
      tree.split('\n').filter((line) => !line.startsWith(' ')),
      'one root',
    ).to.have.length(1);
    expect(tree.replaceAll(/ \(\d+ ms\)/g, '')).to.equal(
      [
        'POST /v1/sessions/{session_id}/messages',
        '  StartWorkflow:turn',
        '    RunWorkflow:turn',
        '      StartActivity:connectMcpServers',
        '        RunActivity:connectMcpServers',
        '      StartActivity:callModel',
        '        RunActivity:callModel',
        '          chat scripted-1',
        '      StartActivity:callTool',
        '        RunActivity:callTool',
        '          execute_tool mcp__web__search',
        '      StartActivity:callModel',
        '        RunActivity:callModel',
        '          chat scripted-1',
        '  invoke_agent',
      ].join('\n'),
    );
    const of = (name: string) =>
      receiver.spans.find((span) => span.traceId === traceId && span.name === name)!.attributes;
    const { usage } = ended;
    const ofProject = [
      'POST /v1/sessions/{session_id}/messages',
      'invoke_agent',
      'chat scripted-1',
      'execute_tool mcp__web__search',
    ];
    const projects = ofProject.map((name) => of(name).project_id);
    expect(new Set(projects)).to.have.property('size', 1);
    expect(projects[0]).to.match(/^proj_/);
    expect(of('invoke_agent')).to.deep.include({
      'gen_ai.operation.name': 'invoke_agent',
      'gen_ai.conversation.id': sessionId,
      'gen_ai.request.model': 'scripted',
      'gen_ai.usage.input_tokens': usage.input_tokens,
      'gen_ai.usage.output_tokens': usage.output_tokens,
      'gen_ai.response.finish_reasons': ['end_turn'],
    });
    expect(of('chat scripted-1')).to.include({
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'anthropic',
      'gen_ai.conversation.id': sessionId,
      'gen_ai.request.model': 'scripted-1',
    });
    expect(of('chat scripted-1')['gen_ai.usage.input_tokens']).to.be.greaterThan(0);
    expect(of('execute_tool mcp__web__search')).to.include({
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': 'mcp__web__search',
      'gen_ai.conversation.id': sessionId,
    });
    expect(JSON.stringify(receiver.spans), 'no content').to.not.match(/Look it up|Found\.|Search\./);
    const sent = [...service.model.requests, ...webhooks.received]
      .map(({ headers }) => headers)
      .concat(mcp.lastHeaders);
    expect(sent.length).to.be.greaterThan(3);
    for (const headers of sent)
      expect(headers, 'to others').to.not.have.any.keys('traceparent', 'tracestate', 'baggage');
  });

  it('traces are off unless the standard variables name a receiver', () => {
    const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://x' };
    expect(isTracingConfigured(endpoint)).to.equal(true);
    expect(isTracingConfigured({ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://x' })).to.equal(true);
    expect(isTracingConfigured({})).to.equal(false);
    expect(isTracingConfigured({ ...endpoint, OTEL_SDK_DISABLED: 'true' })).to.equal(false);
    expect(isTracingConfigured({ ...endpoint, OTEL_TRACES_EXPORTER: 'none' })).to.equal(false);
  });
});
