import { expect } from 'chai';
import { createSchedule, newSchedule, ofSchedule } from '../../support/schedules.js';
import { streaming } from '../../support/open-turn.js';
import { failure, text, toolUse } from '../../support/scripted-model.js';
import { openSse, type SseFrame, type SseReader } from '../../support/sse-reader.js';
import { useTurnService } from '../../support/use.js';

const isDelta = ({ event }: SseFrame): boolean => event.endsWith('.delta');
/** The events of the frames that are stored too. */
const stored = ({ frames }: SseReader): unknown[] => frames.filter((frame) => !isDelta(frame)).map(({ data }) => data);
const shown = ({ id, event, data }: SseFrame): unknown => ({ id, event, data });
const endOf =
  (turnId: string) =>
  ({ event, data }: SseFrame): boolean =>
    data.turn_id === turnId && /^turn\.(completed|failed|cancelled)$/.test(event);

/** docs/decisions.md "Session stream". */
describe('a stream of the session', () => {
  let otherUrl: string;
  const open = new Set<SseReader>();
  const service = useTurnService();
  before(async () => {
    otherUrl = (await service.anotherApi()).url;
  });
  afterEach(() => {
    for (const stream of open) stream.close();
    open.clear();
    service.model.reset();
  });

  const follow = async (sessionId: string, lastEventId?: string, more = '', url = service.url): Promise<SseReader> => {
    const path = `/v1/sessions/${sessionId}/events/stream?follow=session${more}`;
    const stream = await openSse(url + path, service.key, lastEventId);
    open.add(stream);
    return stream;
  };
  const onBoth = (sessionId: string): Promise<SseReader[]> =>
    Promise.all([service.url, otherUrl].map((url) => follow(sessionId, undefined, '', url)));
  const send = async (sessionId: string, content: string, more: object = {}): Promise<string> =>
    service.send(sessionId, content, { when_running: 'queue', ...more });
  /** A session whose turns have ended. */
  const talked = async (...contents: string[]): Promise<{ sessionId: string; turns: string[] }> => {
    const sessionId = await service.session();
    const turns: string[] = [];
    for (const content of contents) {
      turns.push(await service.send(sessionId, content));
      await service.ended(sessionId);
    }
    return { sessionId, turns };
  };

  it('a stream of the session shows every turn, whatever starts it, in order, as the history does', async () => {
    const sessionId = await service.session();
    const streams = await onBoth(sessionId);
    await streaming(service, { sessionId, then: [toolUse('list_files')] }).then(async ({ gate }) => {
      await send(sessionId, 'Steer', { when_running: 'steer' });
      await send(sessionId, 'Queued');
      const { id } = await createSchedule(
        service.api,
        newSchedule({ overlap: 'queue', target: { type: 'existing_session', session_id: sessionId } }),
      );
      const { last_run: run } = await ofSchedule(service.api, 'POST', id, '/run');
      gate.open();
      for (const stream of streams) await stream.until(endOf(run.turn_id as string));
    });
    service.model.reply(failure('invalid_request_error'));
    const failed = await send(sessionId, 'Fail');
    for (const stream of streams) await stream.until(endOf(failed));
    const { body: continued } = await service.api('POST', `/v1/sessions/${sessionId}/continue`);
    for (const stream of streams) await stream.until(endOf(continued.turn_id as string));
    const history = await service.history(sessionId);
    expect(history.filter(({ type }) => type === 'user.message')).to.have.length(5);
    for (const stream of streams) {
      expect(stored(stream)).to.deep.equal(history);
      expect(new Set(stream.frames.map(({ id }) => id)).size).to.equal(stream.frames.length);
      expect(stream.retry).to.equal(2000);
    }
    expect(streams[1]!.frames.map(shown)).to.deep.equal(streams[0]!.frames.map(shown));
  });

  it('a stream of the session begins with the open turn and its deltas; its frames are those of the stream of the turn', async () => {
    const { sessionId, turnId, gate } = await streaming(service);
    const ofTurn = await service.stream(sessionId);
    const streams = await onBoth(sessionId);
    for (const stream of streams) await stream.until(isDelta);
    const next = await send(sessionId, 'Next');
    gate.open();
    for (const stream of streams) await stream.until(endOf(next));
    await ofTurn.ended;
    for (const { frames } of streams) {
      const ofFirst = frames.filter(({ data }) => data.turn_id === turnId);
      expect(ofFirst.map(shown)).to.deep.equal(ofTurn.frames.map(shown));
      expect(ofFirst).to.deep.equal(frames.slice(0, ofFirst.length));
    }
  });

  it('a stream of the session begins with the last turn when none is open, and goes on with the next', async () => {
    const { sessionId, turns } = await talked('One', 'Two');
    const stream = await follow(sessionId);
    await stream.until(endOf(turns[1]!));
    const next = await send(sessionId, 'Three');
    await stream.until(endOf(next));
    expect(stored(stream)).to.deep.equal((await service.history(sessionId)).slice(3));
  });

  it('a stream of the session goes on after any frame of any turn, with all that was stored since, then live', async () => {
    const { sessionId } = await talked('One', 'Two');
    const { gate } = await streaming(service, { sessionId });
    const whole = await follow(sessionId, undefined, `&after=${(await service.history(sessionId))[0].id}`);
    await whole.until(isDelta);
    const cuts = [...whole.frames];
    const resumed = await Promise.all(
      cuts.map(({ id }, at) => follow(sessionId, id, '', at % 2 === 0 ? service.url : otherUrl)),
    );
    gate.open();
    const last = await send(sessionId, 'Four');
    for (const stream of [whole, ...resumed]) await stream.until(endOf(last));
    for (const [at, stream] of resumed.entries())
      expect(stored(stream)).to.deep.equal(stored({ ...whole, frames: whole.frames.slice(at + 1) }));
    // After a terminal event nothing is replayed, and the next turn comes when it begins.
    const waiting = await Promise.all([
      follow(sessionId, whole.frames.at(-1)!.id),
      follow(sessionId, resumed[0]!.frames.at(-1)!.id),
    ]);
    const next = await send(sessionId, 'Five');
    for (const stream of waiting) {
      await stream.until(endOf(next));
      expect(stored(stream)).to.deep.equal(
        (await service.history(sessionId)).filter(({ turn_id }) => turn_id === next),
      );
    }
  });

  it('a stream of the session begins after any event of the history', async () => {
    const { sessionId } = await talked('One', 'Two');
    const before = await service.history(sessionId);
    const streams = await Promise.all(before.map(({ id }) => follow(sessionId, undefined, `&after=${id}`)));
    const next = await send(sessionId, 'Three');
    for (const stream of streams) await stream.until(endOf(next));
    const history = await service.history(sessionId);
    for (const [at, stream] of streams.entries()) expect(stored(stream)).to.deep.equal(history.slice(at + 1));
  });

  it('a stream of the session follows Last-Event-ID before `after`; an unknown one means the last turn', async () => {
    const { sessionId, turns } = await talked('One', 'Two');
    const history = await service.history(sessionId);
    for (const [id, from] of [
      [`${turns[0]}:2`, 2],
      ['turn_00000000000000000000000000:1', 3],
      [`${turns[1]}:99`, 3],
      ['evt_1', 3],
    ] as const) {
      const stream = await follow(sessionId, id, `&after=${history[4].id}`);
      await stream.until(endOf(turns[1]!));
      expect(stored(stream), id).to.deep.equal(history.slice(from));
    }
  });

  it('a stream of the session refuses an event that the session does not have, and another value of `follow`', async () => {
    const [{ sessionId }, other] = [await talked('One'), await talked('Elsewhere')];
    const path = `/v1/sessions/${sessionId}/events/stream`;
    for (const id of ['', 'evt_1', (await service.history(other.sessionId))[0].id]) {
      const { status, body } = await service.api('GET', `${path}?follow=session&after=${id}`);
      expect([status, body.error.type]).to.deep.equal([404, 'event_not_found']);
    }
    const gone = await service.api('GET', '/v1/sessions/ses_none/events/stream?follow=session&after=evt_1');
    expect(gone.body.error.type).to.equal('session_not_found');
    for (const follow of ['', 'turn', 'Session']) {
      const { status, body } = await service.api('GET', `${path}?follow=${follow}`);
      expect([status, body.error.details.errors[0].path]).to.deep.equal([422, '/query/follow']);
    }
    const { status, headers } = await service.api('HEAD', `${path}?follow=session`);
    expect([status, headers.get('content-type')]).to.deep.equal([200, 'text/event-stream']);
  });

  it('a stream of the session ends when the session is deleted', async () => {
    const { sessionId, turns } = await talked('One');
    const waiting = [...(await onBoth(sessionId)), await follow(sessionId, `${turns[0]}:3`)];
    const empty = await service.session();
    waiting.push(...(await onBoth(empty)));
    for (const id of [sessionId, empty])
      expect((await service.api('DELETE', `/v1/sessions/${id}`)).status).to.equal(204);
    for (const { ended } of waiting) await ended;
  });

  it('a stream of the session ends when its process drains, and goes on in another one', async () => {
    const { sessionId, turns } = await talked('One');
    const drained = await service.anotherApi();
    const before = await follow(sessionId, undefined, '', drained.url);
    await before.until(endOf(turns[0]!));
    await drained.close();
    await before.ended;
    const after = await follow(sessionId, before.frames.at(-1)!.id);
    service.model.reply(text('Two.'));
    await after.until(endOf(await send(sessionId, 'Two')));
    expect([...stored(before), ...stored(after)]).to.deep.equal(await service.history(sessionId));
  });
});
