import { expect } from 'chai';
import fc from 'fast-check';
import Koa from 'koa';
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { connect } from 'node:net';
import { dirname } from 'node:path';
import { errorResponse } from '../../../api/http/core/error-response.js';
import { withUpload, type Upload } from '../../../api/http/upload/multipart.js';
import type { BodyPace } from '../../../api/http/core/body-watch.js';
import { createLogger } from '../../../src/platform/logger.js';
import { reached } from '../../support/rows.js';
import { MULTIPART, multipartBody } from '../../support/upload.js';
import { listen } from '../../support/listen.js';

const RULES = { maxBytes: 100_000, tooLarge: 'skill_bundle_too_large' } as const;

describe('withUpload', () => {
  let server: Server;
  let address: Awaited<ReturnType<typeof listen>>;
  let received: (Upload & { content: Buffer })[];
  let fail = false;
  let pace: BodyPace = {};

  before(async () => {
    const app = new Koa();
    app.use((ctx, next) => {
      ctx.state.log = createLogger('silent', 'test');
      return next();
    });
    app.use(errorResponse());
    app.use(async (ctx) => {
      ctx.body = await withUpload(ctx, { ...RULES, ...pace }, async (upload) => {
        received.push({ ...upload, content: await readFile(upload.path) });
        if (fail) throw new Error('the work on it failed');
        return upload.sha256;
      });
    });
    server = createServer((request, response) => void app.callback()(request, response));
    address = await listen(server);
  });
  after(() => server.close());
  beforeEach(() => (received = []));

  const post = (body: Uint8Array): Promise<Response> =>
    fetch(address.url, { method: 'POST', headers: MULTIPART, body });

  it('withUpload hands over name and bytes as they were sent, and their hash', async () => {
    // Bytes out of which boundaries are made are where parsers go wrong.
    const bytes = fc
      .array(fc.oneof(fc.constantFrom('\r\n', '--', '\r\n--x-test-', '\r', '-', '\n'), fc.string({ maxLength: 20 })))
      .map((pieces) => Buffer.from(pieces.join('')));
    await fc.assert(
      fc.asyncProperty(bytes, async (content) => {
        received = [];
        const answer = await post(
          multipartBody([{ disposition: 'form-data; name="file"; filename="dir/a.zip"', content }]),
        );
        const sha256 = createHash('sha256').update(content).digest('hex');
        expect([answer.status, await answer.text()]).to.deep.equal([200, sha256]);
        expect(received[0]!.content.equals(content)).to.equal(true);
        expect(received[0]).to.include({ filename: 'dir/a.zip', size: content.length, sha256 });
      }),
      { numRuns: 100 },
    );
  });

  it('withUpload answers anything with a 4xx or with the file', async () => {
    const whole = multipartBody([{ disposition: 'form-data; name="file"; filename="a"', content: 'x' }]);
    const damaged = fc
      .array(fc.tuple(fc.nat(whole.length - 1), fc.nat(255)), { maxLength: 4 })
      .map((changes) => changes.reduce((body, [at, byte]) => (body.writeUInt8(byte, at), body), Buffer.from(whole)));
    await fc.assert(
      fc.asyncProperty(fc.oneof(damaged, fc.uint8Array()), async (body) => {
        const { status } = await post(body);
        expect(status === 200 || (status >= 400 && status < 500), String(status)).to.equal(true);
      }),
      { numRuns: 100 },
    );
  });

  it('withUpload removes the file when the work on it fails', async () => {
    fail = true;
    const { status } = await post(multipartBody([{ disposition: 'form-data; name="file"; filename="a"' }]));
    fail = false;
    expect(status).to.equal(500);
    const folder = dirname(received[0]!.path);
    expect(await readdir(folder).catch((error: NodeJS.ErrnoException) => error.code)).to.equal('ENOENT');
  });

  it('withUpload cuts off a body that stops arriving', async () => {
    pace = { idleMs: 1000, minBytesPerSecond: 0 };
    const socket = connect(address.port, '127.0.0.1');
    const headers = `POST / HTTP/1.1\r\nHost: x\r\nContent-Type: ${MULTIPART['Content-Type']}\r\nContent-Length: 5000\r\n\r\n`;
    socket.write(headers);
    for (let sent = 0; sent < 5; sent += 1) {
      socket.write('still here');
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    const answer = Buffer.concat((await socket.toArray()) as Buffer[]).toString();
    expect(answer)
      .to.match(/^HTTP\/1.1 408 /)
      .and.contain('request_timeout');
    reached('any operation answers request_timeout');
    pace = {};
  });

  it('withUpload cuts off a body that arrives below the minimum rate', async () => {
    pace = { idleMs: 500 };
    const socket = connect(address.port, '127.0.0.1');
    const part = multipartBody([{ disposition: 'form-data; name="file"; filename="a"' }], '').toString();
    socket.write(
      `POST / HTTP/1.1\r\nHost: x\r\nContent-Type: ${MULTIPART['Content-Type']}\r\nContent-Length: 90000\r\n\r\n${part}`,
    );
    socket.on('error', () => undefined);
    const dripping = setInterval(() => socket.write('x'), 100);
    const answer = Buffer.concat((await socket.toArray()) as Buffer[]).toString();
    clearInterval(dripping);
    expect(answer).to.match(/^HTTP\/1.1 408 /);
    pace = {};
  });

  it('withUpload names the limit that it was given', async () => {
    const content = Buffer.alloc(100_001);
    const answer = await post(multipartBody([{ disposition: 'form-data; name="file"; filename="a"', content }]));
    expect(await answer.json()).to.have.nested.property('error.type', 'skill_bundle_too_large');
    expect(answer.status).to.equal(413);
  });
});
