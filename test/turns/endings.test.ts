import { expect } from 'chai';
import { message, redactedThinking, steps, text, thinking, toolUse, wait } from '../support/scripted-model.js';
import { startTurnService, type TurnService } from '../support/turns.js';
import { expectAcceptedRequests, useTurnService } from '../support/use.js';

/** decisions.md "Turns and events" `turn.completed`, `agent.thinking`, `agent.message`; "Running it", MAX_STEPS, TURN_TIMEOUT_SECONDS. */
describe('how a turn goes and ends', () => {
  const service = useTurnService({ config: { maxSteps: 2 } });
  expectAcceptedRequests(service);

  const run = async (body: Record<string, unknown> = {}) => {
    const sessionId = await service.session(body);
    await service.send(sessionId, 'Go');
    const end = await service.ended(sessionId);
    return { sessionId, end, events: await service.history(sessionId) };
  };
  // oxlint-disable-next-line typescript/no-explicit-any -- events of many types
  const typesOf = (events: any[]): string[] => events.map(({ type }) => type as string);

  it('a turn completes with usage, details, timing and stop_reason', async () => {
    const usage = { input_tokens: 7, cache_read_input_tokens: 20, cache_creation_input_tokens: 100, output_tokens: 5 };
    service.model.reply(message(text('Hello'), { usage }));
    const { end } = await run();
    expect(end).to.deep.include({
      type: 'turn.completed',
      stop_reason: 'end_turn',
      usage: { input_tokens: 127, output_tokens: 5 },
      usage_details: { model_calls: 1, cache_read_input_tokens: 20, cache_creation_input_tokens: 100, cost: null },
    });
    expect(Object.keys(end.timing)).to.have.members([
      'queued_ms',
      'connect_ms',
      'first_token_ms',
      'model_ms',
      'tools_ms',
      'waiting_ms',
      'between_steps_ms',
      'total_ms',
    ]);
    expect(end.timing).to.include({ connect_ms: null, tools_ms: null });
    for (const phase of ['queued_ms', 'first_token_ms', 'model_ms', 'total_ms']) {
      expect(end.timing[phase], phase).to.be.within(0, 30_000);
    }
    expect(end.timing.total_ms).to.be.at.least(end.timing.first_token_ms);
  });

  it('how a turn goes and ends stores thinking, one message and tool uses under one message_id, in that order', async () => {
    service.model.reply([
      thinking('First this.'),
      text('One '),
      text('message.'),
      toolUse('list_files', {}, { id: 'toolu_a' }),
      toolUse('deliver_file', { filename: 'a.txt', content: 'x' }, { id: 'toolu_b' }),
    ]);
    const { events, end } = await run();
    expect(typesOf(events).slice(0, 5)).to.deep.equal([
      'user.message',
      'agent.thinking',
      'agent.message',
      'agent.tool_use',
      'agent.tool_use',
    ]);
    expect(events[1]).to.include({ content: 'First this.', message_id: events[2].message_id });
    expect(events[2].content).to.equal('One message.');
    expect(events[3]).to.deep.include({ tool_use_id: 'toolu_a', name: 'list_files', input: {} });
    expect(typesOf(events).slice(5).sort()).to.deep.equal([
      'agent.file',
      'agent.message',
      'agent.tool_result',
      'agent.tool_result',
      'turn.completed',
    ]);
    expect(end.timing.tools_ms).to.be.a('number');
  });

  it('how a turn goes and ends shows no thinking that has no text, and no empty message', async () => {
    service.model.reply([redactedThinking(), toolUse('list_files')], [thinking('.'), text('Done.')]);
    const { events } = await run();
    expect(typesOf(events)).to.deep.equal([
      'user.message',
      'agent.tool_use',
      'agent.tool_result',
      'agent.thinking',
      'agent.message',
      'turn.completed',
    ]);
  });

  it('how a turn goes and ends asks for no thinking in a session without it', async () => {
    const { end } = await run({ thinking_enabled: false });
    expect(end).to.include({ type: 'turn.completed' });
    expect(service.model.requests[0]!.body).to.not.have.property('thinking');
    await run();
    expect(service.model.requests[1]!.body).to.have.nested.property('thinking.type', 'enabled');
  });

  it('how a turn goes and ends ends at the step limit; calls that did not run get a result, and the session continues', async () => {
    service.model.on(/Go/, steps([thinking('.'), toolUse('list_files')], [thinking('.'), toolUse('list_files')]));
    const { sessionId, end, events } = await run();
    expect(end).to.include({ type: 'turn.completed', stop_reason: 'max_steps' });
    expect(service.model.requests).to.have.length(2);
    const results = events.filter(({ type }) => type === 'agent.tool_result');
    expect(results.map(({ is_error }) => is_error as boolean)).to.deep.equal([false, true]);
    service.model.on(/On/, 'Going on.');
    await service.send(sessionId, 'On');
    expect(await service.ended(sessionId)).to.include({ type: 'turn.completed', stop_reason: 'end_turn' });
  });

  it('how a turn goes and ends goes on after pause_turn', async () => {
    service.model.reply(message([thinking('.'), text('A moment. ')], { stopReason: 'pause_turn' }), [
      thinking('.'),
      text('There.'),
    ]);
    const { end, events } = await run();
    expect(end).to.include({ type: 'turn.completed', stop_reason: 'end_turn' });
    expect(events.filter(({ type }) => type === 'agent.message').map(({ content }) => content as string)).to.deep.equal(
      ['A moment. ', 'There.'],
    );
  });

  it('how a turn goes and ends has max_steps as its stop_reason when it pauses at the limit', async () => {
    service.model.script(() => message([thinking('.'), text('A moment. ')], { stopReason: 'pause_turn' }));
    expect((await run()).end).to.include({ stop_reason: 'max_steps' });
  });

  it('how a turn goes and ends has max_tokens as its stop_reason when the output limit cut the answer, and drops a cut tool call', async () => {
    service.model.reply(
      message([thinking('.'), text('Now '), toolUse('list_files', '{"a": "b')], { stopReason: 'max_tokens' }),
    );
    const { end, events } = await run();
    expect(end).to.include({ type: 'turn.completed', stop_reason: 'max_output_tokens' });
    expect(typesOf(events)).to.deep.equal(['user.message', 'agent.thinking', 'agent.message', 'turn.completed']);
  });

  it('how a turn goes and ends has refusal as its stop_reason when the model refused', async () => {
    service.model.reply(message(text('No.'), { stopReason: 'refusal' }));
    expect((await run()).end).to.include({ type: 'turn.completed', stop_reason: 'refusal' });
  });
});

