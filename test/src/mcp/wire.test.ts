import { createParser } from 'eventsource-parser';
import { expect } from 'chai';
import fc from 'fast-check';
import { JsonScan } from '../../../src/platform/json-scan.js';
import { Pacer } from '../../../src/mcp/wire/pacer.js';
import { readEventStream } from '../../../src/mcp/wire/read-answer.js';
import { SseEvents, type SseEvent } from '../../../src/mcp/wire/sse-events.js';
import { repeated, reportFailure } from '../../support/hostile-json.js';
import { WorkCounter } from '../../support/work.js';

/** More by hand: FUZZ_SEED=7 FUZZ_RUNS=1000 npx mocha test/src/mcp/wire.test.ts */
const SEED = Number(process.env.FUZZ_SEED ?? 26);
const RUNS = Number(process.env.FUZZ_RUNS ?? 10);

const NO_LIMITS = { bytes: Infinity, values: Infinity, onExceeded: () => expect.fail('no limit') };

/** Cuts bytes at the given places, which are taken modulo the length. */
function* chunksOf(bytes: Buffer, cuts: readonly number[]): Generator<Buffer> {
  const places = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].sort((a, b) => a - b);
  let from = 0;
  for (const to of [...places, bytes.length]) {
    yield bytes.subarray(from, to);
    from = to;
  }
}

function valuesOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 1;
  return Object.values(value).reduce<number>((sum, item) => sum + valuesOf(item), 1);
}

const cuts = fc.array(fc.nat(10_000), { maxLength: 20 });

describe('the scan of a JSON text', () => {
  it('counts what JSON.parse makes, whatever the text and its pieces', () => {
    fc.assert(
      fc.property(fc.json(), fc.constantFrom(undefined, 1, '\t'), cuts, (json, indent, places) => {
        const value = JSON.parse(json) as unknown;
        const text = JSON.stringify(value, null, indent);
        const scan = new JsonScan();
        for (const chunk of chunksOf(Buffer.from(text), places)) scan.feed(chunk);
        expect([scan.values, scan.isArray]).to.deep.equal([valuesOf(value), Array.isArray(value)]);
      }),
    );
  });

  it('counts at least what JSON.parse has made when a text that was damaged turns out to be wrong', () => {
    fc.assert(
      fc.property(fc.json(), fc.nat(10_000), fc.constantFrom('"', '\\', '[', '\ufeff', '', '\n'), (json, at, put) => {
        const place = at % (json.length + 1);
        const text = json.slice(0, place) + put + json.slice(place + 1);
        const scan = new JsonScan();
        scan.feed(Buffer.from(text));
        try {
          // More if the damage made two names of an object the same.
          expect(scan.values).to.be.at.least(valuesOf(JSON.parse(text)));
        } catch (error) {
          expect(error).to.be.instanceOf(SyntaxError);
        }
      }),
    );
  });
});

