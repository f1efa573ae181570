import { createServer } from 'node:http';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { expect } from 'chai';
import { createSend, withMemoryOf } from '../../../activities/model/send.js';
import type { Storage } from '../../../src/files/storage.js';
import { mediaPlaceholder } from '../../../src/models/media.js';
import { MemoryShare } from '../../../src/platform/memory-share.js';
import { parseExact } from '../../../src/platform/exact-json.js';
import { eventually } from '../../support/eventually.js';
import { listen } from '../../support/listen.js';

const BYTES = 3000;

describe('requests with media', () => {
  it('requests with media have the digits of long numbers, with and without media', async () => {
    const bodies: string[] = [];
    const server = createServer((req, res) => {
      void text(req).then((body) => {
        bodies.push(body);
        res.end('{}');
      });
    });
    const { url } = await listen(server);
    const storage = { open: async () => Readable.from([Buffer.alloc(3)]) } as unknown as Storage;
    const send = createSend(storage, new MemoryShare(10_000));
    const input = parseExact('{"id":1189238471982374913}');
    const data = mediaPlaceholder({ kind: 'image', key: 'files/a', bytes: 3 });
    for (const value of [{ input }, { input, data }]) {
      await (await send(url, { method: 'POST', body: JSON.stringify(value) })).text();
    }
    expect(bodies).to.deep.equal([
      '{"input":{"id":1189238471982374913}}',
      '{"input":{"id":1189238471982374913},"data":"AAAA"}',
    ]);
    server.close();
  });

  it('requests with media hold at most the part of the memory that their project may have', async () => {
    const arrived: string[] = [];
    const answers: (() => void)[] = [];
    const server = createServer((req, res) => {
      arrived.push(req.url!);
      answers.push(() => res.end('{}'));
      req.resume();
    });
    const { url } = await listen(server);
    const storage = { open: async () => Readable.from([Buffer.alloc(BYTES)]) } as unknown as Storage;
    const body = JSON.stringify({ data: mediaPlaceholder({ kind: 'image', key: 'files/a', bytes: BYTES }) });
    const memory = new MemoryShare(10_000, 5000);
    const send = createSend(storage, memory);
    const post = (projectId: string, path: string): Promise<Response> =>
      withMemoryOf(projectId, () => send(`${url}${path}`, { method: 'POST', body }));

    const all = [post('a', '/a1'), post('a', '/a2'), post('b', '/b1')];
    await eventually('both projects send', () => arrived.length === 2);
    expect(arrived.toSorted()).to.deep.equal(['/a1', '/b1']);
    expect(memory.waiting).to.equal(1);
    for (const answer of answers.splice(0)) answer();
    await eventually('the second one is sent', () => arrived.includes('/a2'));
    for (const answer of answers.splice(0)) answer();
    for (const response of await Promise.all(all)) await response.text();
    expect([memory.used, memory.waiting]).to.deep.equal([0, 0]);
    server.close();
  });
});
