import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { McpError } from '@modelcontextprotocol/sdk/types.js';
import { expect } from 'chai';
import { eventually } from '../../../support/eventually.js';
import { failureOf } from '../../../support/failure.js';
import { onLogLine } from '../../../support/log.js';
import { isOutcomeUnknown, mcpCalls, textOf } from '../../../support/mcp-calls.js';
import {
  startMcpServer,
  type McpServerOptions,
  type TestMcpServer,
  type TestTool,
} from '../../../support/mcp-server.js';
import { useClosers } from '../../../support/use.js';

const SECRET = 'secret-0123456789';
const never = (): Promise<never> => new Promise(() => undefined);

describe('calling a tool of an MCP server', () => {
  const closers = useClosers();
  const start = async (
    tools: TestTool[],
    options: McpServerOptions = {},
    wanted: Parameters<typeof mcpCalls>[0] = {},
  ) => {
    const server = await startMcpServer({ tools, ...options });
    const calls = mcpCalls({ hosts: [server.host], ...wanted });
    closers.push(calls.close, server.close);
    return { server, calls, row: calls.row('s', server.url) };
  };

  const received = ({ log }: TestMcpServer, method: string): number => log.filter((one) => one === method).length;
  /** Answers the calls of tools instead of the server. */
  const onCall = (
    server: TestMcpServer,
    answer: (req: IncomingMessage, res: ServerResponse) => unknown,
    count = Infinity,
  ): void => {
    let left = count;
    server.options.gateway = async (req, res, body) => {
      if (!body.includes('tools/call') || left === 0) return false;
      left -= 1;
      await answer(req, res);
      return true;
    };
  };

  for (const mode of ['sessions', 'stateless', 'json'] as const) {
    it(`calling a tool of an MCP server passes input and key on and brings the answer (${mode})`, async () => {
      const echo: TestTool = { name: 'echo', run: ({ arguments: input }) => JSON.stringify(input) };
      const { server, calls, row } = await start([echo], { [mode]: true });
      const input = { text: 'ü🔧', nested: [{ a: null }] };
      const result = await calls.call(row, 'echo', input, { idempotencyKey: 'turn_1-2-0' });
      expect(result).to.deep.equal({ content: [{ type: 'text', text: JSON.stringify(input) }], isError: false });
      expect(server.calls).to.have.length(1);
      expect(server.calls[0]!.meta).to.include({ 'agent-session-service/idempotency-key': 'turn_1-2-0' });
    });
  }

  it('calling a tool of an MCP server passes on tool errors and protocol errors', async () => {
    const { calls, row } = await start([
      { name: 'failing', run: () => ({ content: [{ type: 'text', text: 'no such city' }], isError: true }) },
      { name: 'throwing', run: () => Promise.reject(new Error('broken inside')) },
    ]);
    expect(await calls.call(row, 'failing')).to.deep.equal({
      content: [{ type: 'text', text: 'no such city' }],
      isError: true,
    });
    const thrown = await calls.call(row, 'throwing');
    expect([thrown.isError, isOutcomeUnknown(thrown), thrown.commit]).to.deep.equal([true, false, undefined]);
    expect(textOf(thrown)).to.match(/answered the call of throwing with an error: .*broken inside/);
  });

  for (const mode of ['sessions', 'json'] as const) {
    it(`calling a tool of an MCP server passes on an error of the server's own with the code that the SDK uses for a closed connection (${mode})`, async () => {
      const refuse = (): Promise<never> => Promise.reject(new McpError(-32000, 'the quota is used up'));
      const { calls, row } = await start([{ name: 'a', run: refuse }], { [mode]: true });
      const result = await calls.call(row, 'a');
      expect([result.isError, isOutcomeUnknown(result), result.commit]).to.deep.equal([true, false, undefined]);
      expect(textOf(result)).to.match(/answered the call of a with an error: .*the quota is used up/);
    });
  }

  it('calling a tool of an MCP server runs calls of one server side by side on one connection', async () => {
    let running = 0;
    const together = async (): Promise<string> => {
      running += 1;
      await eventually('three calls run', () => running === 3);
      return 'ok';
    };
    const { server, calls, row } = await start([{ name: 'meet', run: together }]);
    const results = await Promise.all([calls.call(row, 'meet'), calls.call(row, 'meet'), calls.call(row, 'meet')]);
    expect(results.map(textOf)).to.deep.equal(['ok', 'ok', 'ok']);
    expect(received(server, 'initialize')).to.equal(1);
  });

  it('calling a tool of an MCP server reports progress', async () => {
    const run: TestTool['run'] = async ({ progress }) => {
      for (const step of [1, 2, 3]) await progress(step);
    };
    const { calls, row } = await start([{ name: 'slow', run }]);
    let signs = 0;
    await calls.call(row, 'slow', {}, { progress: () => (signs += 1) });
    expect(signs).to.equal(3);
  });

  for (const mode of ['sessions', 'json'] as const) {
    it(`calling a tool of an MCP server sends a cancel to the server at once and leaves nothing open (${mode})`, async () => {
      const { server, calls, row } = await start([{ name: 'hang', run: never }, { name: 'a' }], { [mode]: true });
      const cancel = new AbortController();
      const call = calls.call(row, 'hang', {}, { signal: cancel.signal });
      await eventually('the call arrives', () => server.calls.length === 1);
      const reason = new Error('the turn is cancelled');
      cancel.abort(reason);
      expect(await call.catch((error: unknown) => error)).to.equal(reason);
      const begun = Date.now();
      await eventually('the server gets the cancel', () => server.cancelled.length === 1);
      expect(Date.now() - begun).to.be.lessThan(5000);
      expect(textOf(await calls.call(row, 'a')), 'the connection lives on').to.equal('ok');
      expect(received(server, 'initialize')).to.equal(1);
    });
  }

  it('calling a tool of an MCP server sends no cancel for a call that has ended', async () => {
    const { server, calls, row } = await start([{ name: 'a' }]);
    const cancel = new AbortController();
    await calls.call(row, 'a', {}, { signal: cancel.signal });
    cancel.abort();
    await calls.call(row, 'a');
    expect(server.log).not.to.include('notifications/cancelled');
  });

  for (const unknownSession of [404, 400] as const) {
    it(`calling a tool of an MCP server initializes again when a restarted server has lost its sessions (${unknownSession})`, async () => {
      const { server, calls, row } = await start([{ name: 'count' }], { unknownSession });
      await calls.call(row, 'count');
      await server.restart();
      await sleep(20); // the closed sockets are noticed
      expect(textOf(await calls.call(row, 'count'))).to.equal('ok');
      expect(server.calls, 'each call once').to.have.length(2);
    });
  }

  for (const [title, status, text, sent] of [
    ['does so once only', 404, /HTTP 404.*not carried out/, 2],
    ['does not treat a 400 as a lost session if the session still works', 400, /HTTP 400/, 1],
  ] as const) {
    it(`calling a tool of an MCP server ${title}`, async () => {
      const { server, calls, row } = await start([{ name: 'a' }]);
      onCall(server, (_, res) => res.writeHead(status).end());
      expect(textOf(await calls.call(row, 'a'))).to.match(text);
      expect(received(server, 'tools/call')).to.equal(sent);
    });
  }

  describe('when the server closes the connection as the request arrives', () => {
    /** Closes the connection of the first `count` calls, of which the server may have run each. */
    const breakCalls = (server: TestMcpServer, count: number): void =>
      onCall(server, (req) => req.socket.destroy(), count);

    it('a call that may be repeated is sent again once only when the server closes the connection, and then has an unknown outcome', async () => {
      const { server, calls, row } = await start([{ name: 'look' }]);
      breakCalls(server, 2);
      const result = await calls.call(row, 'look', {}, { repeatable: true });
      expect([result.isError, isOutcomeUnknown(result)]).to.deep.equal([true, true]);
      expect(received(server, 'tools/call')).to.equal(2);
    });

    it('a call that may be repeated has an unknown outcome if the server is down at the retry', async () => {
      const { server, calls, row } = await start([{ name: 'look' }]);
      onCall(server, () => server.kill());
      const result = await calls.call(row, 'look', {}, { repeatable: true });
      expect(textOf(result)).to.match(/refused the connection\. Its outcome is unknown/);
    });

    it('a call that may not be repeated is not sent again when the server closes the connection', async () => {
      const { server, calls, row } = await start([{ name: 'buy' }]);
      await calls.call(row, 'buy');
      breakCalls(server, 1);
      const result = await calls.call(row, 'buy');
      expect([result.isError, isOutcomeUnknown(result)]).to.deep.equal([true, true]);
      expect(received(server, 'tools/call')).to.equal(2);
    });
  });

  it('calling a tool of an MCP server reports an unknown outcome if an earlier attempt may have been carried out', async () => {
    const { server, calls, row } = await start([{ name: 'look' }]);
    await server.close();
    const result = await calls.call(row, 'look', {}, { repeatable: true, wasSent: true });
    expect(textOf(result)).to.match(/refused the connection\. Its outcome is unknown/);
  });

  it('calling a tool of an MCP server reports an unknown outcome for invalid answers and for 5xx', async () => {
    for (const [status, type] of [
      [200, 'text/html'],
      [200, 'application/json'],
      [502, 'text/html'],
      [504, 'text/html'],
    ] as const) {
      const { server, calls, row } = await start([{ name: 'a' }]);
      onCall(server, (_, res) => res.writeHead(status, { 'content-type': type }).end('BODY'));
      const result = await calls.call(row, 'a');
      expect([result.isError, isOutcomeUnknown(result)], `${status} ${type}`).to.deep.equal([true, true]);
      expect(textOf(result)).not.to.include('BODY');
      expect(received(server, 'tools/call')).to.equal(1);
    }
  });

  it('calling a tool of an MCP server reports that nothing was carried out if the server is unreachable', async () => {
    const { server, calls, row } = await start([{ name: 'a' }]);
    await server.close();
    const result = await calls.call(row, 'a');
    expect([result.isError, isOutcomeUnknown(result)]).to.deep.equal([true, false]);
    expect(textOf(result)).to.match(/refused the connection\. It was not carried out/);
    const guarded = await calls.call(calls.row('local', 'https://127.0.0.2/mcp'), 'a');
    expect(textOf(guarded)).to.match(/resolves to a private or local address.*not carried out/);
  });

  it('calling a tool of an MCP server reports that nothing was carried out if the credential is refused, and does not show it', async () => {
    const credential = { type: 'BEARER', header: null, secret: SECRET } as const;
    const { server, calls } = await start([{ name: 'a' }], { auth: { header: 'authorization', value: 'other' } });
    const result = await calls.call(calls.row('s', server.url, {}, credential), 'a');
    expect([result.isError, isOutcomeUnknown(result)]).to.deep.equal([true, false]);
    expect(textOf(result))
      .to.match(/HTTP 401/)
      .and.not.to.include(SECRET);
  });

  it('calling a tool of an MCP server logs an error, without the credential, if this process cannot open it', async () => {
    const { server, calls } = await start([{ name: 'a' }]);
    const credential = { type: 'BEARER', header: null, secret: SECRET } as const;
    const sealed = calls.row('s', server.url, {}, credential);
    const other = { ...sealed, id: 'mcp_other', credential: sealed.credential!.replace(/.{8}$/, 'AAAAAAAA') };
    const lines: Record<string, unknown>[] = [];
    closers.push(onLogLine((line) => lines.push(line)));
    const result = await calls.call(other, 'a');
    expect([result.isError, server.calls.length]).to.deep.equal([true, 0]);
    const [{ severity, reason, turn_id, mcp_server_id } = {}, ...more] = lines;
    expect({ severity, reason, turn_id, mcp_server_id }).to.deep.equal({
      severity: 'ERROR',
      reason: 'its stored credential cannot be opened; set auth again',
      turn_id: 'turn_1',
      mcp_server_id: 'mcp_other',
    });
    expect(more).to.deep.equal([]);
    expect(JSON.stringify(lines)).not.to.include(SECRET);
    await server.close();
    await calls.call(sealed, 'a');
    expect(lines.at(-1)).to.include({ severity: 'INFO', mcp_server_id: sealed.id });
  });

  it('calling a tool of an MCP server resumes a stream that the server closes', async () => {
    const { server, calls, row } = await start([{ name: 'a' }]);
    server.options.gateway = (req, res, body) => {
      const sse = { 'content-type': 'text/event-stream' };
      if (body.includes('tools/call')) {
        const { id } = JSON.parse(body) as { id: number };
        server.calls.push({ name: 'a', arguments: { id }, meta: {} });
        res.writeHead(200, sse).end('id: 1\nretry: 50\ndata: \n\n');
        return true;
      }
      if (req.headers['last-event-id'] !== '1') return false;
      const result = { content: [{ type: 'text', text: 'resumed' }] };
      const message = JSON.stringify({ jsonrpc: '2.0', id: server.calls[0]!.arguments.id, result });
      res.writeHead(200, sse).end(`id: 2\ndata: ${message}\n\n`);
      return true;
    };
    expect(textOf(await calls.call(row, 'a'))).to.equal('resumed');
    expect(server.calls).to.have.length(1);
  });

  it('calling a tool of an MCP server is not kept busy by a server that floods it with requests and reconnections', async () => {
    const { server, calls, row } = await start([{ name: 'a' }]);
    const ping = `data: {"jsonrpc":"2.0","id":1,"method":"ping"}\n\n`;
    let replies = 0;
    server.options.gateway = async (req, res, body) => {
      if (req.method === 'GET') {
        res.writeHead(200, { 'content-type': 'text/event-stream' });
        res.end(`retry: 0\n\n${ping.repeat(10_000)}`);
        return true;
      }
      if (!body.includes('"result":{}')) return false;
      replies += 1;
      await sleep(300);
      res.writeHead(202).end();
      return true;
    };
    const begun = Date.now();
    await calls.call(row, 'a');
    await sleep(900);
    expect(textOf(await calls.call(row, 'a'))).to.equal('ok');
    // 16 replies at once of 300 ms each, and a stream every 500 ms: at most this many in the elapsed time.
    const seconds = (Date.now() - begun) / 1000;
    expect(replies).to.be.within(1, 16 * (2 + seconds / 0.3));
    expect(server.log.filter((method) => method === 'GET').length).to.be.within(1, 2 + seconds / 0.5);
  });

  describe('connections', () => {
    it('connections to MCP servers close when idle, and end the MCP session', async () => {
      const { server, calls, row } = await start([{ name: 'a' }], {}, { idleMs: 50 });
      await calls.call(row, 'a');
      expect(calls.mcp.size).to.equal(1);
      await eventually('the session ends', () => server.log.includes('DELETE'));
      expect(calls.mcp.size).to.equal(0);
    });

    it('connections to MCP servers are not shared between credentials', async () => {
      const { server, calls, row } = await start([{ name: 'a' }]);
      await calls.call(row, 'a');
      await calls.call(calls.row('s', server.url, { credential_version: 2 }), 'a');
      expect(received(server, 'initialize')).to.equal(2);
    });

    it('connections to MCP servers are checked before a turn uses them, and replaced if lost', async () => {
      const { server, calls, row } = await start([{ name: 'a' }]);
      const { signal } = new AbortController();
      await calls.mcp.verify(row, signal);
      await calls.mcp.verify(row, signal);
      expect(server.log.filter((method) => method === 'initialize' || method === 'ping')).to.deep.equal([
        'initialize',
        'ping',
      ]);
      await server.restart();
      await calls.mcp.verify(row, signal);
      expect(received(server, 'initialize')).to.equal(2);
      await server.kill();
      await failureOf(calls.mcp.verify(row, signal));
      expect(calls.mcp.size).to.equal(0);
    });

    it('connections to MCP servers all close at the end', async () => {
      const { server, calls, row } = await start([{ name: 'a' }, { name: 'hang', run: never }]);
      await calls.call(row, 'a');
      const hanging = calls.call(row, 'hang');
      await eventually('both calls arrive', () => server.calls.length === 2);
      await calls.close();
      expect(isOutcomeUnknown(await hanging)).to.equal(true);
      await eventually('every request has ended', () => server.openRequests() === 0);
    });
  });
});
