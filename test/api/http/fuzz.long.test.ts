import { expect } from 'chai';
import fc from 'fast-check';
import type { Route } from '../../../api/http/core/operation.js';
import { routes } from '../../../api/routes.js';
import { hostileJson, repeated, reportFailure } from '../../support/hostile-json.js';
import { WorkCounter } from '../../support/work.js';
import { useService } from '../../support/use.js';

/** Other and more requests by hand: FUZZ_SEED=7 FUZZ_RUNS=1000 npx mocha test/api/http/fuzz.long.test.ts */
const SEED = Number(process.env.FUZZ_SEED ?? 26);
const RUNS = Number(process.env.FUZZ_RUNS ?? 4);
/** Blocks of JavaScript that a request may take: looking at each byte takes up to 20, and an answer up to 500,000. */
const BLOCKS_PER_BYTE = 40;
const BLOCKS_PER_REQUEST = 1_000_000;
/** For work inside of V8, such as regular expressions. Time of the processor: a busy machine adds little to it. */
const MAX_CPU_MS = 3000;
const MAX_JSON_BYTES = 2 * 1024 * 1024;
/** Node takes 16 KiB for the path and all headers. Three bytes of a path stand for some characters. */
const MAX_ID_LENGTH = 1500;
const MAX_QUERY_LENGTH = 1500;
const MAX_HEADER_LENGTH = 6000;

const UNITS = [
  ...['a', 'a ', ' ', '\t', '/', '//', '../', '-', '0', '1,', '"', '\\', '\\"', ';', '(', '[', '*', '+', '%', '&', '='],
  ...[
    '%2f',
    '%2e%2e%2f',
    '%ff',
    '%E2%80%AE',
    'a=b;',
    'a=b&',
    'a[b]=c&',
    'a[]=&',
    'limit=1&',
    'cursor=a&',
    'metadata[a]=b&',
  ],
  ...[
    'gzip;q=0.1,',
    'bytes=0-0,',
    '0-0,',
    'W/"a",',
    'charset=utf-8;',
    'turn_',
    ':1',
    '.1',
    'Bearer ',
    '00-',
    'é',
    'ses_',
  ],
];
const HEADERS = [
  ...['Accept', 'Accept-Encoding', 'Access-Control-Request-Headers', 'Authorization', 'Cookie', 'Content-Encoding'],
  ...['Content-Type', 'Forwarded', 'Idempotency-Key', 'If-Match', 'If-Modified-Since', 'If-None-Match', 'If-Range'],
  ...['Last-Event-ID', 'Origin', 'Range', 'traceparent', 'tracestate', 'X-Forwarded-For', 'X-Request-Id'],
];

/** A few units, each repeated. */
const long = (max: number): fc.Arbitrary<string> =>
  fc.array(repeated(UNITS, max), { minLength: 1, maxLength: 3 }).map((lists) =>
    lists
      .map((units) => units.join('').slice(0, max))
      .join('')
      .slice(0, max),
  );
const json = hostileJson({
  items: 200_000,
  depth: 100_000,
  length: 1_000_000,
  keys: ['type', 'id', 'tools', 'input_schema', 'pattern', 'content', 'metadata', 'anyOf', '$ref', '__proto__'],
}).map((text) => text.slice(0, MAX_JSON_BYTES + 1));

interface Sent {
  id?: string;
  query?: string;
  headers?: Record<string, string>;
  body?: string | Uint8Array;
}

