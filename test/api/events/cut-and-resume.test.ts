import { expect } from 'chai';
import type { Gate } from '../../support/scripted-model.js';
import { message, steps, text, thinking, toolUse, wait } from '../../support/scripted-model.js';
import { openSse, type SseFrame, type SseReader } from '../../support/sse-reader.js';
import { useTurnService } from '../../support/use.js';

/** A frame without the time of its arrival. */
const shown = ({ id, event, data }: SseFrame): unknown => ({ id, event, data });

/** A stream that was cut anywhere and resumed equals the uncut one. */
describe('a stream cut and resumed', () => {
  let urls: string[];
  const service = useTurnService();
  before(async () => {
    urls = [service.url, (await service.anotherApi()).url];
  });
  afterEach(() => service.model.reset());

  const open = (sessionId: string, lastEventId?: string, process = 0): Promise<SseReader> =>
    openSse(`${urls[process]}/v1/sessions/${sessionId}/events/stream`, service.key, lastEventId);

  /** A turn with thinking, a tool call and an answer that stops at each gate. */
  const script = (gates: [Gate, Gate, Gate]): void => {
    const [inThinking, inText, inAnswer] = gates;
    service.model.on(
      /files/,
      steps(
        message([
          thinking('I should look first.', { every: 0, before: { 2: wait(inThinking) } }),
          text('Let me look 👀.', { every: 0, before: { 2: wait(inText) } }),
          toolUse('list_files'),
        ]),
        message(text('There are no files here.', { every: 0, before: { 3: wait(inAnswer) } })),
      ),
    );
  };

  it('a stream cut and resumed after every frame, while the model holds the turn open and after its end, on two API processes', async () => {
    const gates: [Gate, Gate, Gate] = [service.model.gate(), service.model.gate(), service.model.gate()];
    script(gates);
    const sessionId = await service.session();
    const uncut = await open(sessionId);
    await service.send(sessionId, 'What files are there?');

    const expected = ['I should', 'Let me', 'There are no'];
    for (const [index, gate] of gates.entries()) {
      await gate.reached;
      // At the gate the model has sent everything; the uncut reader has everything when its last delta is there.
      await uncut.until(() => textOf(uncut.frames).endsWith(expected[index]!));
      const soFar = [...uncut.frames];
      for (const cutAt of soFar.keys()) {
        for (const process of [0, 1]) {
          const resumed = await open(sessionId, soFar[cutAt]!.id, process);
          const rest = soFar.slice(cutAt + 1);
          expect((await until(resumed, rest.length)).map(shown)).to.deep.equal(rest.map(shown));
          resumed.close();
        }
      }
      if (gate !== gates[2]) gate.open();
    }

    const held = await Promise.all(uncut.frames.map((frame, at) => open(sessionId, frame.id, at % 2)));
    gates[2].open();
    await uncut.ended;
    expect(uncut.frames.at(-1)!.event).to.equal('turn.completed');
    for (const [cutAt, resumed] of held.entries()) {
      await resumed.ended;
      expect(resumed.frames.map(shown)).to.deep.equal(uncut.frames.slice(cutAt + 1).map(shown));
    }

    for (const cutAt of uncut.frames.slice(0, -1).keys()) {
      const resumed = await open(sessionId, uncut.frames[cutAt]!.id, cutAt % 2);
      await resumed.ended;
      const stored = uncut.frames.slice(cutAt + 1).filter(({ event }) => !event.endsWith('.delta'));
      expect(resumed.frames.map(shown)).to.deep.equal(stored.map(shown));
    }
  });

  it('a stream is cut and resumed again and again while frames come in', async () => {
    const rest = service.model.gate();
    const words = Array.from({ length: 60 }, (_, n) => `${n} `);
    service.model.on(/Count/, text(words, { every: 10, before: { 59: wait(rest) } }));
    const sessionId = await service.session();
    const uncut = await open(sessionId);
    await service.send(sessionId, 'Count');
    const pieces: SseFrame[] = [];
    for (let process = 0; pieces.at(-1)?.event !== 'turn.completed'; process = 1 - process) {
      const part = await open(sessionId, pieces.at(-1)?.id, process);
      // The turn must not end before this reader is there: it would get the stored events only.
      if (textOf(pieces).endsWith('58 ')) rest.open();
      await until(part, 1);
      pieces.push(...part.frames);
      part.close();
    }
    await uncut.ended;
    expect(textOf(uncut.frames)).to.equal(words.join(''));
    expect(pieces.map(shown)).to.deep.equal(uncut.frames.map(shown));
  });
});

/** The text of the deltas, of thinking too. */
function textOf(frames: SseFrame[]): string {
  return frames.map(({ event, data }) => (event.endsWith('.delta') ? (data.content as string) : '')).join('');
}

/** The first `count` frames, as soon as they are there. */
async function until(reader: SseReader, count: number): Promise<SseFrame[]> {
  let seen = 0;
  if (count > 0) await reader.until(() => (seen += 1) === count);
  return reader.frames.slice(0, count);
}
