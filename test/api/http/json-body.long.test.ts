import { expect } from 'chai';
import fc from 'fast-check';
import { createServer, type Server } from 'node:http';
import { connect } from 'node:net';
import { readBody, type BodyRules } from '../../../api/http/core/read-body.js';
import { ServiceError } from '../../../src/platform/errors.js';
import { listen } from '../../../api/http/core/server.js';
import { rawHttp } from '../../support/raw-http.js';
import { useService } from '../../support/use.js';

const MIB = 1024 * 1024;

describe('JSON bodies (decisions.md "HTTP")', () => {
  const service = useService();

  const post = (body: string | Uint8Array, headers: Record<string, string> = {}) =>
    service.api('POST', '/v1/sessions', body, headers);
  const typeOf = async (body: string | Uint8Array, headers: Record<string, string> = {}): Promise<string> => {
    const answer = await post(body, headers);
    return `${answer.status} ${answer.body.error?.type ?? 'ok'}`;
  };
  const valid = '{"model_id":"test-model"}';

  it('JSON bodies takes application/json in UTF-8, however it is spelt', async () => {
    for (const type of ['application/json', 'Application/JSON; charset=UTF-8', 'application/json;charset="utf-8"']) {
      expect(await typeOf(valid, { 'Content-Type': type }), type).to.equal('201 ok');
    }
  });

  it('JSON bodies refuses other types, other charsets and compressed bodies', async () => {
    for (const type of [
      'text/plain',
      'application/merge-patch+json',
      'application/json; charset=latin1',
      'application/jsonx',
      '',
    ]) {
      expect(await typeOf(valid, { 'Content-Type': type }), type).to.equal('415 unsupported_media_type');
    }
    expect(await typeOf(valid, { 'Content-Encoding': 'gzip' })).to.equal('415 unsupported_media_type');
  });

  it('JSON bodies takes application/merge-patch+json for PATCH', async () => {
    const { body: session } = await post(valid);
    const { status } = await service.api('PATCH', `/v1/sessions/${session.id}`, '{"metadata":{}}', {
      'Content-Type': 'application/merge-patch+json',
    });
    expect(status).to.equal(200);
  });

  it('JSON bodies refuses a body that is not JSON', async () => {
    const bodies = [
      '',
      ' ',
      '{',
      'nope',
      "{'a':1}",
      '{"model_id":"a",}',
      '[1]]',
      'NaN',
      Buffer.from([0x22, 0xff, 0x22]),
    ];
    for (const body of bodies) expect(await typeOf(body), String(body)).to.equal('400 bad_request');
  });

  it('JSON bodies refuses JSON that is not an object, or has a field of a wrong type or name', async () => {
    for (const body of [
      '1',
      '"a"',
      'null',
      '[]',
      '[{"model_id":"test-model"}]',
      '{}',
      '{"model_id":null}',
      '{"model_id":5}',
    ]) {
      expect(await typeOf(body), body).to.equal('422 validation_error');
    }
    for (const name of ['other', '__proto__', 'constructor', 'toString', 'status', '']) {
      const { status, body } = await post(`{"model_id":"test-model",${JSON.stringify(name)}:{}}`);
      expect(status, name).to.equal(422);
      expect(body.error.details.errors).to.deep.equal([
        { path: `/${name}`, message: 'is not a field of this operation' },
      ]);
    }
  });

  it('JSON bodies lists every error with a JSON Pointer', async () => {
    const { body } = await post(
      '{"model_id":5,"thinking_enabled":"yes","mcp_servers":["a","a"],"metadata":{"a/b~c":1},"x":1}',
    );
    const paths = body.error.details.errors.map(({ path }: { path: string }) => path);
    expect(paths).to.have.members(['/model_id', '/thinking_enabled', '/mcp_servers', '/metadata/a~1b~0c', '/x']);
  });

  it('JSON bodies takes the last of duplicate keys', async () => {
    expect((await post('{"model_id":5,"model_id":"test-model"}')).status).to.equal(201);
  });

  it('JSON bodies refuses text that cannot be stored, at any depth', async () => {
    for (const bad of ['\\u0000', 'a\\ud800', '\\udc00b']) {
      for (const body of [
        `{"model_id":"test-model","instruction":"${bad}"}`,
        `{"model_id":"${bad}"}`,
        `{"model_id":"test-model","metadata":{"${bad}":"a"}}`,
        `{"model_id":"test-model","metadata":{"a":"${bad}"}}`,
        `{"model_id":"test-model","mcp_servers":["${bad}"]}`,
      ]) {
        expect(await typeOf(body), body).to.equal('422 validation_error');
      }
    }
  });

  it('JSON bodies survives depth and width', async () => {
    const deep = '['.repeat(MIB - 20) + ']'.repeat(MIB - 20);
    expect(await typeOf(deep)).to.equal('422 validation_error');
    const objects = '{"a":'.repeat(100_000) + '1' + '}'.repeat(100_000);
    expect(await typeOf(objects)).to.equal('422 validation_error');
    expect(await typeOf('['.repeat(50_000))).to.equal('400 bad_request');
    const wide = `{"model_id":"test-model","mcp_servers":[${'"",'.repeat(300_000)}""]}`;
    expect(await typeOf(wide)).to.equal('422 validation_error');
  });

  it('JSON bodies stops reading at the first value too many', async () => {
    const head =
      `PATCH /v1/sessions/SESSION HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${service.key}\r\n` +
      'Content-Type: application/json\r\nContent-Length: 2000000\r\n\r\n{"metadata":[';
    const { body: session } = await post(valid);
    const answer = await rawHttp(service.url, head.replace('SESSION', session.id) + '1,'.repeat(10_000), (got) =>
      got.includes('request_id'),
    );
    expect(answer)
      .to.match(/^HTTP\/1.1 422 /)
      .and.contain('10000 JSON values');
  });

  it('JSON bodies takes 2 MiB and not a byte more, as soon as it has arrived', async () => {
    const padding = (bytes: number): string => valid + ' '.repeat(bytes - valid.length);
    expect(await typeOf(padding(2 * MIB))).to.equal('201 ok');
    const { status, body } = await post(padding(2 * MIB + 1));
    expect(status).to.equal(413);
    expect(body.error).to.deep.include({ type: 'content_too_large', details: { max_bytes: 2 * MIB } });

    const head =
      `POST /v1/sessions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${service.key}\r\n` +
      'Content-Type: application/json\r\nContent-Length: 99999999999\r\n\r\n';
    const endless = await rawHttp(service.url, head + ' '.repeat(2 * MIB + 1), (got) => got.includes('request_id'));
    expect(endless).to.match(/^HTTP\/1.1 413 /);
  });

  it('JSON bodies answers while a large body still comes, and serves the next request of the connection', async () => {
    const body = 'x'.repeat(8 * MIB);
    const head = `POST /v1/sessions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${service.key}\r\n`;
    const answers = await rawHttp(
      service.url,
      `${head}Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}` +
        'GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n',
    );
    expect(answers.match(/HTTP\/1\.1 \d+/g)).to.deep.equal(['HTTP/1.1 413', 'HTTP/1.1 200']);
  });

  it('JSON bodies ignores the body of an operation without one', async () => {
    const { body: session } = await post(valid);
    const { status } = await service.api('DELETE', `/v1/sessions/${session.id}`, 'not json', {
      'Content-Type': 'text/weird',
    });
    expect(status).to.equal(204);
  });

  it('JSON bodies asks for the body only after key, permission and resource', async () => {
    const missing = await service.api('PATCH', '/v1/sessions/ses_none', 'not json');
    expect(missing.status).to.equal(404);
    const reader = service.as(await service.newKey({ scopes: ['sessions:read'] }));
    expect((await reader('POST', '/v1/sessions', 'not json')).status).to.equal(403);
  });

  it('JSON bodies never answers 5xx, whatever JSON comes', async () => {
    const key = fc.oneof(
      fc.constantFrom(
        'model_id',
        'instruction',
        'mcp_servers',
        'metadata',
        'thinking_enabled',
        '__proto__',
        'constructor',
      ),
      fc.string({ unit: 'binary' }),
    );
    const hostile = fc.letrec((tie) => ({
      value: fc.oneof(
        { depthSize: 'small' },
        fc.string({ unit: 'binary', maxLength: 600 }),
        fc.constantFrom('\0', '\ud800', 'test-model', null, true, 1e308, -0, 2 ** 53),
        fc.array(tie('value'), { maxLength: 20 }),
        fc.array(fc.tuple(key, tie('value')), { maxLength: 20 }).map((pairs) => Object.fromEntries(pairs)),
      ),
    })).value;
    await fc.assert(
      fc.asyncProperty(hostile, hostile, async (body, metadata) => {
        for (const sent of [body, { model_id: 'test-model', metadata }]) {
          const { status } = await post(JSON.stringify(sent) ?? 'null');
          expect(status).to.be.within(200, 499);
        }
      }),
      { numRuns: 150 },
    );
  });
});