describe('a few bytes cause little work, whatever is repeated or nested', function () {
  this.timeout(Math.max(180_000, RUNS * 60_000));
  const work = new WorkCounter();
  let sessionId: string;
  const service = useService();
  before(async () => {
    sessionId = (await service.api('POST', '/v1/sessions', { model_id: 'test-model' })).body.id as string;
    work.start();
  });
  after(() => work.stop());

  /** Each route gets requests of its own; every answer is documented, and costs no more than its bytes allow. */
  const bounded = async (chosen: Route[], requests: (route: Route) => fc.Arbitrary<Sent>): Promise<void> => {
    for (const route of chosen) {
      const property = fc.asyncProperty(requests(route), async (sent) => {
        work.take();
        const before = process.cpuUsage();
        const status = await statusOf(route, sent);
        const { user, system } = process.cpuUsage(before);
        const { id = '', query = '', headers = {}, body = '' } = sent;
        const bytes = id.length + query.length + JSON.stringify(headers).length + body.length;
        expect(work.take(), 'blocks').to.be.lessThan(BLOCKS_PER_REQUEST + BLOCKS_PER_BYTE * bytes);
        expect((user + system) / 1000, 'ms of CPU').to.be.lessThan(MAX_CPU_MS);
        expect(status).to.be.within(200, 499);
      });
      await fc.assert(property, { seed: SEED, numRuns: RUNS, endOnFailure: true, reporter: reportFailure });
    }
    expect((await service.api('GET', '/v1/sessions')).status).to.equal(200);
  };

  /** The client of the tests throws when an answer is not one that the OpenAPI document names. */
  const statusOf = async ([method, path, , , operation]: Route, { id = 'x', query = '', headers, body }: Sent) => {
    // The session must stay for the other requests.
    const known = method === 'DELETE' ? path : path.replace('{session_id}', sessionId);
    const target = known.replaceAll(/\{\w+\}/g, id || 'x') + (query && `?${query}`);
    if (operation.success.mediaType !== 'text/event-stream')
      return (await service.api(method, target, body, headers)).status;
    const response = await fetch(service.url + target, {
      headers: { Authorization: `Bearer ${service.key}`, ...headers },
    });
    await response.body?.cancel();
    return response.status;
  };

  it('a few bytes cause little work, whatever is repeated or nested in the fields of a body', () =>
    bounded(
      routes.filter(([, , , , { body }]) => body !== undefined),
      ([, , , , { body }]) => {
        const names = Object.keys(body!.properties as object);
        const field = fc.tuple(fc.constantFrom(...names), json).map(([name, value]) => `"${name}":${value}`);
        return fc
          .array(field, { minLength: 1, maxLength: names.length })
          .map((fields) => ({ body: `{${fields.join(',')}}` }));
      },
    ));

  it('a few bytes cause little work, whatever is repeated or nested in paths, queries and headers', () => {
    const header = fc
      .tuple(fc.constantFrom(...HEADERS), long(MAX_HEADER_LENGTH))
      .map(([name, value]) => ({ [name]: value.trim() }));
    return bounded(routes, ([, , , , { body, multipart }]) =>
      fc
        .record({ id: long(MAX_ID_LENGTH), query: long(MAX_QUERY_LENGTH), headers: header })
        .map((sent) => ({ ...sent, id: pathPart(sent.id), ...((body ?? multipart) && { body: '{}' }) })),
    );
  });

  it('a few bytes cause little work, whatever is repeated or nested in the parts of an upload', () => {
    const part = fc
      .record({
        disposition: long(20_000),
        header: long(20_000),
        content: long(200_000),
        count: fc.integer({ min: 1, max: 2000 }),
      })
      .map(({ disposition, header, content, count }) =>
        `--b\r\nContent-Disposition: form-data; name="file"; filename="a"${oneLine(disposition)}\r\nX: ${oneLine(header)}\r\n\r\n${content}\r\n`.repeat(
          Math.ceil(count / Math.max(1, content.length / 100)),
        ),
      );
    const body = fc
      .tuple(
        fc.array(part, { minLength: 1, maxLength: 3 }),
        fc.constantFrom('--b--\r\n', '--b', '', '\r\n'.repeat(10_000)),
      )
      .map(([parts, end]) => Buffer.from(parts.join('') + end, 'latin1'));
    return bounded(
      routes.filter(([, , , , { multipart }]) => multipart === true),
      () => body.map((bytes) => ({ body: bytes, headers: { 'Content-Type': 'multipart/form-data; boundary=b' } })),
    );
  });
});

/** A path takes no bare `?`, `#` or space, and a header no line end. */
const pathPart = (text: string): string => text.replaceAll(/[?#\s]/g, '%20');
const oneLine = (text: string): string => text.replaceAll(/[\r\n]/g, ' ');