describe('the time limit of a turn', () => {
  let service: TurnService;
  before(async () => {
    // Long enough for an ordinary turn on a busy machine.
    service = await startTurnService({ config: { turnTimeoutSeconds: 6 } });
  });
  after(() => service.close());
  afterEach(() => service.model.reset());

  it('the time limit of a turn fails with turn_timeout while the model streams; the session continues', async () => {
    service.model.reply([text('Endless '), wait(600_000), text('never')]);
    const sessionId = await service.session();
    await service.send(sessionId, 'Go');
    const end = await service.ended(sessionId);
    const events = await service.history(sessionId);
    expect(end.timing.total_ms).to.be.within(5900, 30_000);
    expect(end).to.include({ type: 'turn.failed' });
    expect(end.error).to.include({ type: 'turn_timeout', retryable: true });
    expect(events.map(({ type }) => type as string)).to.deep.equal(['user.message', 'agent.message', 'turn.failed']);
    expect(events[1]).to.include({ content: 'Endless ', incomplete: true });
    await service.model.requests[0]!.aborted;
    service.model.reply('Quick.');
    await service.send(sessionId, 'Again');
    expect(await service.ended(sessionId)).to.include({ type: 'turn.completed' });
  });

  it('the time limit of a turn applies to a turn of many short steps', async () => {
    service.model.script(() => [wait(400), thinking('.'), toolUse('list_files')]);
    const sessionId = await service.session();
    await service.send(sessionId, 'Go');
    const end = await service.ended(sessionId);
    expect(end.error).to.include({ type: 'turn_timeout' });
    expect(end.timing.total_ms).to.be.lessThan(30_000);
  });
});
