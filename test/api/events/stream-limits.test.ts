import { expect } from 'chai';
import type { Api } from '../../../api/main.js';
import { eventually } from '../../support/eventually.js';
import { heapInUse } from '../../support/heap.js';
import { openSse, type SseReader } from '../../support/sse-reader.js';
import { newToken } from '../../support/tokens.js';
import { useService } from '../../support/use.js';

const MIB = 1024 * 1024;

/** docs/decisions.md "Running it" `MAX_STREAMS_PER_PROJECT`. */
describe('the open streams of a project', () => {
  let sessionId: string;
  const streams: SseReader[] = [];
  const service = useService({ config: { maxStreamsPerProject: 2 } });
  before(async () => {
    const { body } = await service.api('POST', '/v1/sessions', { model_id: 'test-model' });
    sessionId = body.id;
  });
  after(async () => {
    for (const stream of streams) stream.close();
  });

  const open = async (key = service.key, id = sessionId, query = ''): Promise<SseReader> => {
    const stream = await openSse(`${service.url}/v1/sessions/${id}/events/stream${query}`, key);
    streams.push(stream);
    return stream;
  };

  it('the open streams of a project are limited: one more is 429 with Retry-After, until one closes', async () => {
    const [first] = [await open(service.key, sessionId, '?follow=session'), await open()];
    for (const query of ['', '?follow=session']) {
      const { status, body, headers } = await service.api('GET', `/v1/sessions/${sessionId}/events/stream${query}`);
      expect(status).to.equal(429);
      expect(body.error.type).to.equal('too_many_streams');
      expect(headers.get('retry-after')).to.match(/^\d+$/);
    }
    first.close();
    await eventually('there is room for another', async () => (await open()).status === 200);
  });

  it('the open streams of a project are counted for each project', async () => {
    const other = await service.newKey({ project: 'other' });
    const { body } = await service.as(other)('POST', '/v1/sessions', { model_id: 'test-model' });
    expect((await open(other, body.id)).status).to.equal(200);
  });
});

/** docs/decisions.md "Session tokens". */
describe('the open streams of session tokens', () => {
  const service = useService();
  const streams: SseReader[] = [];
  let other: Api;
  before(async () => {
    other = await service.anotherApi();
  });
  after(async () => {
    for (const stream of streams) stream.close();
  });

  it('the open streams of session tokens are ten for a session in all processes together, and those of keys do not count', async () => {
    const urls = [service.url, other.url];
    const { body } = await service.api('POST', '/v1/sessions', { model_id: 'test-model' });
    const token = await newToken(service, body.id);
    const open = async (url: string, key = token): Promise<SseReader> => {
      const stream = await openSse(`${url}/v1/sessions/${body.id}/events/stream`, key);
      streams.push(stream);
      return stream;
    };
    const openAtBoth = (count: number): Promise<SseReader[]> =>
      Promise.all(Array.from({ length: count }, (_, n) => open(urls[n % 2]!)));
    const [first] = await openAtBoth(10);
    expect((await openAtBoth(4)).map(({ status }) => status)).to.deep.equal([429, 429, 429, 429]);
    for (const url of urls) expect((await open(url, service.key)).status).to.equal(200);
    expect(await service.db.query('SELECT FROM token_streams')).to.have.length(10);
    first!.close();
    await eventually('the other process has room', async () => (await open(urls[1]!)).status === 200);
    expect((await open(urls[0]!)).status).to.equal(429);
    await other.close();
    expect(await service.db.query('SELECT FROM token_streams')).to.have.length(4);
    expect((await open(urls[0]!)).status).to.equal(200);
  });
});

describe('the memory of an open stream', () => {
  const streams: SseReader[] = [];
  const service = useService();
  after(async () => {
    for (const stream of streams) stream.close();
  });

  it('the memory of an open stream does not contain the tools of its session', async () => {
    const { body } = await service.api('POST', '/v1/sessions', { model_id: 'test-model' });
    // Parsed, they take 20 MiB.
    const tools = JSON.stringify(Array.from({ length: 300_000 }, () => ({})));
    await service.db.query('UPDATE configurations SET tools = $1 WHERE id = $2', [tools, body.id]);
    const open = async (): Promise<void> => {
      const stream = await openSse(`${service.url}/v1/sessions/${body.id}/events/stream`, service.key);
      expect(stream.status).to.equal(200);
      streams.push(stream);
    };
    await open();
    const before = heapInUse();
    for (let count = 0; count < 10; count += 1) await open();
    expect(heapInUse() - before).to.be.below(20 * MIB);
  });
});
