import { expect } from 'chai';
import { AgentSessionClient } from '../../client/src/index.js';
import { exactText, parseExact } from '../../src/platform/exact-json.js';
import { resultJson, sendRaw } from '../support/raw-answers.js';
import { message, steps, toolUse, type HttpReply } from '../support/scripted-model.js';
import { McpServers } from '../support/mcp-server.js';
import { expectAcceptedRequests, useTurnService } from '../support/use.js';
import { confirmation, customTool, requiredActions, sendAnswers } from '../support/waiting-turns.js';

const ID = '1189238471982374913';
const LONGER = '1189238471982374912345';

/** decisions.md "Turns and events", "Numbers in tool calls". */
describe('long integers in a turn', () => {
  const servers = new McpServers();
  const service = useTurnService(() => ({ config: { mcpAllowedHosts: servers.hosts } }));
  expectAcceptedRequests(service);
  after(() => servers.close());

  /** A server that answers each call with a structured result, and the bodies of its calls as they came. */
  const register = async () => {
    const calls: string[] = [];
    const { made } = await servers.register(service, {
      stateless: true,
      tools: [{ name: 'find' }],
      gateway: (_req, res, body) => {
        if (!body.includes('"tools/call"')) return false;
        calls.push(body);
        const { id } = JSON.parse(body) as { id: number };
        sendRaw(res, 'json', resultJson(id, `{"content":[],"structuredContent":{"id":${LONGER}}}`));
        return true;
      },
    });
    return { calls, id: made.id, tool: `mcp__${made.name}__find` };
  };
  const text = async (path: string): Promise<string> => {
    const response = await fetch(`${service.url}${path}`, { headers: { Authorization: `Bearer ${service.key}` } });
    return response.text();
  };

  /** A session whose calls of `find` need a person's approval. */
  const askingSession = (id: string): Promise<string> =>
    service.session({
      thinking_enabled: false,
      mcp_servers: [id],
      tools: [
        {
          type: 'mcp_toolset',
          mcp_server_id: id,
          configs: [{ name: 'find', permission_policy: { type: 'always_ask' } }],
        },
      ],
    });

  it('long integers in a turn reach the person, the server, the client and the model digit by digit', async () => {
    const { calls, id, tool } = await register();
    const sessionId = await askingSession(id);
    service.model.on(/Find/, steps([toolUse(tool, `{"id": ${ID}, "note": "${ID}"}`, { id: 'toolu_1' })], 'Found.'));
    await service.send(sessionId, 'Find it');
    await requiredActions(service, sessionId);
    const input = `{"id":${ID},"note":"${ID}"}`;
    expect(await text(`/v1/sessions/${sessionId}`), 'what a person approves').to.include(input);
    const { status } = await sendAnswers(service, sessionId, [confirmation('toolu_1', 'allow')]);
    expect(status).to.equal(201);
    expect(await service.ended(sessionId)).to.include({ type: 'turn.completed' });
    expect(calls).to.have.length(1);
    expect(calls[0]).to.include(`"arguments":{"id":${ID},"note":"${ID}"}`);
    for (const path of ['events', 'events/stream']) {
      const events = await text(`/v1/sessions/${sessionId}/${path}`);
      expect(events.split(input), path).to.have.length(3);
      expect(events, path).to.include(`{\\"id\\":${LONGER}}`);
    }
    const [asked, result] = service.model.requests
      .at(-1)!
      .body.messages.slice(-2)
      .map(({ content }) => content);
    expect(asked).to.deep.include({ type: 'tool_use', id: 'toolu_1', name: tool, input: { id: Number(ID), note: ID } });
    expect(JSON.stringify(result)).to.include(`{\\"id\\":${LONGER}}`);
  });

  it('long integers in a turn reach the client that runs a tool, and the error of an operation that has to wait', async () => {
    const sessionId = await service.session({ thinking_enabled: false, tools: [customTool('look_up')] });
    service.model.on(/Look/, steps([toolUse('look_up', `{"id":${ID}}`, { id: 'toolu_1' })], 'Done.'));
    await service.send(sessionId, 'Look it up');
    await requiredActions(service, sessionId);
    expect(await text(`/v1/sessions/${sessionId}/events`)).to.include(`"input":{"id":${ID}}`);
    const client = new AgentSessionClient({ baseUrl: service.url, apiKey: service.key, parseJson: parseExact });
    const { required_actions: actions } = await client.getSession(sessionId);
    expect(exactText(actions), 'as the console shows it').to.include(`"input":{"id":${ID}}`);
    for await (const event of client.stream(sessionId)) {
      if (event.type !== 'agent.custom_tool_use') continue;
      expect(exactText(event.input)).to.equal(`{"id":${ID}}`);
      break;
    }
    const refused = await fetch(`${service.url}/v1/sessions/${sessionId}`, {
      method: 'DELETE',
      headers: { Authorization: `Bearer ${service.key}` },
    });
    expect(refused.status).to.equal(409);
    expect(await refused.text()).to.include(`"input":{"id":${ID}}`);
    await service.api('POST', `/v1/sessions/${sessionId}/cancel`);
  });

  it('long integers in a turn make two calls different: a person who denied one is asked about the other', async () => {
    const { id, tool } = await register();
    const sessionId = await askingSession(id);
    const find = (digits: string, use: string) => message([toolUse(tool, `{"id":${digits}}`, { id: use })]);
    const [first, other] = ['9007199254740993', '9007199254740992'];
    service.model.on(/Find/, steps(find(first, 'toolu_1'), find(first, 'toolu_2'), find(other, 'toolu_3'), 'Done.'));
    await service.send(sessionId, 'Find it');
    await requiredActions(service, sessionId);
    await sendAnswers(service, sessionId, [confirmation('toolu_1', 'deny')]);
    // The same call again is denied without asking; only the other one waits.
    const [waiting] = await requiredActions(service, sessionId);
    expect(waiting.tool_use_id).to.equal('toolu_3');
    await service.api('POST', `/v1/sessions/${sessionId}/cancel`);
  });

  it('long integers in a turn are kept also when the model’s server sends the whole input at the start of the call', async () => {
    const { calls, id, tool } = await register();
    const sessionId = await service.session({ thinking_enabled: false, mcp_servers: [id] });
    const early = `{"type":"tool_use","id":"toolu_1","name":"${tool}","input":{"where":[{"id":${ID}}]}}`;
    service.model.on(/Find/, steps(startedWith(early), 'I see.'));
    const events = await service.run(sessionId, 'Find it');
    expect(calls).to.have.length(1);
    expect(calls[0]).to.include(`"arguments":{"where":[{"id":${ID}}]}`);
    expect(events.at(-1)).to.include({ type: 'turn.completed' });
  });
});

/** An answer with the whole input at the start of its block, as some servers send it. */
function startedWith(block: string): HttpReply {
  const usage = { input_tokens: 1, output_tokens: 1 };
  const frames = [
    { type: 'message_start', message: { id: 'm', type: 'message', role: 'assistant', content: [], usage } },
    { type: 'content_block_start', index: 0, content_block: '(block)' },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage },
    { type: 'message_stop' },
  ];
  const body = frames.map((frame) => `event: ${frame.type}\ndata: ${JSON.stringify(frame)}\n\n`).join('');
  const headers = { 'content-type': 'text/event-stream' };
  return { kind: 'http', status: 200, headers, body: body.replace('"(block)"', block) };
}
