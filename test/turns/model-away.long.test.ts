import { expect } from 'chai';
import { AgentSessionClient } from '../../client/src/index.js';
import { cut, failure, http, message, text, toolUse } from '../support/scripted-model.js';
import { openSse, type SseReader } from '../support/sse-reader.js';
import type { TurnService } from '../support/turns.js';
import { useTurnService } from '../support/use.js';

const busyFor = (ms: number) => failure('overloaded_error', { headers: { 'retry-after-ms': String(ms) } });
const retries = (stream: SseReader) => stream.frames.filter(({ event }) => event === 'agent.retry.delta');
const untilAttempt = (stream: SseReader, attempt: number) =>
  stream.until(({ event, data }) => event === 'agent.retry.delta' && data.attempt === attempt);

/** decisions.md "Results", "A model that is away". */
describe('a turn whose model is away', () => {
  const service = useTurnService({ config: { modelRetrySeconds: 6, workerMaxActivities: 1 } });
  afterEach(() => service.model.reset());

  /** Starts a turn; returns a stream that watches it. */
  const begin = async (own: TurnService = service) => {
    const sessionId = await own.session({ thinking_enabled: false });
    const stream = await own.stream(sessionId);
    const turnId = await own.send(sessionId, 'Go');
    return { sessionId, turnId, stream };
  };
  const sinceFirst = () =>
    service.model.requests.map(({ receivedAt }) => receivedAt - service.model.requests[0]!.receivedAt);

  it('a turn whose model is away tries by time: with growing pauses, a last time at the end, and then fails', async () => {
    service.model.script(() => failure('overloaded_error', { message: 'Come back on Monday' }));
    const { sessionId, turnId, stream } = await begin();
    await untilAttempt(stream, 2);
    expect((await service.api('GET', `/v1/sessions/${sessionId}`)).body.status).to.equal('RUNNING');
    expect((await service.api('GET', `/v1/sessions/${sessionId}/turns/${turnId}`)).body.status).to.equal('running');
    await stream.ended;
    const end = stream.frames.at(-1)!.data;
    expect(end.error).to.deep.include({ type: 'model_overloaded', retryable: true });
    expect(end.error.message).to.include('Come back on Monday');
    const [, second, third, last, ...more] = sinceFirst();
    expect(more).to.deep.equal([]);
    expect(second).to.be.at.least(950);
    expect(third! - second!).to.be.at.least(1950);
    expect(last).to.be.at.least(5800);

    const notices = retries(stream);
    expect(notices.map(({ data }) => data.attempt as number)).to.deep.equal([1, 2, 3]);
    for (const { id, data } of notices) {
      expect(Object.keys(data)).to.deep.equal(['type', 'turn_id', 'reason', 'attempt', 'retry_at']);
      expect(data).to.include({ turn_id: turnId, reason: 'model_overloaded' });
      expect(data.retry_at).to.match(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
      expect(id).to.match(new RegExp(`^${turnId}:\\d+\\.\\d+\\.\\d+$`));
    }
    const pause = Date.parse(notices[1]!.data.retry_at) - Date.parse(notices[0]!.data.retry_at);
    expect(pause).to.be.at.least(1950);
    expect((await service.history(sessionId)).map(({ type }) => type as string)).to.deep.equal([
      'user.message',
      'turn.failed',
    ]);
    service.model.reset();
    service.model.reply('Good morning.');
    await service.send(sessionId, 'Again');
    expect(await service.ended(sessionId)).to.include({ type: 'turn.completed' });
  });

  it('a turn whose model is away completes once the model is back, whatever was wrong', async () => {
    service.model.reply(
      http(503, 'away', { 'content-type': 'text/plain', 'retry-after-ms': '1' }),
      failure('rate_limit_error', { headers: { 'retry-after-ms': '1' } }),
      message([text('Half of an'), cut()]),
      'Here I am.',
    );
    const { stream } = await begin();
    await stream.ended;
    expect(stream.frames.at(-1)!.data).to.include({ type: 'turn.completed' });
    expect(retries(stream).map(({ data }) => [data.attempt, data.reason])).to.deep.equal([
      [1, 'model_overloaded'],
      [2, 'model_rate_limited'],
      [3, 'model_error'],
    ]);
  });

  it('a turn whose model is away fails at once when the model asks for more time than is left', async () => {
    service.model.script(() => busyFor(60_000));
    const { stream } = await begin();
    await stream.ended;
    expect(stream.frames.at(-1)!.data.error).to.deep.include({ type: 'model_overloaded', retryable: true });
    expect(service.model.requests).to.have.length(1);
    expect(retries(stream)).to.deep.equal([]);
  });

  it('a turn whose model is away has the time anew for each call', async () => {
    const twice = [busyFor(2000), busyFor(2000)];
    service.model.reply(...twice, toolUse('list_files'), ...twice, toolUse('list_files'), 'Done.');
    const { stream } = await begin();
    await stream.ended;
    expect(stream.frames.at(-1)!.data).to.include({ type: 'turn.completed' });
    expect(retries(stream).map(({ data }) => data.attempt as number)).to.deep.equal([1, 2, 1, 2]);
  });

  it('a turn whose model is away has no time anew when a message steers the turn between two attempts', async () => {
    service.model.script(() => busyFor(1500));
    const { sessionId, turnId, stream } = await begin();
    const steer = (content: string) => service.send(sessionId, content, { when_running: 'steer' });
    await untilAttempt(stream, 1);
    expect(await steer('Also in red')).to.equal(turnId);
    await untilAttempt(stream, 2);
    await steer('And large');
    await stream.ended;
    const notices = retries(stream).map(({ data }) => data.attempt as number);
    expect(notices).to.deep.equal(notices.map((_, n) => n + 1));
    expect(stream.frames.at(-1)!.data.error).to.deep.include({ type: 'model_overloaded' });
    expect(sinceFirst().at(-1)).to.be.below(7500);
    const steering = (await service.history(sessionId)).filter(({ delivered_at_step: step }) => step !== undefined);
    expect(steering.map(({ content, delivered_at_step: step }) => [content, step])).to.deep.equal([
      ['Also in red', 1],
      ['And large', 1],
    ]);
  });

  it('a turn whose model is away holds no slot of a worker while it waits', async () => {
    service.model.reply(busyFor(2500));
    const { sessionId, stream } = await begin();
    await untilAttempt(stream, 1);
    service.model.reply('Meanwhile.');
    const other = await service.session();
    await service.send(other, 'Go');
    // The one slot of the worker is free.
    expect(await service.ended(other)).to.include({ type: 'turn.completed' });
    expect(service.model.requests).to.have.length(2);
    await service.api('POST', `/v1/sessions/${sessionId}/cancel`);
    await stream.ended;
    expect(stream.frames.at(-1)!.event).to.equal('turn.cancelled');
  });

  describe('notices', () => {
    const patient = useTurnService({ own: 'it starts a second worker', config: { modelRetrySeconds: 600 } });
    afterEach(() => patient.model.reset());

    it('a turn whose model is away shows that to those who connect meanwhile by the newest notice alone, from any process', async () => {
      patient.model.reply(busyFor(1), busyFor(1), busyFor(500_000));
      const { sessionId, stream } = await begin(patient);
      const newest = await untilAttempt(stream, 3);
      const other = await patient.anotherApi();
      for (const url of [patient.url, other.url]) {
        const joined = await openSse(`${url}/v1/sessions/${sessionId}/events/stream`, patient.key);
        const seen = await joined.until(({ event }) => event === 'agent.retry.delta');
        expect([seen.id, seen.data]).to.deep.equal([newest.id, newest.data]);
        // Who has seen it already does not get it again.
        const resumed = await openSse(`${url}/v1/sessions/${sessionId}/events/stream`, patient.key, newest.id);
        await patient.api('GET', `/v1/sessions/${sessionId}`);
        expect(resumed.frames).to.deep.equal([]);
        joined.close();
        resumed.close();
      }
      await patient.api('POST', `/v1/sessions/${sessionId}/cancel`);
      await stream.ended;
      expect(retries(stream).map(({ data }) => data.attempt as number)).to.deep.equal([1, 2, 3]);
    });

    it('a turn whose model is away shows that with attempts that go on when another worker takes over', async () => {
      const [first] = patient.workers;
      patient.model.reply(busyFor(1), busyFor(3000));
      const { stream } = await begin(patient);
      await untilAttempt(stream, 2);
      await first!.close();
      patient.model.reply(busyFor(1), 'Here I am.');
      await patient.startWorker();
      await stream.ended;
      expect(stream.frames.at(-1)!.data).to.include({ type: 'turn.completed' });
      expect(retries(stream).map(({ data }) => data.attempt as number)).to.deep.equal([1, 2, 3]);
    });

    it('a turn whose model is away shows that to users of the client, which passes notices on', async () => {
      patient.model.reply(busyFor(1), 'Here I am.');
      const client = new AgentSessionClient({ baseUrl: patient.url, apiKey: patient.key });
      const sessionId = await patient.session();
      await patient.send(sessionId, 'Go');
      const types: string[] = [];
      for await (const event of client.stream(sessionId)) types.push(event.type);
      expect(types).to.include('turn.completed');
    });
  });
});
