import type { ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { createServer as createNetServer } from 'node:net';
import { expect } from 'chai';
import type { Credential } from '../../../src/mcp/auth.js';
import { eventually } from '../../support/eventually.js';
import { failureOf } from '../../support/failure.js';
import { mcpCalls, type McpCalls } from '../../support/mcp-calls.js';
import { cert, key } from '../../support/self-signed.js';
import { startMcpServer, type McpServerOptions, type TestMcpServer } from '../../support/mcp-server.js';
import { listen } from '../../support/listen.js';
import { useClosers } from '../../support/use.js';

const SECRET = 'secret-0123456789';
const OTHER_VERSIONS = 'speaks only versions of MCP';

describe('probing an MCP server', () => {
  const closers = useClosers();
  const start = async (options: McpServerOptions): Promise<TestMcpServer> => {
    const server = await startMcpServer(options);
    closers.push(() => server.close());
    return server;
  };

  const probe: McpCalls['probe'] = (url, options) => {
    const calls = mcpCalls({ hosts: [new URL(url).host] });
    closers.push(calls.close);
    return calls.probe(url, options);
  };

  /** The reason the client gets; never with anything of the server's body. */
  const reasonOf = async (url: string, options?: Parameters<typeof probe>[1]): Promise<string> => {
    const error = await failureOf(probe(url, options));
    expect(error).to.have.property('type', 'mcp_probe_failed');
    expect(error.message).not.to.include('BODY').and.not.to.include(SECRET);
    return error.message;
  };

  /** Answers every message that `answer` answers. */
  const replies = (
    answer: (request: { id: number; method?: string }) => object | string | undefined,
    status = 200,
  ): McpServerOptions => ({
    gateway: (_req, res, body) => {
      const reply = answer(JSON.parse(body || '{}') as { id: number; method?: string });
      if (reply === undefined) return false;
      res.writeHead(status, { 'content-type': 'application/json' });
      res.end(typeof reply === 'string' ? reply : JSON.stringify({ jsonrpc: '2.0', ...reply }));
      return true;
    },
  });

  const bearer: Credential = { type: 'BEARER', header: null, secret: SECRET };

  for (const [status, id] of [
    [400, null],
    [400, 'own'],
    [200, 'own'],
    [200, null],
  ] as const) {
    it(`probing an MCP server says that a server speaks only other versions of MCP (HTTP ${status}, ${id === null ? 'without an' : 'its'} id)`, async () => {
      const error = { code: -32022, message: 'Unsupported protocol version', data: { supported: ['2026-07-28'] } };
      const server = await start(replies((request) => ({ id: id === null ? null : request.id, error }), status));
      expect(await reasonOf(server.url)).to.include('it speaks only versions of MCP that this service does not speak');
    });
  }

  for (const [status, id, message, reason] of [
    [400, null, 'Bad Request: Unsupported protocol version (supported versions: 2026-07-28)', OTHER_VERSIONS],
    [200, null, 'protocol version not supported', OTHER_VERSIONS],
    [400, 'server-error', 'BODY', 'it refused the MCP request (JSON-RPC error -32000)'],
  ] as const) {
    it(`probing an MCP server does not take an error of initialize for a lost connection (HTTP ${status}, ${message.slice(0, 20)})`, async () => {
      const server = await start(replies(() => ({ id, error: { code: -32000, message } }), status));
      expect(await reasonOf(server.url)).to.include(reason);
    });
  }

  for (const [what, capabilities, more] of [
    ['an empty list for an empty object, as PHP does', { tools: [] }, { serverInfo: { name: 'php', version: 1 } }],
    ['no serverInfo', { tools: {} }, {}],
  ] as const) {
    it(`probing an MCP server reads the tools of a server that answers initialize with ${what}`, async () => {
      const answers: Record<string, unknown> = {
        initialize: { protocolVersion: '2025-06-18', capabilities, ...more },
        'tools/list': { tools: [{ name: 'a', inputSchema: { type: 'object', properties: [] } }], nextCursor: null },
      };
      const answer = replies(({ id, method = '' }) => (method in answers ? { id, result: answers[method] } : ''));
      const { tools, serverName } = await probe((await start(answer)).url);
      expect(tools.map(({ name }) => name)).to.deep.equal(['a']);
      expect(serverName).to.equal('serverInfo' in more ? 'php' : null);
    });
  }

  it('probing an MCP server returns the tools with input schemas and the annotations that count, and the server name', async () => {
    const inputSchema = { type: 'object' as const, properties: { a: { type: 'number' } } };
    const none = { type: 'object', properties: {} };
    const server = await start({
      serverName: 'calculator',
      tools: [
        { name: 'add', description: 'Adds.', inputSchema, annotations: { idempotentHint: true } },
        { name: 'look', annotations: { readOnlyHint: true } },
        { name: 'send', annotations: { readOnlyHint: false } },
      ],
    });
    expect(await probe(server.url)).to.deep.equal({
      serverName: 'calculator',
      leftOut: 0,
      tools: [
        { name: 'add', description: 'Adds.', input_schema: inputSchema, annotations: { idempotentHint: true } },
        { name: 'look', description: '', input_schema: none, annotations: { readOnlyHint: true } },
        { name: 'send', description: '', input_schema: none, hints: { read_only: false } },
      ],
    });
    expect(server.log.at(-1), 'says goodbye to its session').to.equal('DELETE');
    expect(server.log, 'opens no stream of its own').not.to.include('GET');
  });

  for (const mode of ['stateless', 'json'] as const) {
    it(`probing an MCP server works with a ${mode} server`, async () => {
      const server = await start({ [mode]: true, tools: [{ name: 'a' }] });
      expect((await probe(server.url)).tools.map(({ name }) => name)).to.deep.equal(['a']);
    });
  }

  it('probing an MCP server waits for a server that takes its time for each message of the handshake', async () => {
    const server = await start({
      tools: [{ name: 'a' }],
      gateway: async (_req, _res, body) => {
        if (body.includes('initialize')) await new Promise((resolve) => setTimeout(resolve, 1000));
        return false;
      },
    });
    expect((await probe(server.url)).tools).to.have.length(1);
  });

  it('probing an MCP server reads 2,100 tools over several pages and keeps 2,000', async () => {
    const tools = Array.from({ length: 2100 }, (_, index) => ({ name: `tool-${index}` }));
    const server = await start({ tools, pageSize: 300 });
    expect((await probe(server.url)).tools.map(({ name }) => name)).to.deep.equal(
      tools.slice(0, 2000).map(({ name }) => name),
    );
    expect(server.log.filter((method) => method === 'tools/list')).to.have.length(7);
  });

  it('probing an MCP server drops over-long names before it counts, cuts descriptions by code points', async () => {
    const long = { name: 'x'.repeat(129) };
    const longest = { name: '🔧'.repeat(128), description: '🔧'.repeat(501) };
    const server = await start({ tools: [long, longest, { name: 'same', description: '1' }, { name: 'same' }] });
    const { tools } = await probe(server.url);
    expect(tools.map(({ name }) => name)).to.deep.equal([longest.name, 'same']);
    expect([...tools[0]!.description]).to.have.length(500);
    expect(tools[1]!.description).to.equal('1');
  });

  it('probing an MCP server drops names that show as another one: control characters, line ends, writing direction, zero width', async () => {
    const hidden = [...'\n\t\u0085\u2028\u2029\u202e\u2066\u200f\u200b\ufeff\u{e0041}'];
    const names = ['send', 'отправить', '送る', 'a b', '🔧', 'ä'];
    const server = await start({ tools: [...hidden.map((one) => `se${one}nd`), ...names].map((name) => ({ name })) });
    expect((await probe(server.url)).tools.map(({ name }) => name)).to.deep.equal(names);
  });

  it('probing an MCP server keeps 2 MiB of schemas, in time that is bounded too, and any object for the rest', async () => {
    const inputSchema = {
      type: 'object' as const,
      properties: Object.fromEntries(
        Array.from({ length: 300 }, (_, n) => [`p${n}`, { type: 'string', title: 'x'.repeat(150) }]),
      ),
    };
    const tools = Array.from({ length: 50 }, (_, n) => ({ name: `tool-${n}`, inputSchema }));
    const server = await start({ tools });
    const result = await probe(server.url);
    const size = JSON.stringify(inputSchema).length;
    const full = result.tools.filter(({ input_schema }) => input_schema.properties !== undefined);
    expect(full).to.have.length(Math.floor((2 * 1024 * 1024) / size));
    expect(result.tools).to.have.length(50);
    expect(result.tools.at(-1)!.input_schema).to.deep.equal({ type: 'object' });
  });

  it('probing an MCP server makes text of the server storable and keeps the credential out of it', async () => {
    const server = await start({
      auth: { header: 'authorization', value: `Bearer ${SECRET}` },
      serverName: `nul\0name ${SECRET}`,
      tools: [{ name: 'a', description: `half \ud800 nul \0 ${SECRET}` }, { name: 'nul\0' }, { name: `key-${SECRET}` }],
    });
    const result = await probe(server.url, { credential: bearer });
    expect(result.serverName).to.equal('nul\ufffdname [credential]');
    expect(result.tools.map(({ name, description }) => [name, description])).to.deep.equal([
      ['a', 'half � nul � [credential]'],
    ]);
  });

  describe('failures', () => {
    const answers = (status: number, type = 'text/plain', body?: string, location?: string): McpServerOptions => ({
      gateway: (req, res: ServerResponse) => {
        res.writeHead(status, { 'content-type': type, ...(location !== undefined && { location }) });
        res.end(body ?? `BODY ${req.headers.authorization}`);
        return true;
      },
    });
    /** Answers `tools/list` with the results of `page`. */
    const lists = (page: () => object): McpServerOptions =>
      replies(({ id, method }) => (method === 'tools/list' ? { id, result: page() } : undefined));

    const cases: [what: string, options: McpServerOptions, reason: RegExp][] = [
      [
        'a wrong credential',
        { auth: { header: 'authorization', value: 'other' } },
        /rejected the credential \(HTTP 401\)/,
      ],
      ['403', answers(403), /rejected the credential or denies access \(HTTP 403\)/],
      ['404', answers(404), /nothing is at this path \(HTTP 404\)/],
      ['405', answers(405), /does not take MCP requests/],
      ['429', answers(429), /HTTP 429/],
      ['500', answers(500), /failed \(HTTP 500\)/],
      ['HTML', answers(200, 'text/html'), /not the MCP protocol/],
      ['JSON that is none', answers(200, 'application/json'), /not the MCP protocol/],
      ['an event stream without an answer', answers(200, 'text/event-stream'), /ended before an MCP answer came/],
      ['202 to a request', answers(202), /ended before an MCP answer came/],
      ['another JSON', answers(200, 'application/json', '{"BODY":true}'), /not the MCP protocol/],
      [
        'a JSON-RPC error',
        replies(({ id }) => ({ id, error: { code: -32602, message: `BODY ${SECRET}` } })),
        /refused the MCP request \(JSON-RPC error -32602\)/,
      ],
      [
        'a redirect to loopback',
        answers(307, 'text/plain', '', 'https://127.0.0.1:9443/BODY'),
        /redirects to an address that is not public/,
      ],
      [
        'a redirect that drops the body',
        answers(302, 'text/plain', '', '/BODY'),
        /redirects in a way that cannot be followed \(HTTP 302\)/,
      ],
      [
        'a socket that is cut',
        {
          gateway: (req) => {
            req.socket.destroy();
            return true;
          },
        },
        /closed the connection without an answer/,
      ],
      [
        'an endless answer',
        {
          gateway: (_, res) => {
            res.writeHead(200, { 'content-type': 'application/json' });
            // In a later round of the event loop: the end of the connection must come in between.
            const more = (): void =>
              void res.write('BODY'.repeat(100_000), () => setImmediate(() => !res.destroyed && more()));
            more();
            return true;
          },
        },
        /answer is too large/,
      ],
    ];
    for (const [what, options, reason] of cases) {
      it(`probing an MCP server reports why it failed for ${what}`, async () => {
        const server = await start(options);
        expect(await reasonOf(server.url, { credential: bearer })).to.match(reason);
      });
    }

    it('probing an MCP server reports why it failed for pages that together are too large', async () => {
      let pages = 0;
      const server = await start(
        lists(() => ({ tools: [{ name: 'x'.repeat(4_000_000) }], nextCursor: String((pages += 1)) })),
      );
      expect(await reasonOf(server.url)).to.match(/answer is too large/);
      expect(pages).to.be.lessThan(10);
    });

    it('probing an MCP server reports why it failed for pages that never end', async () => {
      const server = await start(lists(() => ({ tools: [], nextCursor: 'again' })));
      expect(await reasonOf(server.url)).to.match(/tools\/list has no end/);
    });

    const slow: [what: string, gateway: McpServerOptions['gateway']][] = [
      ['hangs', () => true],
      ['hangs at the second message', (_, __, body) => body.includes('notifications/initialized')],
      [
        'drips',
        (_, res) => {
          res.writeHead(200, { 'content-type': 'application/json' });
          const drip = setInterval(() => res.write(' '), 20);
          res.on('close', () => clearInterval(drip));
          return true;
        },
      ],
    ];
    for (const [what, gateway] of slow) {
      it(`probing an MCP server reports why it failed for a server that ${what}`, async () => {
        const server = await start({ gateway });
        expect(await reasonOf(server.url, { seconds: 0.5 })).to.match(/did not answer within 0\.5 seconds/);
        await eventually('no request stays open', () => server.openRequests() === 0);
      });
    }

    it('probing an MCP server reports why it failed for a port without a listener', async () => {
      const server = await start({});
      await server.close();
      expect(await reasonOf(server.url)).to.match(/refused the connection/);
    });

    it('probing an MCP server reports why it failed for a name that does not resolve', async () => {
      expect(await reasonOf('https://does-not-exist.invalid/mcp')).to.match(/DNS/);
    });

    it('probing an MCP server reports why it failed for a port that speaks no TLS', async () => {
      const server = await start({});
      expect(await reasonOf(server.url.replace('http:', 'https:'))).to.match(/TLS failed/);
    });

    it('probing an MCP server reports why it failed for a self-signed certificate', async () => {
      const tls = createTlsServer({ key, cert });
      const { port } = await listen(tls);
      closers.push(() => void tls.close());
      expect(await reasonOf(`https://127.0.0.1:${port}/mcp`)).to.match(/TLS certificate is not trusted/);
    });

    it('probing an MCP server reports why it failed for something that is not HTTP', async () => {
      const server = createNetServer((socket) => socket.end('BODY\r\n'));
      const { url } = await listen(server);
      closers.push(() => void server.close());
      expect(await reasonOf(`${url}/mcp`)).to.match(/not HTTP/);
    });
  });
});
