import { createParser, type EventSourceMessage } from 'eventsource-parser';
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';
import { expect } from 'chai';
import fc from 'fast-check';
import { JsonScan } from '../../../src/platform/json-scan.js';
import { Pacer } from '../../../src/mcp/transport/pacer.js';
import { EventReader } from '../../../src/mcp/transport/event-reader.js';
import { McpTransport } from '../../../src/mcp/transport/transport.js';
import type { GuardedNetwork } from '../../../src/network/network.js';
import { repeated, reportFailure } from '../../support/hostile-json.js';
import { WorkCounter } from '../../support/work.js';
import { useClosers } from '../../support/use.js';

/** More by hand: FUZZ_SEED=7 FUZZ_RUNS=1000 npx mocha test/src/mcp/wire.test.ts */
const SEED = Number(process.env.FUZZ_SEED ?? 26);
const RUNS = Number(process.env.FUZZ_RUNS ?? 10);

const readerOf = (maxLength?: number): EventReader => new EventReader({ onRetry: () => undefined, maxLength });

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
  it('the scan of a JSON text counts what JSON.parse makes, whatever the text and its pieces', () => {
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

  it('the scan of a JSON text counts at least what JSON.parse has made when a text that was damaged turns out to be wrong', () => {
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
    { weight: 4, arbitrary: fc.constantFrom('\n', '\r', '\r\n', '\n\n', '\r\n\r\n') },
    fc.constantFrom('{"a":[1,2]}', ' ', 'é漢😀', 'x', ':', 'dat', '\0'),
    fc.string({ maxLength: 8 }),
  );

  it('the events of a stream are those of the whole stream, whatever its pieces and the ends of its lines', () => {
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 40 }), cuts, (pieces, places) => {
        const stream = `${pieces.join('')}\n\n`;
        const expected: EventSourceMessage[] = [];
        const parser = createParser({ onEvent: (event) => expected.push(event) });
        parser.feed(stream.replace(/\r\n?/g, '\n'));
        const reader = readerOf();
        const found = [...chunksOf(Buffer.from(stream), places)].flatMap((chunk) => reader.feed(chunk));
        expect(found).to.deep.equal(expected);
        expect(reader.pending).to.equal(0);
      }),
      { numRuns: 1000 },
    );
  });

  it('the events of a stream cost no more than their bytes allow, whatever is repeated', () => {
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
          const reader = readerOf(1_000_000);
          work.take();
          try {
            for (const chunk of chunksOf(bytes, places)) reader.feed(chunk);
          } catch (error) {
            expect((error as Error).message).to.include('lines that belong to no event');
          }
          expect(work.take()).to.be.lessThan(100_000 + 60 * bytes.length);
        }),
        { seed: SEED, numRuns: RUNS, endOnFailure: true, reporter: reportFailure },
      );
    } finally {
      work.stop();
    }
  });

  it('the events of a stream lose a byte order mark, and may end lines with LF, CR or CRLF', () => {
    const found = readerOf().feed(Buffer.from('\ufeffdata: 1\r\rdata: 2\n\r\ndata: 3\r\n\n'));
    expect(found.map(({ data }) => data)).to.deep.equal(['1', '2', '3']);
  });

  it('the events of a stream lose an event beyond the limit, and go on with the next', () => {
    const reader = readerOf(100);
    const found = ['data: 1\n\ndata: ', 'x'.repeat(60), 'x'.repeat(60), 'x'.repeat(150), 'x\n\ndata: 2\n\n'];
    expect(found.flatMap((text) => reader.feed(Buffer.from(text))).map(({ data }) => data)).to.deep.equal(['1', '2']);
  });

  it('the events of a stream count the bytes of an event until it ends, without comments', () => {
    const reader = readerOf();
    const pending = [': keep-alive\n\n', 'data: é', 'é', '\n', '\n', 'data: 1\n\ndata'].map((text) => {
      reader.feed(Buffer.from(text));
      return reader.pending;
    });
    expect(pending).to.deep.equal([0, 8, 10, 11, 0, 4]);
  });

  it('the events of a stream end when more than 1,000 lines belong to no event', () => {
    const reader = readerOf();
    reader.feed(Buffer.from('x\n'.repeat(1000)));
    expect(() => reader.feed(Buffer.from('x\n'))).to.throw(/more than 1,000 lines that belong to no event/);
  });
});

describe('messages of a server that answer no request', () => {
  const closers = useClosers();

  /** What the SDK gets from a server whose own stream has this text. */
  const passedOn = async (text: string, count = Infinity): Promise<JSONRPCMessage[]> => {
    const stream = new Response(text, { headers: { 'content-type': 'text/event-stream' } });
    const answers = [new Response(null, { status: 202 }), stream, new Response(null, { status: 405 })];
    const network = { fetch: () => Promise.resolve(answers.shift()!) } as unknown as GuardedNetwork;
    const auth = { authorize: () => Promise.resolve({ headers: {} }), secrets: () => [] };
    const options = { url: new URL('https://mcp.test'), network, auth, listen: true, pacer: new Pacer(50, 50) };
    const transport = new McpTransport(options);
    closers.push(() => transport.close());
    const messages: JSONRPCMessage[] = [];
    const enough = new Promise<void>((resolve) => {
      transport.onmessage = (message) => {
        messages.push(message);
        if (messages.length === count) resolve();
      };
    });
    await transport.start();
    await transport.send({ jsonrpc: '2.0', method: 'notifications/initialized' });
    if (count < Infinity) await enough;
    return messages;
  };
  const note = (params: string): string =>
    `data: {"jsonrpc":"2.0","method":"notifications/message","params":${params}}\n\n`;

  it('messages of a server that answer no request are passed on no faster than the pace', async () => {
    const began = performance.now();
    const messages = await passedOn(note('{}').repeat(100_000));
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(messages.length).to.be.within(1, 50 + 50 * Math.ceil((performance.now() - began) / 1000));
  });

  it('messages of a server that answer no request cost by their values and bytes', async () => {
    const dense = note(`{"a":[${'1,'.repeat(900)}1]}`);
    const messages = await passedOn(dense.repeat(1000), 2);
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(messages).to.have.length(2);
  });

  it('messages of a server that answer no request are dropped when they are large or an array, and the stream goes on', async () => {
    const large = note(`{"a":"${'x'.repeat(70_000)}"}`);
    const text = `${large}data: [{"jsonrpc":"2.0","method":"ping","id":1}]\n\ndata: {\n\n${large}${note('{"b":1}')}`;
    expect(await passedOn(text, 1)).to.deep.equal([
      { jsonrpc: '2.0', method: 'notifications/message', params: { b: 1 } },
    ]);
  });
});
