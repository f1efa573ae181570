import { expect } from 'chai';
import { eventually } from '../support/eventually.js';
import { startMcpServer, type TestMcpServer } from '../support/mcp-server.js';
import { failure, message, steps, text, toolUse, wait, type Reply } from '../support/scripted-model.js';
import { startTurnService, type TurnService } from '../support/turns.js';
import { requiredActions } from '../support/waiting-turns.js';
import { useTemporalClient } from '../support/use.js';

/** Long enough for the other turns on a busy machine. One test waits for it. */
const TURN_TIMEOUT_SECONDS = 20;
const busyFor = (type: 'overloaded_error' | 'rate_limit_error', ms: number) =>
  failure(type, { headers: { 'retry-after-ms': String(ms) } });
const buy = () => toolUse('mcp__shop__buy', {}, { id: 'toolu_buy' });
const send = () => toolUse('mcp__shop__send', {}, { id: 'toolu_send' });

/** decisions.md "Messages while a turn runs", "Continue": after each way in which a turn can end without completing, and at several moments of it. */
describe('a turn that is continued', function () {
  this.timeout(60_000);
  let service: TurnService;
  let mcp: TestMcpServer;
  const temporal = useTemporalClient();
  let serverId: string;
  before(async () => {
    mcp = await startMcpServer({ tools: ['buy', 'send'].map((name) => ({ name, run: () => `${name}: a lamp` })) });
    service = await startTurnService({
      config: {
        mcpAllowedHosts: [mcp.host],
        turnTimeoutSeconds: TURN_TIMEOUT_SECONDS,
        maxSteps: 3,
      },
    });
    serverId = (await service.api('POST', '/v1/mcp-servers', { name: 'shop', url: mcp.url })).body.id as string;
  });
  after(async () => {
    await service.close();
    await mcp.close();
  });
  afterEach(() => {
    expect(service.model.refused.map(({ refused }) => refused)).to.deep.equal([]);
    service.model.reset();
    mcp.calls.length = 0;
  });

  const begin = async (...replies: Reply[]) => {
    service.model.on(/Buy a lamp/, steps(...replies));
    const sessionId = await service.session({
      thinking_enabled: false,
      mcp_servers: [serverId],
      tools: [
        {
          type: 'mcp_toolset',
          mcp_server_id: serverId,
          configs: [{ name: 'send', permission_policy: { type: 'always_ask' } }],
        },
      ],
    });
    return { sessionId, turnId: await service.send(sessionId, 'Buy a lamp') };
  };
  const callsMade = (): string[] => mcp.calls.map(({ name }) => name);
  const cancel = (sessionId: string) => service.api('POST', `/v1/sessions/${sessionId}/cancel`);
  const goOn = (sessionId: string) => service.api('POST', `/v1/sessions/${sessionId}/continue`);
  /** Continues the session. Returns the messages of the next request to the model. */
  const continued = async (sessionId: string, turnId: string): Promise<string> => {
    service.model.reset();
    service.model.reply('Done.');
    const { status, body } = await goOn(sessionId);
    expect(status, JSON.stringify(body)).to.equal(201);
    expect(body).to.include({ type: 'turn.continued', continues_turn_id: turnId });
    expect(await service.ended(sessionId)).to.include({ type: 'turn.completed', turn_id: body.turn_id });
    return JSON.stringify(service.model.requests.at(-1)!.body.messages);
  };

  const failures: [string, Reply][] = [
    ['model_error', failure('invalid_request_error')],
    ['model_overloaded', busyFor('overloaded_error', 900_000)],
    ['model_rate_limited', busyFor('rate_limit_error', 900_000)],
    ['turn_timeout', [text('Endless '), wait(600_000), text('never')]],
  ];
  for (const [type, reply] of failures) {
    it(`a turn that is continued after ${type} sees the finished work, and does not repeat it`, async () => {
      const { sessionId, turnId } = await begin([text('I buy it.'), buy()], reply);
      const end = await service.ended(sessionId);
      expect(end.error).to.include({ type });
      const sent = await continued(sessionId, turnId);
      expect(sent)
        .to.match(/Buy a lamp.*I buy it\..*buy: a lamp/)
        .and.not.include('Endless');
      expect(callsMade()).to.deep.equal(['buy']);
    });
  }

  it('a turn that is continued after its workflow was terminated sees the finished work', async () => {
    const { sessionId, turnId } = await begin([text('I buy it.'), buy()], [text('Half'), wait(600_000)]);
    await service.model.request(1);
    await temporal.workflow.getHandle(turnId).terminate('by hand');
    expect((await service.ended(sessionId)).error).to.include({ type: 'terminated' });
    expect(await continued(sessionId, turnId))
      .to.include('buy: a lamp')
      .and.not.include('Half');
    expect(callsMade()).to.deep.equal(['buy']);
  });

  it('a turn that is continued after a cancel in the second model call sees the finished work', async () => {
    const { sessionId, turnId } = await begin([text('I buy it.'), buy()], [text('Half'), wait(600_000)]);
    await service.model.request(1);
    await cancel(sessionId);
    expect((await service.ended(sessionId)).type).to.equal('turn.cancelled');
    expect(await continued(sessionId, turnId))
      .to.include('buy: a lamp')
      .and.not.include('Half');
    expect(callsMade()).to.deep.equal(['buy']);
  });

  it('a turn that is continued after a cancel while the model is away sees the finished work', async () => {
    const { sessionId, turnId } = await begin([buy()], busyFor('overloaded_error', 5000));
    const stream = await service.stream(sessionId);
    await stream.until(({ event }) => event === 'agent.retry.delta');
    await cancel(sessionId);
    expect((await service.ended(sessionId)).type).to.equal('turn.cancelled');
    expect(await continued(sessionId, turnId)).to.include('buy: a lamp');
    expect(callsMade()).to.deep.equal(['buy']);
  });

  it('a turn that is continued after a cancel while a call waits for a person sees that this call was not run, and which were', async () => {
    const { sessionId, turnId } = await begin(message([buy(), send()]));
    await requiredActions(service, sessionId);
    await eventually('the other call has its result', async () =>
      (await service.history(sessionId)).some(({ type }) => type === 'agent.tool_result'),
    );
    await cancel(sessionId);
    expect((await service.ended(sessionId)).type).to.equal('turn.cancelled');
    const sent = await continued(sessionId, turnId);
    expect(sent).to.include('buy: a lamp').and.include('Not run: the turn was cancelled before this call was sent.');
    expect(callsMade()).to.deep.equal(['buy']);
  });

  it('a turn that is continued after a cancel, and again a cancel sees all of it', async () => {
    const { sessionId, turnId } = await begin([buy()], [text('Half'), wait(600_000)]);
    await service.model.request(1);
    await cancel(sessionId);
    await service.ended(sessionId);
    service.model.reset();
    service.model.reply([text('Quarter'), wait(600_000)]);
    const { body: second } = await goOn(sessionId);
    await service.model.request(0);
    await cancel(sessionId);
    await service.ended(sessionId);
    expect(second.continues_turn_id).to.equal(turnId);
    const sent = await continued(sessionId, second.turn_id as string);
    expect(sent).to.include('buy: a lamp').and.not.include('Half').and.not.include('Quarter');
    expect(callsMade()).to.deep.equal(['buy']);
  });

  it('a turn that completed, or does not fit into the context, cannot be continued', async () => {
    const ends: [string, Reply[]][] = [
      ['completed', [[buy()], [toolUse('list_files')], [toolUse('list_files')]]],
      ['completed', [message(text('Half'), { stopReason: 'max_tokens' })]],
      ['completed', [message(text('No.'), { stopReason: 'refusal' })]],
      ['context_too_long', [failure('invalid_request_error', { message: 'prompt is too long: 9 tokens > 8 maximum' })]],
    ];
    for (const [reason, replies] of ends) {
      service.model.reset();
      const { sessionId } = await begin(...replies, ...replies.slice(-1), ...replies.slice(-1), ...replies.slice(-1));
      await service.ended(sessionId);
      const { status, body } = await goOn(sessionId);
      expect([status, body.error.type, body.error.details]).to.deep.equal([409, 'turn_not_continuable', { reason }]);
      expect((await service.api('GET', `/v1/sessions/${sessionId}`)).body.continuable).to.equal(false);
    }
  });
});
