import { expect } from 'chai';
import { isStorableText } from '../../src/platform/text.js';
import { failure, http, message, text, thinking, toolUse } from '../support/scripted-model.js';
import { expectAcceptedRequests, useRegisteredMcp } from '../support/use.js';

/** NUL, and a half of a surrogate pair: JSON has escapes for them, and Postgres cannot take such JSON apart. */
const ODD = 'a\0b\ud83dc';
const STORED = 'a\ufffdb\ufffdc';
const VALUE = { [ODD]: ODD, deep: [{ [ODD]: [ODD, '\\u0000', 1189238471982374913n.toString()] }] };
const STORED_VALUE = { [STORED]: STORED, deep: [{ [STORED]: [STORED, '\\u0000', '1189238471982374913'] }] };

/** decisions.md "HTTP", "Text that Postgres or JSON cannot carry". */
describe('text that JSON can escape and Postgres cannot store', () => {
  const { service, mcp, registered } = useRegisteredMcp(
    'odd',
    {
      serverName: ODD,
      tools: [
        {
          name: 'echo',
          description: ODD,
          inputSchema: { type: 'object', properties: { [ODD]: { type: 'string', description: ODD } } },
          run: () => ({ content: [{ type: 'text', text: ODD }], structuredContent: VALUE, isError: false }),
        },
        { name: `echo${ODD}` },
      ],
    },
    { config: { modelRetrySeconds: 60 } },
  );
  expectAcceptedRequests(service);

  /** Everything that can be read of a session, as one text. */
  const readAll = async (sessionId: string, turnId: string): Promise<string> => {
    const paths = [
      ...['', '/events', '/events?types=agent.tool_use,turn.completed', '/turns', `/turns/${turnId}`].map(
        (path) => `/v1/sessions/${sessionId}${path}`,
      ),
      `/v1/sessions/${sessionId}/turns/${turnId}/timeline`,
      ...['/v1/sessions', '/v1/sessions?q=odd', '/v1/usage', `/v1/mcp-servers/${registered.id}`],
      `/v1/mcp-servers/${registered.id}/tools`,
    ];
    const bodies: string[] = [];
    for (const path of paths) {
      const { status, body } = await service.api('GET', path);
      expect(status, `${path}: ${JSON.stringify(body)}`).to.equal(200);
      expectStorable(body);
      bodies.push(JSON.stringify(body));
    }
    const stream = await service.stream(sessionId);
    await stream.ended;
    for (const { data } of stream.frames) expectStorable(data);
    return bodies.join('\n');
  };

  it('text of a model and of an MCP server is replaced by U+FFFD, the same in the event, the call and the next request', async () => {
    const input = JSON.stringify(VALUE);
    service.model.reply([thinking('odd'), text(ODD), toolUse('mcp__odd__echo', input)], text(ODD));
    const sessionId = await service.session({ mcp_servers: [registered.id], metadata: { kind: 'odd' } });
    const events = await service.run(sessionId, 'odd');
    // A tool whose name a model cannot call is left out, which the turn says.
    const [, , said, use, result, , end] = events.filter(({ type }) => type !== 'agent.mcp_error');
    expect(end.type).to.equal('turn.completed');
    expect(said.content).to.equal(STORED);
    expect(use.input).to.deep.equal(STORED_VALUE);
    expect(mcp.calls[0]!.arguments).to.deep.equal(STORED_VALUE);
    // The structured content is shown as JSON.
    expect(result.content).to.equal(`${STORED}\n${JSON.stringify(VALUE)}`);
    const { messages, tools } = service.model.requests.at(-1)!.body;
    const [, assistant, results] = messages.map(({ content }) => JSON.stringify(content));
    expect(assistant).to.contain(JSON.stringify(STORED_VALUE));
    expect(results).to.contain(STORED);
    expectStorable(messages);
    expectStorable(tools);
    expect(JSON.stringify(tools)).to.contain(STORED);
    expect(await readAll(sessionId, use.turn_id)).to.contain(STORED);
    // A fork copies what was stored, and takes it apart.
    const fork = await service.api('POST', `/v1/sessions/${sessionId}/fork`);
    expect(fork.status).to.equal(201);
    await readAll(fork.body.id, fork.body.last_turn_id);
  });

  it('text of a value by a schema can be read for ever', async () => {
    service.model.reply([toolUse('give_output', JSON.stringify(JSON.stringify(VALUE)))], 'Fine.');
    const sessionId = await service.session();
    const turnId = await service.send(sessionId, 'odd', { output_schema: { type: 'object' } });
    expect(await service.ended(sessionId)).to.deep.include({ stop_reason: 'end_turn', output: STORED_VALUE });
    const turn = await service.api('GET', `/v1/sessions/${sessionId}/turns/${turnId}`);
    expect(turn.body.output).to.deep.equal(STORED_VALUE);
    await readAll(sessionId, turnId);
    await service.run(sessionId, 'odd');
    expect(JSON.stringify(service.model.requests.at(-1)!.body.messages)).to.contain(JSON.stringify(STORED_VALUE));
  });

  it('text of a value that an older build has stored can be read, too', async () => {
    service.model.reply([toolUse('give_output', '{"value":1}')], 'Fine.');
    const sessionId = await service.session();
    const turnId = await service.send(sessionId, 'odd', { output_schema: { type: 'object' } });
    await service.ended(sessionId);
    const stored = String.raw`{"stop_reason":"end_turn","output":{"value":"a\u0000\u0000b\ud83dc \\u0000 \\\u0000 \u001b 😀"}}`;
    await service.db.query(`UPDATE events SET data = $2 WHERE session_id = $1 AND type = 'turn.completed'`, [
      sessionId,
      stored,
    ]);
    for (const path of [`/turns/${turnId}`, '/turns']) {
      const { status, body } = await service.api('GET', `/v1/sessions/${sessionId}${path}`);
      expect(status).to.equal(200);
      const { output } = body.items?.[0] ?? body;
      expect(output).to.deep.equal({ value: 'a\ufffd\ufffdb\ufffdc \\u0000 \\\ufffd \u001b 😀' });
    }
  });

  it('text of a model that signs it is shown, and not sent back, since its signature fits no longer', async () => {
    service.model.reply(message([thinking(ODD), text('Hm.')]), 'Fine.');
    const sessionId = await service.session();
    const [, thought] = await service.run(sessionId, 'odd');
    expect(thought).to.include({ type: 'agent.thinking', content: STORED });
    await service.run(sessionId, 'odd');
    expect(JSON.stringify(service.model.requests.at(-1)!.body.messages)).not.to.contain('thinking');
    await readAll(sessionId, thought.turn_id);
  });

  it('text of a refusal is replaced, also where the call is made again', async () => {
    const said = `${'x'.repeat(499)}😀 ${ODD}`;
    service.model.reply(
      failure('overloaded_error', { message: ODD, headers: { 'retry-after': '0' } }),
      failure('overloaded_error', { message: said, headers: { 'retry-after': '0' } }),
      http(400, JSON.stringify({ error: { message: ODD } })),
    );
    const sessionId = await service.session();
    const turnId = await service.send(sessionId, 'odd');
    const end = await service.ended(sessionId);
    expect(end.error.message).to.equal(`The model refused the call (HTTP 400). ${STORED}.`);
    const all = await readAll(sessionId, turnId);
    expect(all).to.contain(`${'x'.repeat(499)}\ufffd.`);
    service.model.reply('Fine.');
    expect((await service.run(sessionId, 'odd')).at(-1)!.type).to.equal('turn.completed');
  });

  it('text of a client is refused, in keys and values of each body', async () => {
    const sessionId = await service.session();
    const of = (path: string): string => `/v1/sessions/${sessionId}${path}`;
    const answer = (more: object): object => ({ events: [{ tool_use_id: 't', ...more }] });
    const requests: ['POST' | 'PATCH', string, (odd: string) => object][] = [
      ['POST', '/v1/sessions', (odd) => ({ model_id: 'scripted', metadata: { a: odd } })],
      ['POST', '/v1/sessions', (odd) => ({ model_id: 'scripted', metadata: { [odd]: 'a' } })],
      ['POST', '/v1/sessions', (odd) => ({ model_id: 'scripted', user: odd })],
      ['PATCH', of(''), (odd) => ({ metadata: { [odd]: null } })],
      ['POST', of('/messages'), (odd) => ({ content: odd })],
      ['POST', of('/messages'), (odd) => ({ content: 'a', output_schema: { type: 'object', title: odd } })],
      ['POST', of('/fork'), (odd) => ({ metadata: { a: odd } })],
      ['POST', of('/events'), (odd) => answer({ type: 'user.custom_tool_result', content: odd })],
      ['POST', of('/events'), (odd) => answer({ type: 'user.tool_confirmation', result: 'deny', deny_message: odd })],
      ['POST', '/v1/webhooks', (odd) => ({ url: `https://example.com/${odd}`, events: ['turn.completed'] })],
      ['POST', '/v1/mcp-servers', (odd) => ({ name: odd, url: 'https://example.com/mcp' })],
      ['POST', `/v1/mcp-servers/${registered.id}/tools/echo/call`, (odd) => ({ input: { [odd]: odd } })],
    ];
    for (const [method, path, bodyOf] of requests) {
      for (const odd of ['\0', 'a\ud83d', '\ude00b']) {
        const { status, body } = await service.api(method, path, bodyOf(odd));
        expect(status, `${method} ${path} ${JSON.stringify(body)}`).to.equal(422);
        expect(JSON.stringify(body.error.details)).to.contain('has text with a NUL character or an unpaired surrogate');
      }
    }
  });
});

/** No text of the value, and no key, is one that Postgres cannot store. */
function expectStorable(value: unknown): void {
  if (typeof value === 'string') expect(isStorableText(value), JSON.stringify(value)).to.equal(true);
  if (typeof value !== 'object' || value === null) return;
  for (const [key, inner] of Object.entries(value)) [key, inner].forEach(expectStorable);
}
