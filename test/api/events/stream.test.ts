import { expect } from 'chai';
import { eventually } from '../../support/eventually.js';
import { storedDeltas } from '../../support/deltas.js';
import { checkFrame } from '../../support/openapi-check.js';
import { rawHttp } from '../../support/raw-http.js';
import { message, steps, text, thinking, toolUse, wait } from '../../support/scripted-model.js';
import { openSse, type SseFrame, type SseReader } from '../../support/sse-reader.js';
import { useTurnService } from '../../support/use.js';

/** A frame without the time of its arrival. */
const shown = ({ id, event, data }: SseFrame): unknown => ({ id, event, data });
const isDelta = ({ event }: SseFrame): boolean => event.endsWith('.delta');

/** docs/interface.md "The events of a turn"; decisions.md "Turns and events", "Stream, …", "Ping", "Data of a delta". */
describe('the event stream', () => {
  let otherUrl: string;
  const service = useTurnService();
  before(async () => {
    otherUrl = (await service.anotherApi()).url;
  });
  afterEach(() => service.model.reset());

  const onOther = (sessionId: string, lastEventId?: string): Promise<SseReader> =>
    openSse(`${otherUrl}/v1/sessions/${sessionId}/events/stream`, service.key, lastEventId);
  /** A turn that a stream follows from before its answer. */
  const answered = async (
    content = 'Hello',
    answer = text('ok'),
  ): Promise<{ sessionId: string; frames: SseFrame[] }> => {
    const sessionId = await service.session();
    const stream = await service.stream(sessionId);
    const gate = service.model.gate();
    service.model.reply([wait(gate), answer]);
    await service.send(sessionId, content);
    await stream.until(({ event }) => event === 'user.message');
    gate.open();
    await stream.ended;
    return { sessionId, frames: stream.frames };
  };
  /** The stream of a session up to its end. */
  const read = async (sessionId: string, lastEventId?: string): Promise<SseReader> => {
    const stream = await service.stream(sessionId, lastEventId);
    await stream.ended;
    return stream;
  };
  const deleteSession = async (sessionId: string): Promise<void> => {
    expect((await service.api('DELETE', `/v1/sessions/${sessionId}`)).status).to.equal(204);
  };

  it('the event stream has its wire form, its headers, retry and a first comment', async () => {
    const { sessionId } = await answered();
    const response = await fetch(`${service.url}/v1/sessions/${sessionId}/events/stream`, {
      headers: { Authorization: `Bearer ${service.key}` },
    });
    expect(response.status).to.equal(200);
    expect(response.headers.get('content-type')).to.match(/^text\/event-stream/);
    expect(response.headers.get('cache-control')).to.equal('no-cache');
    expect(response.headers.get('x-accel-buffering')).to.equal('no');
    expect(response.headers.get('x-request-id')).to.be.a('string');
    const blocks = (await response.text()).split('\n\n').filter((block) => block !== '');
    expect(blocks.filter((block) => /^retry: 2000$/m.test(block))).to.have.length(1);
    expect(blocks.some((block) => /^: ping$/m.test(block))).to.equal(true);
    const frames = blocks.filter((block) => block.includes('data:'));
    for (const frame of frames) {
      expect(frame).to.match(/^id: turn_[0-9a-z]{26}:\S+$/m);
      expect(frame).to.match(/^event: [a-z._]+$/m);
      expect(frame).to.match(/^data: \{.*\}$/m);
      expect(frame.split('\n')).to.have.length(3);
    }
    expect(frames).to.have.length(3);
  });

  it('the event stream sends deltas before their message, as data without an id', async () => {
    const { frames } = await answered();
    expect(frames.map(({ event }) => event)).to.deep.equal([
      'user.message',
      'agent.message.delta',
      'agent.message',
      'turn.completed',
    ]);
    expect(Object.keys(frames[1]!.data)).to.deep.equal(['type', 'turn_id', 'message_id', 'content']);
    for (const { event, data } of frames) expect(data.type).to.equal(event);
    expect(new Set(frames.map(({ id }) => id)).size).to.equal(4);
    for (const { id, event, data } of frames) checkFrame({ id, event, data: JSON.stringify(data) });
  });

  it('the event stream answers a Host header and a request target that hold a password', async () => {
    const { sessionId } = await answered();
    const path = `/v1/sessions/${sessionId}/events/stream`;
    for (const [target, host] of [
      [path, 'user:secret@x'],
      [`http://user:secret@x${path}`, 'x'],
    ]) {
      const answer = await rawHttp(
        service.url,
        `GET ${target} HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${service.key}\r\nConnection: close\r\n\r\n`,
      );
      expect(answer)
        .to.match(/^HTTP\/1.1 200 /)
        .and.contain('event: turn.completed');
    }
  });

  it('the event stream waits for the first turn of a session, with pings, wherever it is watched', async () => {
    const sessionId = await service.session();
    const waiting = await Promise.all([service.stream(sessionId), onOther(sessionId)]);
    const pings = Promise.all(waiting.map((stream) => comments(stream, 2)));
    await pings;
    expect(waiting.flatMap(({ frames }) => frames)).to.be.empty;
    await service.send(sessionId, 'Hello');
    for (const stream of waiting) {
      await stream.ended;
      expect(stream.frames.at(-1)!.event).to.equal('turn.completed');
      expect(stream.frames[0]!.event).to.equal('user.message');
    }
  });

  it('the event stream ends while it waits on a session that is deleted', async () => {
    const sessionId = await service.session();
    const waiting = await Promise.all([service.stream(sessionId), onOther(sessionId)]);
    await deleteSession(sessionId);
    await Promise.all(waiting.map(({ ended }) => ended));
    expect((await service.stream(sessionId)).status).to.equal(404);
  });

  it('the event stream shows the most recent turn, from its start, when none runs', async () => {
    const { sessionId } = await answered('One');
    await service.send(sessionId, 'Two');
    await service.ended(sessionId);
    const { frames } = await read(sessionId);
    expect(frames.map(({ event }) => event)).to.deep.equal(['user.message', 'agent.message', 'turn.completed']);
    expect(frames[0]!.data.content).to.equal('Two');
  });

  describe('resumed', () => {
    it('a stream resumed in an earlier turn of the session: the rest of that turn', async () => {
      const { sessionId, frames } = await answered('One');
      await service.send(sessionId, 'Two');
      await service.ended(sessionId);
      for (const { id } of [frames[0]!, frames[1]!]) {
        const rest = await read(sessionId, id);
        expect(rest.frames.map(shown)).to.deep.equal(frames.slice(2).map(shown));
        expect(rest.retry).to.equal(2000);
      }
    });

    it('a stream resumed after the terminal event of an earlier turn, or at an invalid id: the current turn from its start', async () => {
      const { sessionId, frames } = await answered('One');
      await service.send(sessionId, 'Two');
      await service.ended(sessionId);
      const other = await answered('Elsewhere');
      const current = (await read(sessionId)).frames.map(shown);
      const turnId = frames[0]!.data.turn_id as string;
      const last = frames.at(-1)!.id;
      for (const id of [
        last,
        other.frames[0]!.id,
        other.frames.at(-1)!.id,
        `${turnId}:99`,
        `${turnId}:99999999999999999999`,
        `${turnId}:1.2`,
        `${turnId}:-1`,
        `${turnId}:`,
        turnId,
        'turn_00000000000000000000000000:1',
        'evt_1',
        '7',
        "'; DROP TABLE turns; --",
        'x'.repeat(4000),
      ]) {
        const { status, frames: got } = await read(sessionId, id);
        expect(status, id).to.equal(200);
        expect(got.map(shown), id).to.deep.equal(current);
      }
    });

    it('a stream resumed after the terminal event of the current turn: an empty 200 with a longer retry time', async () => {
      const { sessionId, frames } = await answered();
      const stream = await read(sessionId, frames.at(-1)!.id);
      expect(stream.status).to.equal(200);
      expect(stream.frames).to.be.empty;
      expect(stream.retry).to.equal(15_000);
      expect(stream.headers.get('content-type')).to.match(/^text\/event-stream/);
    });

    it('a stream resumed at an earlier turn while the current one runs: the rest of the earlier one, then the end', async () => {
      const { sessionId, frames } = await answered('One');
      const gate = service.model.gate();
      service.model.reply([wait(gate), text('x')]);
      await service.send(sessionId, 'Two');
      const rest = await read(sessionId, frames[0]!.id);
      expect(rest.frames.at(-1)!.data).to.deep.equal(frames.at(-1)!.data);
      gate.open();
      await service.ended(sessionId);
    });
  });

  it('the event stream keeps deltas after the end for streams that are open; new ones get the stored events', async () => {
    const { sessionId, frames } = await answered();
    const turnId = frames[0]!.data.turn_id as string;
    expect(await storedDeltas(service.db, turnId)).to.have.length(1);
    expect((await read(sessionId)).frames.map(shown)).to.deep.equal(frames.filter((f) => !isDelta(f)).map(shown));
  });

  it('the event stream is the same for fifty watchers, early and late, on two processes', async () => {
    const gate = service.model.gate();
    service.model.on(
      /Tell/,
      steps(
        message([thinking('Well then.', { every: 0 }), text('Once upon.', { every: 1 }), toolUse('list_files')]),
        message(text('A time there was.', { every: 1, before: { 2: wait(gate) } })),
      ),
    );
    const sessionId = await service.session();
    const open = (count: number): Promise<SseReader[]> =>
      Promise.all(
        Array.from({ length: count }, (_, n) => (n % 2 === 0 ? service.stream(sessionId) : onOther(sessionId))),
      );
    const early = await open(25);
    await service.send(sessionId, 'Tell a story');
    await gate.reached;
    const late = await open(25);
    gate.open();
    const [first, ...rest] = [...early, ...late];
    await first!.ended;
    expect(first!.frames.at(-1)!.event).to.equal('turn.completed');
    for (const watcher of rest) {
      await watcher.ended;
      expect(watcher.frames.map(shown)).to.deep.equal(first!.frames.map(shown));
    }
  });

  it('the event stream carries any text: emoji across pieces, ten thousand characters at once, NUL and lone surrogates', async () => {
    const long = '👩‍🚀'.repeat(2000);
    const pieces = [long, 'a\0b', '\ud83d', 'c', 'line\nbreak\r\nand \u2028'];
    const { frames } = await answered('Hello', text(pieces));
    const full = frames.find(({ event }) => event === 'agent.message')!.data.content as string;
    const deltas = frames.filter(isDelta).map(({ data }) => data.content as string);
    expect(deltas.join('')).to.equal(full);
    expect(full).to.equal(`${long}a\ufffdb\ufffdcline\nbreak\r\nand \u2028`);
    for (const delta of deltas) expect(delta.isWellFormed()).to.equal(true);
  });

  it('the event stream does not lose anything when the LISTEN connections are killed', async () => {
    const gates = [service.model.gate(), service.model.gate()];
    service.model.reply(
      text('One two three four five.', { every: 0, before: { 1: wait(gates[0]!), 3: wait(gates[1]!) } }),
    );
    const sessionId = await service.session();
    const streams = await Promise.all([service.stream(sessionId), onOther(sessionId)]);
    await service.send(sessionId, 'Count');
    await gates[0]!.reached;
    const killed = await service.db.query<unknown[]>(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
       WHERE datname = current_database() AND application_name LIKE 'listen %'`,
    );
    expect(killed).to.have.length.of.at.least(2);
    gates[0]!.open();
    await Promise.all(streams.map((stream) => stream.until(({ data }) => String(data.content).endsWith(' three'))));
    gates[1]!.open();
    for (const { ended } of streams) await ended;
    const [one, two] = streams.map(({ frames }) => frames.map(shown));
    expect(one).to.deep.equal(two);
    const deltas = streams[0].frames.filter(isDelta).map(({ data }) => data.content as string);
    expect(deltas.join('')).to.equal('One two three four five.');
    expect(streams[0].frames.at(-1)!.event).to.equal('turn.completed');
  });

  it('a client that disconnects does not cancel the turn', async () => {
    const gate = service.model.gate();
    service.model.reply(text('One two.', { every: 0, before: { 1: wait(gate) } }));
    const sessionId = await service.session();
    const streams = await Promise.all([service.stream(sessionId), onOther(sessionId)]);
    await service.send(sessionId, 'Count');
    await Promise.all(streams.map((stream) => stream.until(isDelta)));
    for (const stream of streams) stream.close();
    gate.open();
    expect(await service.ended(sessionId)).to.include({ type: 'turn.completed' });
    expect(service.model.requests[0]!.abortedAt).to.equal(null);
  });
});

/** Resolves when the stream has had that many comments. */
async function comments(stream: SseReader, count: number): Promise<void> {
  await eventually(`${count} comments`, () => stream.comments.length >= count);
  expect(stream.comments[0]).to.equal(': ping');
}
