import { expect } from 'chai';
import {
  cut,
  failure,
  http,
  message,
  raw,
  silence,
  streamError,
  text,
  thinking,
  toolUse,
} from '../support/scripted-model.js';
import { onLogLine } from '../support/log.js';
import { useTurnService } from '../support/use.js';

/** Retried at once: what is tested is that it is retried, not how long that takes. */
const soon = { 'retry-after-ms': '1' };

/** decisions.md "Turns and events", "agent.message", "turn.failed", "usage". */
describe('a model call that fails', () => {
  const service = useTurnService({ config: { modelIdleSeconds: 1, modelRetrySeconds: 3 } });
  afterEach(() => service.model.reset());

  /** Runs one turn in a new session; returns its events and its terminal event. */
  const run = async (content = 'Go') => {
    const sessionId = await service.session({ thinking_enabled: false });
    const turnId = await service.send(sessionId, content);
    const end = await service.ended(sessionId);
    return { sessionId, turnId, end, events: await service.history(sessionId) };
  };
  const statusOf = async (sessionId: string): Promise<string> =>
    (await service.api('GET', `/v1/sessions/${sessionId}`)).body.status as string;

  it('a model call that fails streams again under a new message_id; usage counts both calls', async () => {
    const more = {
      usage: { input_tokens: 10, cache_creation_input_tokens: 0, cache_read_input_tokens: 0, output_tokens: 3 },
    };
    service.model.reply(message([text('Half of'), cut()], more), message(text('Whole answer'), more));
    const sessionId = await service.session();
    const stream = await service.stream(sessionId);
    await service.send(sessionId, 'Go');
    await stream.ended;
    const deltas = stream.frames.filter(({ event }) => event === 'agent.message.delta').map(({ data }) => data);
    const full = stream.frames.find(({ event }) => event === 'agent.message')!.data;
    const contentOf = (id: string): string =>
      deltas
        .filter(({ message_id }) => message_id === id)
        .map(({ content }) => content as string)
        .join('');
    const [first, second] = [...new Set(deltas.map(({ message_id }) => message_id as string))];
    expect(contentOf(first!)).to.equal('Half of');
    expect(contentOf(second!)).to.equal('Whole answer');
    expect(full).to.include({ message_id: second, content: 'Whole answer' });
    const end = stream.frames.at(-1)!.data;
    // The first call reported one output token when it began; the seven characters that it streamed count as two.
    expect(end).to.deep.include({ type: 'turn.completed', usage: { input_tokens: 20, output_tokens: 5 } });
    expect(end.usage_details.model_calls).to.equal(2);
  });

  it('a model call that fails is logged with its status and cause, without the message of the API', async () => {
    const lines: Record<string, unknown>[] = [];
    const stop = onLogLine((line) => void (line.message === 'a model call failed' && lines.push(line)));
    const overloaded = { message: 'Quoted content', headers: { ...soon, 'request-id': 'req_of_the_model' } };
    service.model.reply(failure('overloaded_error', overloaded), message([text('Begun'), cut()]), 'At last.');
    const { turnId } = await run();
    stop();
    expect(lines).to.have.length(2);
    expect(lines[0]).to.include({ turn_id: turnId, step: 1, model: 'scripted', outcome: 'model_overloaded' });
    expect(lines[0]).to.include({ status: 529, reason: 'overloaded_error', model_request_id: 'req_of_the_model' });
    expect(lines[1]).to.include({ turn_id: turnId, outcome: 'model_error', reason: 'UND_ERR_SOCKET' });
    expect(JSON.stringify(lines)).to.not.contain('Quoted');
  });

  for (const [what, reply] of Object.entries({
    'overloaded (529)': failure('overloaded_error', { headers: soon }),
    'rate limited (429)': failure('rate_limit_error', { headers: soon }),
    'broken inside (500)': failure('api_error', { headers: soon }),
    'overloaded inside its answer': message([text('Begun'), streamError('overloaded_error')]),
    'cutting the connection': message([text('Begun'), cut()]),
    silent: message([text('Begun'), silence()]),
    'not speaking JSON': http(200, 'event: message_start\ndata: {"type": "mess\n\n', {
      'content-type': 'text/event-stream',
    }),
    'speaking of something else': http(200, 'event: message_start\ndata: {"type":"message_start"}\n\n', {
      'content-type': 'text/event-stream',
    }),
    'a proxy’s page': http(200, '<html>Sign in</html>', { 'content-type': 'text/html' }),
    'a gateway that is away': http(502, '<html>Bad gateway</html>', { 'content-type': 'text/html', ...soon }),
    'calling a tool with half a JSON': message([toolUse('list_files', '{"a": ')]),
    'calling a tool with an input nested 5,000 levels deep': message([
      toolUse('list_files', `{"a": ${'['.repeat(5000)}${']'.repeat(5000)}}`),
    ]),
    'calling a tool with a list': message([toolUse('list_files', '[1, 2]')]),
    garbled: message([text('Begun'), raw('event: content_block_delta\ndata: {{{\n\n'), text('more')]),
  })) {
    it(`a model call that fails is tried again: ${what}`, async () => {
      service.model.reply(reply, 'Fine now.');
      const { end, events } = await run();
      expect(end).to.include({ type: 'turn.completed' });
      expect(end.usage_details.model_calls).to.equal(2);
      expect(events.filter(({ type }) => type === 'agent.message')).to.have.length(1);
      expect(events.find(({ type }) => type === 'agent.message').content).to.equal('Fine now.');
    });
  }

  it('a model call that fails counts an invalid answer as a failure', async () => {
    service.model.script(() => message([text('Begun'), raw('event: content_block_delta\ndata: {"secret": {{{\n\n')]));
    const { end } = await run();
    expect(service.model.requests.length).to.be.at.least(2);
    expect(end.error).to.deep.equal({
      type: 'model_error',
      message: 'The model’s answer is not valid.',
      retryable: true,
    });
  });

  it("a model call that fails waits as long as the model's API asks", async () => {
    service.model.reply(failure('rate_limit_error', { headers: { 'retry-after': '2' } }), 'ok');
    await run();
    const [first, second] = service.model.requests;
    expect(second!.receivedAt - first!.receivedAt).to.be.within(1950, 5000);
  });

  it('a model call that fails ends the turn with the last error message; the session continues', async () => {
    service.model.script(() => failure('overloaded_error', { message: 'Come back on Monday' }));
    const { sessionId, end } = await run();
    expect(end.type).to.equal('turn.failed');
    expect(end.error).to.deep.include({ type: 'model_overloaded', retryable: true });
    expect(end.error.message).to.include('Come back on Monday');
    expect(end.usage_details.model_calls).to.equal(service.model.requests.length);
    expect(await statusOf(sessionId)).to.equal('FAILED');

    service.model.reset();
    service.model.reply('Good morning.');
    await service.send(sessionId, 'Again');
    expect(await service.ended(sessionId)).to.include({ type: 'turn.completed' });
    expect(await statusOf(sessionId)).to.equal('COMPLETE');
    expect(JSON.stringify(service.model.requests[0]!.body.messages)).to.include('The previous turn failed');
    expect(service.model.refused).to.be.empty;
  });

  it('a model call that fails is model_rate_limited after nothing but 429', async () => {
    service.model.script(() => failure('rate_limit_error', { headers: { 'retry-after': '1' } }));
    expect((await run()).end.error).to.deep.include({ type: 'model_rate_limited', retryable: true });
  });

  it("a model call that fails is not retried when the API rejects the request, and keeps the API's message", async () => {
    service.model.reply(failure('invalid_request_error', { message: 'tools.3: no such thing' }));
    const { end } = await run();
    expect(service.model.requests).to.have.length(1);
    expect(end.error).to.deep.include({ type: 'model_error', retryable: false });
    expect(end.error.message).to.include('tools.3: no such thing').and.include('400');
  });

  it('a model call that fails follows x-should-retry', async () => {
    service.model.reply(failure('api_error', { headers: { 'x-should-retry': 'false' } }));
    expect((await run()).end).to.include({ type: 'turn.failed' });
    expect(service.model.requests).to.have.length(1);
  });

  it('a model call that fails stores the partial text of the last attempt, but not its partial thinking', async () => {
    service.model.script(() =>
      message([thinking('Hm, let me'), text('I will now '), streamError('invalid_request_error', 'No more.')]),
    );
    const { end, events } = await run();
    expect(end.error).to.include({ type: 'model_error' });
    expect(events.map(({ type }) => type)).to.deep.equal(['user.message', 'agent.message', 'turn.failed']);
    expect(events[1]).to.include({ content: 'I will now ', incomplete: true });
    expect(end.usage.input_tokens).to.be.greaterThan(0);
  });

  it('a model call that fails reports the failure that ended the turn, not an earlier one', async () => {
    service.model.reply(
      failure('overloaded_error', { message: 'for a moment', headers: soon }),
      toolUse('list_files'),
      failure('invalid_request_error', { message: 'prompt is too long: 9 tokens > 8 maximum' }),
    );
    const { end } = await run();
    expect(end.error).to.deep.include({ type: 'context_too_long', retryable: false });
    expect(end.error.message).to.not.include('moment');
  });

  it('a model call that fails fails with a useful message when the model is no longer in the catalogue', async () => {
    const sessionId = await service.session();
    await service.db.query(`UPDATE configurations SET model_id = 'gone-model' WHERE id = $1`, [sessionId]);
    await service.send(sessionId, 'Go');
    const end = await service.ended(sessionId);
    expect(end.error).to.include({ type: 'model_error', retryable: false });
    expect(end.error.message).to.include('gone-model');
    expect(end.usage_details.model_calls).to.equal(0);
  });
});
