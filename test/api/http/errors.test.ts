import { expect } from 'chai';
import { randomBytes } from 'node:crypto';
import { rawHttp } from '../../support/raw-http.js';
import { useService } from '../../support/use.js';

describe('errors of every request (decisions.md "HTTP")', () => {
  const service = useService({ own: 'it renames a table' });

  it('errors have the envelope, the type of JSON and the request id', async () => {
    const { status, headers, body } = await service.api('GET', '/v1/sessions/ses_none');
    expect(status).to.equal(404);
    expect(headers.get('content-type')).to.equal('application/json');
    expect(body).to.deep.equal({
      type: 'error',
      error: { type: 'session_not_found', message: 'There is no such session.' },
      request_id: headers.get('x-request-id'),
    });
    expect(body.request_id).to.match(/^req_[0-9a-hjkmnp-tv-z]{26}$/);
  });

  it('the service keeps a request id that is well-formed, and no other', async () => {
    const kept = await service.api('GET', '/v1/sessions', undefined, { 'X-Request-Id': 'My_request-1' });
    expect(kept.headers.get('x-request-id')).to.equal('My_request-1');
    for (const odd of ['a b', 'a/b', 'x'.repeat(129)]) {
      const { headers } = await service.api('GET', '/v1/sessions', undefined, { 'X-Request-Id': odd });
      expect(headers.get('x-request-id')).to.match(/^req_/);
    }
  });

  describe('the key', () => {
    const headerOf: Record<string, (key: string) => Record<string, string>> = {
      missing: () => ({}),
      'of another scheme': (key) => ({ Authorization: `Basic ${key}` }),
      'without its scheme': (key) => ({ Authorization: key }),
      malformed: () => ({ Authorization: 'Bearer ask_short' }),
      unknown: () => ({ Authorization: `Bearer ask_${randomBytes(32).toString('base64url')}` }),
      'with something behind it': (key) => ({ Authorization: `Bearer ${key} x` }),
    };
    for (const [name, header] of Object.entries(headerOf)) {
      it(`${name}: 401 without a reason`, async () => {
        const { status, headers, body } = await service.as(null)('GET', '/v1/sessions', undefined, header(service.key));
        expect(status).to.equal(401);
        expect(headers.get('www-authenticate')).to.equal('Bearer');
        expect(body.error).to.deep.equal({
          type: 'authentication_error',
          message: 'This needs a valid API key: send it as "Authorization: Bearer <API_KEY>".',
        });
      });
    }

    it('the key comes first under /v1, also on unknown paths and wrong methods', async () => {
      const nobody = service.as(null);
      for (const [method, path] of [
        ['GET', '/v1'],
        ['GET', '/v1/nothing'],
        ['PUT', '/v1/sessions'],
        ['OPTIONS', '/v1/sessions'],
      ] as const) {
        expect((await nobody(method, path)).status, `${method} ${path}`).to.equal(401);
      }
      expect((await nobody('GET', '/nothing')).status).to.equal(404);
    });

    it('the key is read whatever the case of its scheme', async () => {
      const { status } = await service.as(null)('GET', '/v1/sessions', undefined, {
        Authorization: `bearer ${service.key}`,
      });
      expect(status).to.equal(200);
    });
  });

  it('the service answers 404 for unknown paths, 405 with Allow for a known path with another method', async () => {
    for (const path of [
      '/v1',
      '/v1/',
      '/v1/nothing',
      '/v1/sessions/',
      '/v1//sessions',
      '/V1/sessions',
      '/v1/Sessions',
    ]) {
      const { status, body } = await service.api('GET', path);
      expect(status, path).to.equal(404);
      expect(body.error.type, path).to.equal('not_found');
    }
    const { status, headers, body } = await service.api('PUT', '/v1/sessions/ses_none');
    expect(status).to.equal(405);
    expect(body.error.type).to.equal('method_not_allowed');
    expect(headers.get('allow')).to.equal('DELETE, GET, HEAD, PATCH');
  });

  it('the service answers OPTIONS with the methods of a path, and HEAD as GET without a body', async () => {
    const options = await service.api('OPTIONS', '/v1/sessions');
    expect(options.status).to.equal(204);
    expect(options.headers.get('allow')).to.equal('GET, HEAD, POST');
    const head = await service.api('HEAD', '/v1/sessions');
    expect(head.status).to.equal(200);
    expect(head.body).to.equal(null);
    expect(Number(head.headers.get('content-length'))).to.be.greaterThan(0);
  });

  it('the service does not stream in an answer to HEAD', async () => {
    const { body: session } = await service.api('POST', '/v1/sessions', { model_id: 'test-model' });
    const { status, headers } = await service.api('HEAD', `/v1/sessions/${session.id}/events/stream`);
    expect(status).to.equal(200);
    expect(headers.get('content-type')).to.equal('text/event-stream');
  });

  it('the service answers 404 for a malformed id, as for one that does not exist', async () => {
    for (const id of [
      'x',
      'ses_%00',
      '%',
      '%zz',
      '%ff%fe',
      '%C3%28',
      '..%2f..',
      'a'.repeat(8000),
      '%F0%9F%98%80',
      '%ED%A0%80',
    ]) {
      const { status, body } = await service.api('GET', `/v1/sessions/${id}`);
      expect(status, id).to.equal(404);
      expect(body.error.type, id).to.equal('session_not_found');
    }
  });

  it('the service shows only the request id of an unexpected error', async () => {
    await service.db.query('ALTER TABLE sessions RENAME TO hidden');
    const { status, headers, body } = await service.api('GET', '/v1/sessions');
    await service.db.query('ALTER TABLE hidden RENAME TO sessions');
    expect(status).to.equal(500);
    expect(headers.get('x-should-retry')).to.equal(null);
    expect(body.error.type).to.equal('internal_error');
    expect(JSON.stringify(body)).to.not.match(/sessions|relation|at /);
  });

  it('responses carry security headers, also on errors', async () => {
    const { headers } = await service.as(null)('GET', '/nothing');
    expect(headers.get('x-content-type-options')).to.equal('nosniff');
    expect(headers.get('content-security-policy')).to.contain("default-src 'none'");
    expect(headers.get('x-powered-by')).to.equal(null);
  });

  describe('bytes that are not HTTP', () => {
    const cases: Record<string, [string, number]> = {
      'a request line that cannot be read': ['NONSENSE\r\n\r\n', 400],
      'headers over 16 KiB': [`GET /healthz HTTP/1.1\r\nHost: x\r\nX-A: ${'a'.repeat(20_000)}\r\n\r\n`, 431],
      'a flood of headers': [`GET /healthz HTTP/1.1\r\nHost: x\r\n${'X-A: a\r\n'.repeat(5000)}\r\n`, 431],
      'a body of two lengths': [
        'POST /v1/sessions HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
        400,
      ],
    };
    for (const [name, [bytes, status]] of Object.entries(cases)) {
      it(`${name}: ${status} in the same envelope`, async () => {
        const answer = await rawHttp(service.url, bytes);
        expect(answer).to.match(new RegExp(`^HTTP/1.1 ${status} `));
        const body = JSON.parse(answer.slice(answer.indexOf('\r\n\r\n') + 4));
        expect(body).to.have.nested.property('error.type', 'bad_request');
        expect(answer).to.contain(`X-Request-Id: ${body.request_id}`);
      });
    }
  });

  it('the service serves odd targets sanely', async () => {
    for (const target of [
      '*',
      '//v1/sessions',
      '/v1/sessions?%',
      'http://other.test/healthz',
      '/v1/sessions?limit[]=1#x',
    ]) {
      const method = target === '*' ? 'OPTIONS' : 'GET';
      const answer = await rawHttp(
        service.url,
        `${method} ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer ${service.key}\r\n\r\n`,
      );
      expect(answer, target).to.match(/^HTTP\/1.1 (200|404) /);
    }
  });

  it('errors tell the client what to do', async () => {
    const { body: session } = await service.api('POST', '/v1/sessions', { model_id: 'test-model' });
    const blank = await service.api('POST', `/v1/sessions/${session.id}/messages`, { content: ' ' });
    expect(blank.body.error.message).to.equal('/content must not be only white space.');
    const form = new FormData();
    form.set('attachment', new Blob(['x']), 'x.txt');
    const headers = { Authorization: `Bearer ${service.key}` };
    const upload = await fetch(`${service.url}/v1/files`, { method: 'POST', headers, body: form });
    const { error } = (await upload.json()) as { error: { message: string } };
    expect(error.message).to.contain('needs a part with the name file');
    const root = await service.as(null)('GET', '/');
    expect(`${root.status} ${root.body.error.message}`).to.match(/^404 .*\/docs.*\/console\//);
  });
});