describe('the events of a stream', () => {
  const piece = fc.oneof(
    {
      weight: 3,
      arbitrary: fc.constantFrom('data', 'data:', 'data: ', 'id: ', 'event: ', 'event:message', 'retry: 5', ':'),
    },
    { weight: 4, arbitrary: fc.constantFrom('\n', '\r\n', '\n\n', '\r\n\r\n') },
    fc.constantFrom('{"a":[1,2]}', ' ', 'é漢😀', 'x', ':', 'dat', '\0'),
    // An event that is an array is refused.
    fc.string({ maxLength: 8 }).map((text) => text.replaceAll('[', '(')),
  );

  it('are those of the library that the SDK uses, whatever the stream and its pieces', () => {
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 40 }), cuts, (pieces, places) => {
        const stream = `${pieces.join('')}\n\n`;
        const expected: unknown[] = [];
        const parser = createParser({
          onEvent: ({ id = '', event = '', data }) => expected.push({ id, event, data }),
        });
        parser.feed(stream);
        const events = new SseEvents(NO_LIMITS);
        const found = [...chunksOf(Buffer.from(stream), places)].flatMap((chunk) => [...events.feed(chunk)]);
        const withData = found.filter(({ data }) => data !== null);
        expect(withData.map(({ id, event, data }) => ({ id: id.includes('\0') ? '' : id, event, data }))).to.deep.equal(
          expected,
        );
      }),
      { numRuns: 1000 },
    );
  });

  it('cost no more than their bytes allow, whatever is repeated', () => {
    const units = [
      'data: {"a":[1]}\n',
      'data:\n',
      'data: x\n\n',
      'id: 1\n',
      'retry: 1\n\n',
      'event: e\n',
      ':\n',
      '\n',
      '\r\n',
    ];
    const lines = fc.array(repeated([...units, 'data', 'data:x', 'id:x', '\ufeff', '[{},', '{"a":', 'é'], 50_000), {
      maxLength: 4,
    });
    const work = new WorkCounter();
    work.start();
    try {
      fc.assert(
        fc.property(lines, cuts, (parts, places) => {
          const bytes = Buffer.from(parts.flat().join(''));
          const events = new SseEvents({ bytes: 1_000_000, values: 1000, onExceeded: () => undefined });
          work.take();
          for (const chunk of chunksOf(bytes, places)) for (const _ of events.feed(chunk));
          expect(work.take()).to.be.lessThan(100_000 + 60 * bytes.length);
        }),
        { seed: SEED, numRuns: RUNS, endOnFailure: true, reporter: reportFailure },
      );
    } finally {
      work.stop();
    }
  });

  it('lose a byte order mark, and may end lines with LF, CR or CRLF', () => {
    const events = new SseEvents(NO_LIMITS);
    const found = [...events.feed(Buffer.from('\ufeffdata: 1\r\rdata: 2\n\r\ndata: 3\r\n\n'))];
    expect(found.map(({ data }) => data)).to.deep.equal(['1', '2', '3']);
  });

  it('lose the data beyond the limits, without keeping it, and go on with the next', () => {
    const exceeded: boolean[] = [];
    const events = new SseEvents({ bytes: 20, values: 5, onExceeded: (isArray) => exceeded.push(isArray) });
    const dataOf = (data: string): SseEvent[] => [...events.feed(Buffer.from(`data: ${data}\n\n`))];
    const cases: [data: string, kept: boolean][] = [
      [`"${'x'.repeat(18)}"`, true],
      [`"${'x'.repeat(19)}"`, false],
      ['{"a":[1,2,3]}', true],
      ['{"a":[1,2,3,4]}', false],
      ['[]', false],
      ['{\ndata:"a"\ndata::1}', true],
      ['{\ndata:\ndata:\ndata:\ndata:\ndata:}', false],
    ];
    for (const [data, kept] of cases) {
      const [event] = dataOf(data);
      expect(event!.data === null, data).to.equal(!kept);
    }
    expect(exceeded).to.deep.equal([false, false, true, false]);
  });
});

describe('messages of a server that answer no request', () => {
  const passedOn = (text: string): Response => {
    const response = new Response(text, { headers: { 'content-type': 'text/event-stream' } });
    return readEventStream(response, {
      request: undefined,
      open: new Map(),
      pacer: new Pacer(50, 50),
      onEnd: () => undefined,
    });
  };

  it('are passed on no faster than the pace', async () => {
    const reader = passedOn('data: {}\n\n'.repeat(100_000)).body!.getReader();
    let events = 0;
    const read = async (): Promise<void> => {
      for (let part = await reader.read(); !part.done; part = await reader.read()) events += 1;
    };
    const began = performance.now();
    const reading = read();
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(events).to.be.within(1, 50 + 50 * Math.ceil((performance.now() - began) / 1000));
    await reader.cancel();
    await reading;
  });

  it('cost by their values and bytes', async () => {
    const dense = `data: {"a":[${'1,'.repeat(900)}1]}\n\n`;
    const reader = passedOn(dense.repeat(1000)).body!.getReader();
    for (const expected of [false, false]) expect((await reader.read()).done).to.equal(expected);
    const third = reader.read().then(() => 'third');
    const pause = new Promise((resolve) => setTimeout(resolve, 100)).then(() => 'pause');
    expect(await Promise.race([third, pause])).to.equal('pause');
    await reader.cancel();
    await third;
  });

  it('are dropped when they are large, and the stream goes on', async () => {
    const large = `data: {"a":"${'x'.repeat(70_000)}"}\n\n`;
    const answered = passedOn(`${large}id: 7\n${large}data: {"b":1}\n\n`);
    expect(await answered.text()).to.equal('id: 7\ndata:\n\ndata: {"b":1}\n\n');
  });
});
