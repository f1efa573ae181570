import { expect } from 'chai';
import { message, steps, text, toolUse } from '../support/scripted-model.js';
import { expectAcceptedRequests, useTurnService } from '../support/use.js';

/** Tool use as the model may get it wrong (decisions.md "Turns and events", "What the agent has"): an error result, never a failed turn. */
describe('tool calls of a turn', () => {
  const service = useTurnService();
  expectAcceptedRequests(service);

  /** A turn with one tool call; returns the call's events and the tool result that the model got. */
  const call = async (use: ReturnType<typeof toolUse>) => {
    service.model.on(/Go/, steps(use, 'Done.'));
    const sessionId = await service.session({ thinking_enabled: false });
    await service.send(sessionId, 'Go');
    const end = await service.ended(sessionId);
    const events = await service.history(sessionId);
    return {
      end,
      use: events.find(({ type }) => type === 'agent.tool_use'),
      result: events.find(({ type }) => type === 'agent.tool_result'),
      sent: service.model.requests[1]!.body.messages.at(-1)!.content as unknown as Record<string, unknown>[],
    };
  };

  it('tool calls of a turn gives the result to client and model', async () => {
    const { end, use, result, sent } = await call(toolUse('list_files', {}, { id: 'toolu_1' }));
    expect(use).to.deep.include({ tool_use_id: 'toolu_1', name: 'list_files', input: {} });
    expect(result).to.deep.include({ tool_use_id: 'toolu_1', name: 'list_files', is_error: false });
    expect(sent[0]).to.deep.include({ type: 'tool_result', tool_use_id: 'toolu_1' });
    expect(JSON.stringify(sent[0]!.content)).to.include(JSON.stringify(result.content).slice(1, -1));
    expect(end).to.include({ type: 'turn.completed' });
  });

  it('tool calls of a turn answers a call of a tool that the model invented', async () => {
    const { end, result, sent } = await call(toolUse('send_rockets', { to: 'moon' }, { id: 'toolu_2' }));
    expect(result).to.include({ tool_use_id: 'toolu_2', name: 'send_rockets', is_error: true });
    expect(sent[0]).to.include({ is_error: true });
    expect(end).to.include({ type: 'turn.completed' });
  });

  it('tool calls of a turn answers a call with the wrong input, saying what is wrong', async () => {
    const { end, result } = await call(toolUse('deliver_file', { filename: 7 }));
    expect(result).to.include({ is_error: true });
    expect(result.content).to.include('filename').and.include('content');
    expect(end).to.include({ type: 'turn.completed' });
  });

  it('tool calls of a turn answers forty calls of one step, each once', async () => {
    const uses = Array.from({ length: 40 }, (_, n) => toolUse('list_files', {}, { id: `toolu_${n}` }));
    service.model.on(/Go/, steps(message([text('All at once.'), ...uses]), 'Done.'));
    const sessionId = await service.session({ thinking_enabled: false });
    await service.send(sessionId, 'Go');
    expect(await service.ended(sessionId)).to.include({ type: 'turn.completed' });
    const results = (await service.history(sessionId)).filter(({ type }) => type === 'agent.tool_result');
    expect(results.map(({ tool_use_id }) => tool_use_id as string)).to.have.members(uses.map((_, n) => `toolu_${n}`));
  });

  it('tool calls of a turn carries what Postgres cannot: NUL, lone surrogates, keys such as __proto__', async () => {
    const input = '{"filename": "a\\u0000b\\ud800.txt", "content": "\\udc00 ok", "__proto__": {"x": 1}}';
    const { end, result } = await call(toolUse('deliver_file', input));
    expect(result).to.include({ name: 'deliver_file' });
    expect(end).to.include({ type: 'turn.completed' });
  });

  it('tool calls of a turn carries a made-up name that is too long for Temporal and for the model', async () => {
    const name = `no_such_tool_${'x'.repeat(600)}`;
    const { end, result } = await call(toolUse(name));
    expect(result).to.include({ name, is_error: true });
    expect(end).to.include({ type: 'turn.completed' });
  });

  it('tool calls of a turn carries a made-up name that Postgres cannot', async () => {
    const { end } = await call(toolUse('no\0such\ud800'));
    expect(end).to.include({ type: 'turn.completed' });
  });
});