describe('a body that stops arriving, or arrives too slowly', () => {
  let server: Server;
  let dripping: NodeJS.Timeout | undefined;
  afterEach(() => {
    clearInterval(dripping);
    server.closeAllConnections();
    server.close();
  });

  /** Sends the beginning of a body and returns what reading it came to. */
  const outcomeOf = async (rules: Partial<BodyRules>, drip: string): Promise<unknown> => {
    const outcome = new Promise<unknown>((resolve) => {
      server = createServer((req, res) => {
        readBody(req, { maxBytes: 10_000, ...rules })
          .then(resolve, resolve)
          .finally(() => res.end());
      });
    });
    const { port } = await listen(server, '127.0.0.1', 0);
    const socket = connect(port, '127.0.0.1').on('error', () => undefined);
    socket.write('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9999\r\n\r\nabc');
    if (drip !== '') dripping = setInterval(() => socket.write(drip), 20);
    return outcome;
  };

  for (const [how, rules, drip] of [
    ['stops', { idleMs: 100 }, ''],
    ['drips', { idleMs: 300, minBytesPerSecond: 16 * 1024 }, 'x'],
  ] as const) {
    it(`a body that stops arriving, or arrives too slowly is cut off with request_timeout when it ${how}`, async () => {
      expect(await outcomeOf(rules, drip))
        .to.be.instanceOf(ServiceError)
        .and.have.property('type', 'request_timeout');
    });
  }
});
