import { Validator } from '@seriousme/openapi-schema-validator';
import { expect } from 'chai';
import { once } from 'node:events';
import { connect } from 'node:net';
import { freePort } from '../../../src/platform/free-port.js';
import { eventually } from '../../support/eventually.js';
import { onLogLine } from '../../support/log.js';
import { sampleOf } from '../../support/metrics.js';
import { startService } from '../../support/service.js';
import { openSse } from '../../support/sse-reader.js';
import { useService } from '../../support/use.js';

describe('routes without a key', () => {
  const service = useService({ config: { corsOrigins: ['https://app.example.com'] } });
  const get = (path: string, headers: Record<string, string> = {}) => service.as(null)('GET', path, undefined, headers);

  it('/healthz answers while the process lives', async () => {
    expect((await get('/healthz')).status).to.equal(200);
  });

  it('/readyz requires Postgres and a current schema, and reports the rest', async () => {
    const ready = await get('/readyz');
    expect(ready.status).to.equal(200);
    expect(ready.body)
      .to.include({ postgres: 'ok', sandbox: 'off' })
      .and.have.all.keys('postgres', 'temporal', 'worker', 'sandbox');
    const deep = await get('/readyz?deep=1');
    expect(deep.status).to.equal(Object.values(deep.body).includes('away') ? 503 : 200);

    await service.db.query("UPDATE migrations SET name = name || 'x'");
    await eventually('the outdated schema shows', async () => {
      const { status, body } = await get('/readyz');
      return status === 503 && body.postgres === 'away';
    });
    await service.db.query('UPDATE migrations SET name = left(name, -1)');
    await eventually('it is ready again', async () => (await get('/readyz')).status === 200);
  });

  it('/healthz, /readyz and /metrics are on METRICS_PORT alone where that is set', async () => {
    const metricsPort = await freePort();
    const other = await startService({ config: { metricsPort } });
    try {
      for (const path of ['/healthz', '/readyz', '/metrics']) {
        expect((await other.as(null)('GET', path)).status, path).to.equal(404);
        const answer = await fetch(`http://127.0.0.1:${metricsPort}${path}`);
        expect(answer.status, path).to.equal(200);
        await answer.text();
      }
      const deep = await fetch(`http://127.0.0.1:${metricsPort}/readyz?deep=1`);
      const body = (await deep.json()) as Record<string, string>;
      expect(body).to.have.all.keys('postgres', 'temporal', 'worker', 'sandbox');
      expect(deep.status).to.equal(Object.values(body).includes('away') ? 503 : 200);
      expect((await fetch(`http://127.0.0.1:${metricsPort}/v1/models`)).status).to.equal(404);
    } finally {
      await other.close();
    }
  });

  it('/metrics is Prometheus text, by route pattern', async () => {
    const { body: session } = await service.api('POST', '/v1/sessions', { model_id: 'test-model' });
    await service.api('GET', `/v1/sessions/${session.id}`);
    const { headers, body } = await get('/metrics');
    expect(headers.get('content-type')).to.match(/^text\/plain/);
    expect(body).to.contain(
      'http_request_duration_seconds_count{method="GET",route="/v1/sessions/{session_id}",status="200"}',
    );
    await fetch(`${service.url}/readyz`);
    const ready = 'http_request_duration_seconds_count{method="GET",route="/readyz",status="200"}';
    expect((await get('/metrics')).body).to.contain(ready);
    expect(body).to.contain('db_pool_connections{state="idle"}').and.contain('nodejs_eventloop_lag');
    expect(body).to.not.contain(session.id);

    const openBefore = await sampleOf(service, 'event_streams_open');
    const stream = await openSse(`${service.url}/v1/sessions/${session.id}/events/stream`, service.key);
    stream.close();
    await eventually(
      'the stream is closed',
      async () => (await sampleOf(service, 'event_streams_open')) === openBefore,
    );
    const route = '/v1/sessions/{session_id}/events/stream';
    expect((await get('/metrics')).body).to.not.contain(`count{method="GET",route="${route}",status="200"`);
  });

  it('a request whose client goes away before its answer is counted and logged as 499, not as 404', async () => {
    const lines: Record<string, unknown>[] = [];
    const end = onLogLine((line) => lines.push(line));
    try {
      const socket = connect(Number(new URL(service.url).port), '127.0.0.1');
      await once(socket, 'connect');
      const head = ['POST /v1/sessions HTTP/1.1', 'Host: x', `Authorization: Bearer ${service.key}`];
      const body = ['Content-Type: application/json', 'Content-Length: 100', 'Expect: 100-continue', '', ''];
      socket.write([...head, ...body].join('\r\n'));
      // The service has the request, and waits for its body.
      expect(String((await once(socket, 'data'))[0])).to.match(/^HTTP\/1.1 100 /);
      socket.destroy();
      const logged = (): Record<string, unknown> | undefined => lines.find(({ message }) => message === 'request');
      await eventually('it is logged', () => logged() !== undefined);
      expect(logged()).to.include({ path: '/v1/sessions', status: 499, complete: false });
    } finally {
      end();
    }
    expect((await get('/metrics')).body).to.match(
      /^http_request_duration_seconds_count\{method="POST",.*status="499"\} 1$/m,
    );
  });

  describe('/openapi.json', () => {
    it('/openapi.json names every operation, with its permission, errors and headers', async () => {
      const { status, body } = await get('/openapi.json');
      expect(status).to.equal(200);
      expect(body.openapi).to.equal('3.1.0');
      expect(body.servers).to.deep.equal([{ url: service.url }]);
      const create = body.paths['/v1/sessions'].post;
      expect(create.operationId).to.equal('createSession');
      expect(create.description).to.contain('sessions:write');
      expect(create.responses).to.have.all.keys(
        ...['201', '400', '401', '403', '404', '408', '409', '413', '415', '422', '429', '500', '503'],
      );
      expect(create.responses['201'].content['application/json'].schema).to.deep.equal({
        $ref: '#/components/schemas/Session',
      });
      expect(create.responses['201'].headers).to.include.keys('RateLimit-Limit', 'Idempotency-Replayed');
      expect(body.paths['/v1/sessions'].get.parameters.map(({ name }: { name: string }) => name)).to.deep.equal([
        'limit',
        'cursor',
        'requires_action',
        'status',
        'agent_id',
        'created_after',
        'created_before',
        'user',
        'parent_session_id',
        'metadata',
        'q',
        'order',
      ]);
    });

    it('/openapi.json describes a frame of the event stream: the fields of SSE, and the JSON inside data', async () => {
      const { body } = await get('/openapi.json');
      const stream = body.paths['/v1/sessions/{session_id}/events/stream'].get;
      expect(stream.parameters.map(({ name }: { name: string }) => name)).to.include('Last-Event-ID');
      expect(stream.responses['200'].content['text/event-stream'].schema).to.deep.equal({
        $ref: '#/components/schemas/StreamFrame',
      });
      const { StreamFrame: frame, StreamEvent: event, StreamEventType: type } = body.components.schemas;
      expect(frame.required).to.have.members(['event', 'id', 'data']);
      expect(frame.properties.data).to.include({ type: 'string', contentMediaType: 'application/json' });
      expect(frame.properties.data.contentSchema).to.deep.equal({ $ref: '#/components/schemas/StreamEvent' });
      expect(type.enum).to.have.members(Object.keys(event.discriminator.mapping));
    });

    it('/openapi.json is valid OpenAPI', async () => {
      const { body } = await get('/openapi.json');
      const { valid, errors } = await new Validator().validate(body);
      expect(valid, JSON.stringify(errors)).to.equal(true);
    });

    it('/openapi.json has no dangling reference, and names each operation once', async () => {
      const { body } = await get('/openapi.json');
      const text = JSON.stringify(body);
      for (const [, kind, name] of text.matchAll(/"#\/components\/(\w+)\/([^"]+)"/g)) {
        expect(body.components[kind!], name).to.have.property(name!);
      }
      const ids = [...text.matchAll(/"operationId":"(\w+)"/g)].map(([, id]) => id);
      expect(ids.length).to.be.greaterThan(5);
      expect(new Set(ids).size).to.equal(ids.length);
    });
  });

  it('/docs is served from here alone', async () => {
    const page = await get('/docs');
    expect(page.status).to.equal(200);
    expect(page.headers.get('content-security-policy')).to.match(/script-src 'nonce-[^']{24}'/);
    const links = [...String(page.body).matchAll(/(?:src|href)="([^"]+)"/g)].map(([, link]) => link!);
    expect(links.length).to.be.greaterThan(2);
    for (const link of links) {
      expect(link).to.match(/^docs\//);
      expect((await get(`/${link}`)).status, link).to.equal(200);
    }
  });

  it('the document and the script of /docs are compressed for who accepts it', async () => {
    const [, script] = /<script[^>]* src="([^"]+)"/.exec(String((await get('/docs')).body))!;
    for (const path of ['/openapi.json', `/${script}`]) {
      const answer = (encoding: string) => fetch(service.url + path, { headers: { 'Accept-Encoding': encoding } });
      const [plain, compressed] = [await answer('identity'), await answer('gzip')];
      expect([plain, compressed].map(({ headers }) => headers.get('content-encoding'))).to.deep.equal([null, 'gzip']);
      expect(await compressed.text()).to.equal(await plain.text());
      const length = ({ headers }: Response): number => Number(headers.get('content-length'));
      expect(length(compressed)).to.be.below(length(plain) / 2);
    }
  });

  describe('CORS', () => {
    it('CORS lets the configured origins in, and no other', async () => {
      const preflight = (origin: string) =>
        service.as(null)('OPTIONS', '/v1/sessions', undefined, {
          Origin: origin,
          'Access-Control-Request-Method': 'POST',
          'Access-Control-Request-Headers': 'authorization',
        });
      const allowed = await preflight('https://app.example.com');
      expect(allowed.status).to.equal(204);
      expect(allowed.headers.get('access-control-allow-origin')).to.equal('https://app.example.com');
      expect(allowed.headers.get('access-control-allow-headers')).to.contain('Authorization');
      const refused = await preflight('https://evil.example.com');
      expect(refused.headers.get('access-control-allow-origin')).to.equal(null);
    });

    it('CORS lets the configured origins read errors and the documented headers', async () => {
      const { status, headers } = await get('/v1/sessions', { Origin: 'https://app.example.com' });
      expect(status).to.equal(401);
      expect(headers.get('access-control-allow-origin')).to.equal('https://app.example.com');
      expect(headers.get('access-control-expose-headers')).to.contain('X-Request-Id');
    });

    it('CORS is off unless configured', async () => {
      const closed = await startService();
      const { headers } = await closed.as(null)('GET', '/healthz', undefined, { Origin: 'https://app.example.com' });
      await closed.close();
      expect(headers.get('access-control-allow-origin')).to.equal(null);
    });
  });
});
