import { expect } from 'chai';
import {
  begin,
  end,
  hello,
  json,
  start,
  startText,
  startTool,
  stop,
  text,
  thinking,
} from '../activities/model/dialects/frames.js';
import { http, type Reply } from '../support/scripted-model.js';
import { expectAcceptedRequests, useRegisteredMcp } from '../support/use.js';

const TOOL = 'mcp__clock__now';
/** An answer as a gateway streams it. */
const streamed = (...frames: string[]): Reply => http(200, frames.join(''), { 'content-type': 'text/event-stream' });

/** docs/models.md "Servers that differ from the Messages API". The scripted model refuses what the API would refuse. */
describe('a turn through a gateway', () => {
  const { service, mcp, registered } = useRegisteredMcp('clock', { tools: [{ name: 'now' }] });
  expectAcceptedRequests(service);

  const blocksOf = (type: string) =>
    service.model.requests
      .at(-1)!
      .body.messages.flatMap(({ content }) => (typeof content === 'string' ? [] : content))
      .filter((block) => block.type === type);

  it('a turn through a gateway that writes no arguments in its own way calls the tool with an object', async () => {
    const inputs = ['null', '[]', '""', '" "', JSON.stringify('{"zone":"UTC"}')];
    const calls = inputs.map(
      (input, n) =>
        startTool(n, { id: `toolu_${n}`, name: TOOL }) + json(n, input.slice(0, 2)) + json(n, input.slice(2)) + stop(n),
    );
    service.model.reply(streamed(begin(), ...calls, end('tool_use')), 'Done.');
    const session = await service.session({ mcp_servers: [registered.id] });
    const events = await service.run(session, 'What time is it?');
    const expected = [{}, {}, {}, {}, { zone: 'UTC' }];
    expect(events.at(-1).type).to.equal('turn.completed');
    expect(events.filter(({ type }) => type === 'agent.tool_use').map(({ input }) => input)).to.deep.equal(expected);
    expect(mcp.calls.map((call) => call.arguments)).to.have.deep.members(expected);
    expect(blocksOf('tool_use').map((block) => (block as { input: object }).input)).to.deep.equal(expected);
  });

  it('a turn through a gateway that signs no thinking shows it and never sends it back', async () => {
    const answer = streamed(
      begin() + startText(0) + thinking(0, 'One. ') + text(0, 'Hel') + thinking(0, 'Two.') + text(0, 'lo') + stop(0),
      start(1, { type: 'redacted_thinking' }) + stop(1) + startTool(2, { name: TOOL }) + stop(2) + end('tool_use'),
    );
    service.model.reply(answer, 'Done.', 'Well.');
    const session = await service.session({ mcp_servers: [registered.id] });
    const [, thought, said] = await service.run(session, 'Think.');
    expect(thought).to.include({ type: 'agent.thinking', content: 'One. Two.' });
    expect(said).to.include({ type: 'agent.message', content: 'Hello' });
    expect(blocksOf('tool_use')).to.have.length(1);
    await service.run(session, 'And?');
    expect([...blocksOf('thinking'), ...blocksOf('redacted_thinking')]).to.deep.equal([]);
  });

  it('a turn through a gateway that thinks although the session does not shows no thinking', async () => {
    const answer = begin() + start(0, { type: 'thinking' }) + thinking(0, 'Hm.') + stop(0) + hello(1) + end();
    service.model.reply(streamed(answer), 'Well.');
    const session = await service.session({ thinking_enabled: false });
    const stream = await service.stream(session);
    await service.run(session, 'Think.');
    await stream.ended;
    const types = new Set(stream.frames.map(({ event }) => event));
    expect([...types])
      .to.include('agent.message')
      .and.not.include('agent.thinking')
      .and.not.include('agent.thinking.delta');
    await service.run(session, 'And?');
    expect(blocksOf('thinking')).to.deep.equal([]);
  });
});
