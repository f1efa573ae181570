import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import { createServer as createNetServer } from 'node:net';
import { gzipSync } from 'node:zlib';
import { expect } from 'chai';
import {
  createMcpNetwork,
  RedirectError,
  UnsafeAddressError,
  type GuardedNetwork,
} from '../../../src/network/network.js';
import { ResponseTooLargeError } from '../../../src/network/bounded-body.js';
import { failureOf } from '../../support/failure.js';
import { closeServer, listen } from '../../support/listen.js';
import { useClosers } from '../../support/use.js';

const LIMITS = {
  get left() {
    return { bytes: 1000 };
  },
};

describe('the network to MCP servers', () => {
  const closers = useClosers();

  const network = (allowed: string[], resolve?: Parameters<typeof createMcpNetwork>[1]): GuardedNetwork => {
    const made = createMcpNetwork(allowed, resolve);
    closers.push(() => made.close());
    return made;
  };

  const serve = async (
    answer: RequestListener,
  ): Promise<{ host: string; port: number; requests: IncomingMessage[] }> => {
    const requests: IncomingMessage[] = [];
    const server: Server = createServer((req, res) => {
      requests.push(req);
      answer(req, res);
    });
    const { host, port } = await listen(server);
    closers.push(() => closeServer(server));
    return { host, port, requests };
  };

  /** Counts sockets: an address that is refused must not even see one. */
  const bait = async (): Promise<{ port: number; sockets: () => number }> => {
    let sockets = 0;
    const server = createNetServer((socket) => {
      sockets += 1;
      socket.destroy();
    });
    const { port } = await listen(server);
    closers.push(() => void server.close());
    return { port, sockets: () => sockets };
  };

  it('the network to MCP servers refuses at the check a name of which one address is private', async () => {
    const mixed = network([], async () => [
      { address: '93.184.215.14', family: 4 },
      { address: '::1', family: 6 },
    ]);
    const error = await failureOf(mixed.checkUrl('https://mixed.example/mcp'));
    expect(error).to.have.property('type', 'invalid_mcp_server_url');
  });

  it('the network to MCP servers connects to no address of a mixed answer', async () => {
    const { port, sockets } = await bait();
    const mixed = network([], async () => [
      { address: '127.0.0.1', family: 4 },
      { address: '93.184.215.14', family: 4 },
    ]);
    const error = await failureOf(mixed.fetch(new URL(`https://mixed.example:${port}/`), {}, LIMITS));
    expect(error.cause).to.be.instanceOf(UnsafeAddressError);
    expect(sockets()).to.equal(0);
  });

  it('the network to MCP servers connects to no name that resolves to loopback since its check (DNS rebinding)', async () => {
    const { port, sockets } = await bait();
    const answers = ['93.184.215.14', '127.0.0.1'];
    const rebinding = network([], async () => [{ address: answers.shift()!, family: 4 }]);
    const url = await rebinding.checkUrl(`https://rebind.example:${port}/mcp`);
    const error = await failureOf(rebinding.fetch(url, {}, LIMITS));
    expect(error.cause).to.be.instanceOf(UnsafeAddressError);
    expect(sockets()).to.equal(0);
  });

  for (const host of ['127.0.0.1', '[::1]', '[::ffff:127.0.0.1]', 'localhost', '0.0.0.0']) {
    it(`the network to MCP servers opens no socket to https://${host}, which no resolver sees`, async () => {
      const { port, sockets } = await bait();
      const error = await failureOf(network([]).fetch(new URL(`https://${host}:${port}/`), {}, LIMITS));
      expect(error.cause).to.be.instanceOf(UnsafeAddressError);
      expect(sockets()).to.equal(0);
    });
  }

  it('the network to MCP servers leaves a name that does not resolve to the connection', async () => {
    const unknown = network([], async () => Promise.reject(Object.assign(new Error('no'), { code: 'ENOTFOUND' })));
    const url = await unknown.checkUrl('https://nowhere.example/mcp');
    const error = await failureOf(unknown.fetch(url, {}, LIMITS));
    expect(error.cause).to.have.property('code', 'ENOTFOUND');
  });

  it('the network to MCP servers exempts an allowed host, by name too', async () => {
    const server = await serve((_, res) => void res.end('hello'));
    const allowed = network([`mcp.internal:${server.port}`], async () => [{ address: '127.0.0.1', family: 4 }]);
    const url = await allowed.checkUrl(`http://mcp.internal:${server.port}/`);
    expect(await (await allowed.fetch(url, {}, LIMITS)).text()).to.equal('hello');
  });

  it('the network to MCP servers follows a redirect within the origin with everything', async () => {
    const server = await serve((req, res) => {
      if (req.url === '/mcp') res.writeHead(307, { location: '/mcp/' }).end();
      else req.pipe(res);
    });
    const init = { method: 'POST', headers: { authorization: 'Bearer secret' }, body: 'call' };
    const response = await network([server.host]).fetch(new URL(`http://${server.host}/mcp`), init, LIMITS);
    expect(await response.text()).to.equal('call');
    expect(server.requests[1]!.headers.authorization).to.equal('Bearer secret');
  });

  it('the network to MCP servers takes no credential and no session to another origin', async () => {
    const target = await serve((_, res) => void res.end('there'));
    const server = await serve((_, res) => void res.writeHead(308, { location: `http://${target.host}/x` }).end());
    const headers = {
      authorization: 'Bearer secret',
      'x-api-key': 'secret',
      cookie: 'a=secret',
      'mcp-session-id': 'secret',
      accept: 'text/event-stream',
    };
    const both = network([server.host, target.host]);
    const response = await both.fetch(
      new URL(`http://${server.host}/`),
      { method: 'POST', headers, body: 'x' },
      LIMITS,
    );
    expect(await response.text()).to.equal('there');
    expect(JSON.stringify(target.requests[0]!.headers)).not.to.include('secret');
    expect(target.requests[0]!.headers.accept).to.equal('text/event-stream');
  });

  it('the network to MCP servers checks every hop: a redirect to loopback opens no socket', async () => {
    const { port, sockets } = await bait();
    for (const location of [`http://127.0.0.1:${port}/`, `https://127.0.0.1:${port}/`, `https://localhost:${port}/`]) {
      const server = await serve((_, res) => void res.writeHead(307, { location }).end());
      const error = await failureOf(network([server.host]).fetch(new URL(`http://${server.host}/`), {}, LIMITS));
      expect(error, location).to.be.instanceOf(RedirectError).with.property('unsafe', true);
    }
    expect(sockets()).to.equal(0);
  });

  it('the network to MCP servers does not follow redirects that change the request, add a user, or never end', async () => {
    const post = { method: 'POST', body: 'x' };
    const cases: [number, (host: string) => string, RequestInit][] = [
      [301, () => '/other', post],
      [302, () => '/other', post],
      [303, () => '/other', post],
      [307, (host) => `http://user:password@${host}/`, post],
      [307, () => '/again', post],
      [302, () => '/again', { method: 'GET' }],
    ];
    for (const [status, location, init] of cases) {
      const server = await serve((req, res) => {
        if (req.url === '/other') res.end('followed');
        else res.writeHead(status, { location: location(req.headers.host!) }).end();
      });
      const error = await failureOf(network([server.host]).fetch(new URL(`http://${server.host}/`), init, LIMITS));
      expect(error, `${status}`).to.be.instanceOf(RedirectError);
      expect(server.requests.length).to.be.lessThan(10);
    }
  });

  it('the network to MCP servers cuts off a body that is too long, compressed or not', async () => {
    const bomb = gzipSync(Buffer.alloc(10_000_000));
    const server = await serve((req, res) => {
      if (req.url === '/gzip') res.writeHead(200, { 'content-encoding': 'gzip' }).end(bomb);
      else res.end('x'.repeat(1001));
    });
    for (const path of ['/gzip', '/plain']) {
      const response = await network([server.host]).fetch(new URL(`http://${server.host}${path}`), {}, LIMITS);
      expect(await failureOf(response.text())).to.be.instanceOf(ResponseTooLargeError);
    }
  });
});
