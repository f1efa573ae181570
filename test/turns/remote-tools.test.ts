import { expect } from 'chai';
import { failure, message, silence, steps, text, thinking, toolUse } from '../support/scripted-model.js';
import { reachedLimit } from '../support/rows.js';
import { fetchHistory, textOfHistory } from '../support/workflow-history.js';
import { useMcpServer, useTemporalClient, useTurnService } from '../support/use.js';

const MARK = 'zebra-7731';

/** Cancel while a tool runs; and what Temporal keeps of a turn (docs/architecture.md). */
describe('a turn with a remote tool', () => {
  const temporal = useTemporalClient();
  let called: () => void;
  const mcp = useMcpServer({
    auth: { header: 'Authorization', value: `Bearer ${MARK}-token` },
    tools: [
      { name: 'answer', run: () => ({ content: [{ type: 'text', text: `${MARK} result` }] }) },
      { name: 'break', run: () => ({ isError: true, content: [{ type: 'text', text: `${MARK} broke` }] }) },
      {
        name: 'hang',
        run: ({ signal }) => {
          called();
          return new Promise((_, reject) => {
            signal.addEventListener('abort', () => reject(new Error('aborted')), { once: true });
          });
        },
      },
    ],
  });
  const service = useTurnService(() => ({ config: { mcpAllowedHosts: [mcp.host] } }));
  afterEach(() => service.model.reset());

  let servers = 0;
  const sessionWithTools = async (): Promise<{ sessionId: string; name: string }> => {
    const name = `tools-${(servers += 1)}`;
    const auth = { type: 'BEARER', token: `${MARK}-token` };
    const { status, body } = await service.api('POST', '/v1/mcp-servers', { name, url: `${mcp.url}?${servers}`, auth });
    expect(status, JSON.stringify(body)).to.equal(201);
    const sessionId = await service.session({
      instruction: `Mind the ${MARK} instruction.`,
      mcp_servers: [body.id],
      metadata: { note: MARK },
    });
    return { sessionId, name };
  };

  it('a turn with a remote tool offers a tool with more than 4,000 values in its schema as one that takes any object', async () => {
    // The schema, its type, `enum` and what is in it.
    const schema = (values: number) => ({
      type: 'object' as const,
      enum: Array.from({ length: values - 3 }, () => ({})),
    });
    const { tools } = mcp.options;
    mcp.options.tools = [
      { name: 'at-the-bound', inputSchema: schema(4000) },
      { name: 'beyond', inputSchema: schema(4001) },
    ];
    const { sessionId, name } = await sessionWithTools();
    service.model.on(/Look/, text('I see them.'));
    expect((await service.run(sessionId, 'Look')).at(-1)).to.include({ type: 'turn.completed' });
    mcp.options.tools = tools;
    const request = service.model.requests.at(-1)!.body as {
      tools: { name: string; input_schema: { enum?: unknown } }[];
    };
    const schemaOf = (tool: string) => request.tools.find((one) => one.name === `mcp__${name}__${tool}`)!.input_schema;
    expect(schemaOf('at-the-bound').enum).to.have.length(3997);
    expect(schemaOf('beyond')).to.deep.equal({ type: 'object' });
    reachedLimit('JSON values of an MCP tool’s schema: 4,000');
  });

  it('a turn with a remote tool is cancelled while the tool runs: the call is aborted, and the next request states it', async () => {
    const { sessionId, name } = await sessionWithTools();
    const started = new Promise<void>((resolve) => (called = resolve));
    service.model.on(/Hang/, steps([thinking('.'), toolUse(`mcp__${name}__hang`, {}, { id: 'toolu_hang' })]));
    await service.send(sessionId, 'Hang on');
    await started;
    const stream = await service.stream(sessionId);
    const before = performance.now();
    await service.api('POST', `/v1/sessions/${sessionId}/cancel`);
    await stream.ended;
    expect(performance.now() - before).to.be.lessThan(20_000);
    expect(mcp.cancelled).to.deep.equal(['hang']);
    const events = await service.history(sessionId);
    expect(events.at(-1)).to.include({ type: 'turn.cancelled' });
    expect(events.at(-1).timing.tools_ms).to.be.a('number');
    expect(events.filter(({ type }) => type === 'agent.message')).to.deep.equal([]);

    await service.send(sessionId, 'What now?');
    expect(await service.ended(sessionId)).to.include({ type: 'turn.completed' });
    const sent = JSON.stringify(service.model.requests.at(-1)!.body.messages);
    expect(sent).to.include('toolu_hang').and.include('the turn was cancelled');
    expect(service.model.refused).to.deep.equal([]);
  });

  it('a turn with a remote tool stores no messages, inputs, results, instruction, errors or credentials in Temporal', async () => {
    const { sessionId, name } = await sessionWithTools();
    const used = (tool: string) => toolUse(`mcp__${name}__${tool}`, { secret: `${MARK} input` });
    service.model.on(
      /one/,
      steps(
        [thinking(`${MARK} thought`), text(`${MARK} text`), used('answer'), used('break'), used(`${MARK}`)],
        message(text(`${MARK} answer`)),
      ),
    );
    service.model.on(/two/, failure('invalid_request_error', { message: `${MARK} refusal` }));
    service.model.on(/three/, [text(`${MARK} streamed`), silence()]);
    const turns: string[] = [];
    for (const content of ['one', 'two']) {
      turns.push((await service.run(sessionId, `${MARK} ${content}`))[0].turn_id);
    }
    turns.push(await service.send(sessionId, `${MARK} three`));
    const stream = await service.stream(sessionId);
    await stream.until(({ event }) => event === 'agent.message.delta');
    await service.api('POST', `/v1/sessions/${sessionId}/cancel`);
    await stream.ended;

    const events = await service.history(sessionId);
    expect(events.filter(({ type }) => /^turn/.test(type as string)).map(({ type }) => type as string)).to.deep.equal([
      'turn.completed',
      'turn.failed',
      'turn.cancelled',
    ]);
    expect(JSON.stringify(events).split(MARK).length).to.be.greaterThan(12);
    // A name that the model made up is its own text, for clients only.
    expect(events.find((event) => event.name === `mcp__${name}__${MARK}`)).to.include({ type: 'agent.tool_use' });
    for (const turnId of turns) {
      const handle = temporal.workflow.getHandle(turnId);
      await handle.result().catch(() => undefined);
      const kept = textOfHistory(await fetchHistory(temporal, turnId));
      expect(kept).to.include(turnId);
      expect(kept).to.not.include(MARK);
      const { memo, searchAttributes } = await handle.describe();
      expect(JSON.stringify([memo, searchAttributes])).to.not.include(MARK);
    }
  });
});
