import type { ServerResponse } from 'node:http';
import { expect } from 'chai';
import type { McpServerRow } from '../../../../src/db/entities/mcp-servers.js';
import { isOutcomeUnknown, mcpCalls, textOf, type McpCalls } from '../../../support/mcp-calls.js';
import { startMcpServer, type McpServerOptions } from '../../../support/mcp-server.js';
import { resultJson, startRawServer, type Form } from '../../../support/raw-answers.js';
import { useClosers } from '../../../support/use.js';

const JSON_BODY = { 'content-type': 'application/json' };
const EVENTS = { 'content-type': 'text/event-stream' };
const OK = '{"content":[{"type":"text","text":"fine"}]}';
/** Not exact as a number of JavaScript. */
const LONG = '12345678901234567890';
const OTHER_MEMBERS = `"count":14,"results":[{"id":${LONG},"name":"invoice-k77"}]`;
const content = (...parts: unknown[]): string => JSON.stringify({ content: parts });
const textPart = (text: unknown): object => ({ type: 'text', text });
const kind = (name: string, shown: string): string => `[content of the kind ${name}]${shown}`;
const rpcError = (id: unknown, code: unknown, message: unknown): string =>
  JSON.stringify({ jsonrpc: '2.0', id, error: { code, message } });

/** Servers that do not keep to MCP, as they are in the wild. */
describe('MCP servers that deviate from the protocol', () => {
  const closers = useClosers();
  const start = async (options: McpServerOptions = {}) => {
    const server = await startMcpServer({ tools: [{ name: 'a', run: () => 'fine' }], ...options });
    const calls = mcpCalls({ hosts: [server.host] });
    closers.push(calls.close, server.close);
    return { server, calls, row: calls.row('s', server.url) };
  };
  /** What comes of a call that is answered instead of the server, and how often it was sent. */
  const callAnswered = async (answer: (id: number, res: ServerResponse) => unknown) => {
    const { server, calls, row } = await start();
    server.options.gateway = (_req, res, body) => {
      if (!body.includes('"tools/call"')) return false;
      answer((JSON.parse(body) as { id: number }).id, res);
      return true;
    };
    const result = await calls.call(row, 'a');
    return { result, text: textOf(result), sent: server.log.filter((method) => method === 'tools/call').length };
  };
  const callWith = (body: (id: number) => string, head: Record<string, string> = JSON_BODY, status = 200) =>
    callAnswered((id, res) => res.writeHead(status, head).end(body(id)));
  const answered = (text: string): string => `The MCP server s answered the call of a with an error: ${text}`;

  describe('errors with another HTTP status', () => {
    for (const [status, code] of [
      [400, -32602],
      [404, -32601],
      [500, -32603],
      [403, -32000],
      [422, 42],
      [503, -32000],
      [400, -32000],
      [400, -32001],
      [400, -32600],
      [404, -32000],
      [404, -32001],
      [404, -32600],
    ] as const) {
      it(`a JSON-RPC error with another HTTP status is the tool's answer (HTTP ${status}, ${code})`, async () => {
        const head = { 'content-type': 'application/json; charset=utf-8' };
        const { result, sent } = await callWith((id) => rpcError(id, code, 'q is required'), head, status);
        expect(result).to.deep.equal({
          content: [{ type: 'text', text: answered(`MCP error ${code}: q is required`) }],
          isError: true,
        });
        expect(sent).to.equal(1);
      });
    }

    const refuse = (id: number): string => rpcError(id, -32602, 'q is required');
    const refuseInStream = (id: number, res: ServerResponse): ServerResponse => {
      res.writeHead(400, EVENTS).write(`: first\n\nevent: message\ndata: ${refuse(id)}\n\n`);
      return res;
    };
    for (const [form, answer] of [
      ['as an event stream', (id, res) => refuseInStream(id, res).end()],
      ['as a stream that stays open', refuseInStream],
      ['without a type', (id, res) => res.writeHead(400).end(refuse(id))],
    ] as [string, (id: number, res: ServerResponse) => unknown][]) {
      it(`a JSON-RPC error with another HTTP status is the tool's answer ${form}, too`, async () => {
        expect((await callAnswered(answer)).text).to.equal(answered('MCP error -32602: q is required'));
      });
    }

    it('a JSON-RPC error with another HTTP status is the answer if it is about the new session, too', async () => {
      const { text, sent } = await callWith(
        (id) => rpcError(id, -32000, 'Your session of the CRM is over'),
        JSON_BODY,
        404,
      );
      expect(text).to.equal(answered('MCP error -32000: Your session of the CRM is over'));
      expect(sent).to.equal(2);
    });

    for (const [status, code, message] of [
      [404, -32001, 'Session not found'],
      [404, -32000, 'Unknown id'],
      [404, -32600, 'Session has been terminated'],
      [400, -32000, 'Bad Request: No valid session ID provided'],
    ] as const) {
      it(`a JSON-RPC error with another HTTP status opens a new session if it is about the session (HTTP ${status}, ${code})`, async () => {
        const { server, calls, row } = await start();
        await calls.call(row, 'a');
        let lost = '';
        server.options.gateway = (req, res, body) => {
          const session = String(req.headers['mcp-session-id']);
          if (body.includes('"tools/call"')) lost ||= session;
          if (session !== lost || req.method !== 'POST') return false;
          res.writeHead(status, JSON_BODY).end(rpcError((JSON.parse(body) as { id: number }).id, code, message));
          return true;
        };
        expect(textOf(await calls.call(row, 'a'))).to.equal('fine');
        expect(server.calls, 'the first call, and the one in the new session').to.have.length(2);
      });
    }

    for (const [what, body] of [
      ['another id', () => rpcError('server-error', -32602, 'a secret')],
      ['no JSON', () => '<html>'],
      ['an error that is too long', (id: number) => rpcError(id, -32602, 'x'.repeat(70_000))],
    ] as const) {
      it(`an answer with another HTTP status is no JSON-RPC error if it is ${what}`, async () => {
        const { text } = await callWith(body, JSON_BODY, 400);
        expect(text).to.include('it refused the request as malformed (HTTP 400). It was not carried out.');
      });
    }
  });

  for (const [what, error, shown] of [
    ['a code that is a text', { code: '400', message: 'no' }, 'MCP error -32603: no'],
    ['no message', { code: 7 }, 'MCP error 7: an error without a message'],
    ['a text alone', 'boom', 'MCP error -32603: boom'],
    ['a result that is null beside it', { code: 7, message: 'no' }, 'MCP error 7: no'],
  ] as const) {
    it(`MCP servers that deviate from the protocol are read when an error has ${what}`, async () => {
      const more = what.includes('result') && { result: null };
      const { text } = await callWith((id) => JSON.stringify({ jsonrpc: '2.0', id, error, ...more }));
      expect(text).to.equal(answered(shown));
    });
  }

  describe('results on their own stream', () => {
    /** Answers the POST of a call, then sends `frame` on the stream of the client's GET. */
    const onOwnStream = async (
      post: (res: ServerResponse) => void,
      answer: (id: number, own: ServerResponse) => void,
    ): Promise<{ calls: McpCalls; row: McpServerRow }> => {
      const { server, calls, row } = await start();
      let opened: (own: ServerResponse) => void;
      const own = new Promise<ServerResponse>((resolve) => (opened = resolve));
      server.options.gateway = (req, res, body) => {
        if (req.method === 'GET') {
          res.writeHead(200, EVENTS).flushHeaders();
          opened(res);
          return true;
        }
        if (!body.includes('"tools/call"')) return false;
        post(res);
        const { id } = JSON.parse(body) as { id: number };
        void own.then((stream) => answer(id, stream));
        return true;
      };
      return { calls, row };
    };
    const accepted = (res: ServerResponse): unknown => res.writeHead(202).end();

    for (const [what, post] of [
      ['202', accepted],
      ['202 with a type and no body', (res: ServerResponse) => res.writeHead(202, JSON_BODY).end()],
      ['an empty event stream', (res: ServerResponse) => res.writeHead(200, EVENTS).end()],
    ] as const) {
      it(`a result on the server’s own stream after ${what}: it is the result`, async () => {
        const large = 'x'.repeat(200_000);
        const { calls, row } = await onOwnStream(post, (id, own) =>
          own.write(`data: ${resultJson(id, JSON.stringify({ content: [{ type: 'text', text: large }] }))}\n\n`),
        );
        expect(await calls.call(row, 'a')).to.deep.equal({ content: [{ type: 'text', text: large }], isError: false });
      });

      it(`a result on the server’s own stream after ${what}: an error is the answer, too`, async () => {
        const { calls, row } = await onOwnStream(post, (id, own) => own.write(`data: ${rpcError(id, 7, 'no')}\n\n`));
        expect(textOf(await calls.call(row, 'a'))).to.equal(answered('MCP error 7: no'));
      });

      it(`a result on the server’s own stream after ${what}: without one the outcome is unknown`, async () => {
        const { calls, row } = await onOwnStream(post, (_, own) => own.end());
        const result = await calls.call(row, 'a');
        expect([result.isError, isOutcomeUnknown(result)]).to.deep.equal([true, true]);
      });
    }
  });

  for (const [what, headers, body] of [
    ['JSON as text/plain', { 'content-type': 'text/plain; charset=utf-8' }, (id) => resultJson(id, OK)],
    ['JSON without a type', {}, (id) => resultJson(id, OK)],
    ['a byte order mark before JSON', JSON_BODY, (id) => `\ufeff${resultJson(id, OK)}`],
    ['a type in capitals', { 'content-type': 'Application/JSON;charset=UTF-8' }, (id) => resultJson(id, OK)],
    ['its id as a text', JSON_BODY, (id) => resultJson(id, OK).replace(`${id}`, `"${id}"`)],
    ['no version of JSON-RPC', JSON_BODY, (id) => `{"id":${id},"result":${OK}}`],
    ['lines that end in CR LF, and a byte order mark', EVENTS, (id) => `\ufeff: hello\r\nid: 1\r\n${sse(id, '\r\n')}`],
    ['an event of another name', EVENTS, (id) => `event: response\n${sse(id)}`],
    ['a stream with a charset', { 'content-type': 'text/event-stream;charset=utf-8' }, sse],
    [
      'comments and an unknown event first',
      EVENTS,
      (id) => `: keep-alive\n\nevent: ping\ndata: {}\n\nretry: 10\n\n${sse(id)}`,
    ],
    ['a notification after the result', EVENTS, (id) => sse(id) + notified('message', { data: 1 })],
    [
      'progress that falls, and without a number',
      EVENTS,
      (id) => `${progress(5)}${progress(1)}${progress('x')}${sse(id)}`,
    ],
  ] as [string, Record<string, string>, (id: number) => string][]) {
    it(`MCP servers that deviate from the protocol are understood when they send ${what}`, async () => {
      const { result } = await callWith(body, headers);
      expect(result).to.deep.equal({ content: [{ type: 'text', text: 'fine' }], isError: false });
    });
  }

  const shownFor = async (json: string) => {
    const { text, result } = await callWith((id) => resultJson(id, json));
    return [text, result.isError];
  };
  for (const [what, result, shown] of [
    ['no content', '{}', '[The tool returned no content.]'],
    ['content that is a text', '{"content":"fine"}', 'fine'],
    ['content that is one part', '{"content":{"type":"text","text":"fine"}}', 'fine'],
    ['parts that are texts', content('fine'), 'fine'],
    ['a part without a type', content({ text: 'fine' }), 'fine'],
    ['a structured list', '{"structuredContent":[1,2]}', '[1,2]'],
    ['a structured text', '{"structuredContent":"T","content":[{"type":"text","text":"T"}]}', 'T'],
    ['a result that is null', 'null', '[The tool returned no content.]'],
    ['a result that is a text', '"fine"', 'fine'],
    ['a text that is a number', content({ type: 'text', text: 42.5 }), '42.5'],
    ['a text that is a long number', `{"content":[{"type":"text","text":${LONG}}]}`, LONG],
    ['a text that is an object', content({ type: 'text', text: { k: ['v'] } }), '{"k":["v"]}'],
    ['a text that is true', content({ type: 'text', text: true }), 'true'],
    ['a text that is a list beside another', content(textPart('Found:'), textPart(['a', 'b'])), 'Found:\n["a","b"]'],
    ['a text in another member', content({ type: 'text', content: 'owls' }), kind('text', '\n{"content":"owls"}')],
    ['a text without anything', content(textPart(null)), '[content of the kind text, without content]'],
    ['a list of numbers', content(1, [2]), '1\n[2]'],
    ['content that is an object', '{"content":{"rows":[1]}}', kind('unnamed', '\n{"rows":[1]}')],
    [
      'a resource whose text is an object',
      content({ type: 'resource', resource: { uri: 'file:///a.json', text: { k: 'v' } } }),
      '[resource file:///a.json]\n{"k":"v"}',
    ],
    [
      'a resource that is a text',
      content({ type: 'resource', resource: 'file:///a' }),
      kind('resource', '\n{"resource":"file:///a"}'),
    ],
    ['an unknown kind with a text', content({ type: 'output_text', text: 'owls' }), kind('output_text', '\nowls')],
    [
      'an unknown kind without a text',
      content({ type: 'json', json: { a: 1 }, annotations: null }),
      kind('json', '\n{"json":{"a":1}}'),
    ],
    [
      'an unknown kind that is large',
      content({ type: 'video', data: 'A'.repeat(20_000) }),
      kind('video', '\n[it of 20011 bytes left out: at most 16384 are shown to you]'),
    ],
    [
      'an image without data',
      content({ type: 'image', url: 'https://a.example/b.png' }),
      kind('image', '\n{"url":"https://a.example/b.png"}'),
    ],
    ['no content, but other members', `{${OTHER_MEMBERS},"next":null,"_meta":{"a":1}}`, `{${OTHER_MEMBERS}}`],
    ['empty content beside other members', '{"content":[],"total":0}', '{"total":0}'],
    ['a result that is a number', '7', '7'],
  ] as const) {
    it(`MCP servers that deviate from the protocol are understood when a result has ${what}`, async () => {
      expect(await shownFor(result)).to.deep.equal([shown, false]);
    });
  }

  it('MCP servers that deviate from the protocol are understood when an error result has no content', async () => {
    const shown = await shownFor('{"isError":true,"error":{"detail":"disk full"}}');
    expect(shown).to.deep.equal(['{"error":{"detail":"disk full"}}', true]);
  });

  for (const isError of ['"true"', '"True"', '1'] as const) {
    it(`MCP servers that deviate from the protocol are understood when isError is ${isError}`, async () => {
      const shown = await shownFor(`{"content":[{"type":"text","text":"no"}],"isError":${isError}}`);
      expect(shown).to.deep.equal(['no', true]);
    });
  }

  it('MCP servers that deviate from the protocol are refused at once when an answer is neither result nor error', async () => {
    const { text } = await callAnswered((id, res) => {
      res.writeHead(200, EVENTS).write(`data: {"jsonrpc":"2.0","id":${id}}\n\n`);
    });
    expect(text).to.include('it breaks the MCP protocol: its answer has neither a result nor an error');
  });

  describe('answers to initialize', () => {
    const serverInfo = { name: 'x', version: '1' };
    const SOUND = { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo };
    const probe = async (result: unknown, form: Form = 'json', wrap = (id: number) => answerOf(id, result)) => {
      const server = await startRawServer(form, (method, id) => (method === 'initialize' ? wrap(id) : undefined));
      const calls = mcpCalls({ hosts: [server.host] });
      closers.push(calls.close, server.close);
      return calls.probe(server.url, { seconds: 5 });
    };
    const answerOf = (id: number, result: unknown): string => resultJson(id, JSON.stringify(result));

    for (const [what, change] of [
      ['null capabilities', { capabilities: { tools: {}, logging: null, experimental: null, completions: null } }],
      ['a null in a capability', { capabilities: { tools: { listChanged: null } } }],
      ['a null far down', { capabilities: { tools: {}, tasks: { list: null, requests: { tools: { call: null } } } } }],
      ['capabilities of another form', { capabilities: { tools: true, logging: 'yes', prompts: false } }],
      ['empty lists for empty objects', { capabilities: { tools: [], logging: [] } }],
      ['null instructions', { instructions: null }],
      ['nulls in serverInfo', { serverInfo: { ...serverInfo, title: null, icons: null, websiteUrl: null } }],
      ['no version of the server', { serverInfo: { name: 'x' } }],
      ['null as _meta', { _meta: null, instructions: null }],
      ['a _meta that is a text', { _meta: 'x' }],
    ] as const) {
      it(`answers to initialize are read when they have ${what}`, async () => {
        const { tools, serverName } = await probe({ ...SOUND, ...change });
        expect([tools.map(({ name }) => name), serverName]).to.deep.equal([['a'], 'x']);
      });
    }

    for (const tools of [undefined, null, false]) {
      it(`answers to initialize offer no tools when the capability is ${tools}`, async () => {
        expect((await probe({ ...SOUND, capabilities: { tools } })).tools).to.deep.equal([]);
      });
    }

    for (const [what, result] of [
      ['no version of the protocol', { ...SOUND, protocolVersion: null }],
      ['a number as version', { ...SOUND, protocolVersion: 20250618 }],
      ['no object', ['x']],
      ['null', null],
    ] as const) {
      for (const form of ['json', 'stream'] as const) {
        it(`answers to initialize are refused at once when they have ${what} (${form})`, async () => {
          const failure = await probe(result, form).catch(String);
          expect(failure).to.include('its answer is not the MCP protocol, or of a version that is not supported');
        });
      }
    }

    it('answers to initialize are refused at once when they have an unknown version', async () => {
      const failure = await probe({ ...SOUND, protocolVersion: '2031-01-01' }).catch(String);
      expect(failure).to.include('it speaks only versions of MCP that this service does not speak');
    });

    for (const [what, error] of [
      ['code 0 and no message', { code: 0, message: '' }],
      ['null', null],
      ['an empty text', ''],
      ['an empty list', []],
    ] as const) {
      it(`answers to initialize are read when the error beside the result is ${what}`, async () => {
        const wrap = (id: number): string => JSON.stringify({ id, result: SOUND, error });
        expect((await probe(SOUND, 'json', wrap)).serverName).to.equal('x');
      });
    }
  });

  it('MCP servers that deviate from the protocol have no tools when their list is null', async () => {
    const server = await startRawServer('json', (method, id) =>
      method === 'tools/list' ? resultJson(id, '{"tools":null,"nextCursor":null,"_meta":null}') : undefined,
    );
    const calls = mcpCalls({ hosts: [server.host] });
    closers.push(calls.close, server.close);
    expect((await calls.probe(server.url)).tools).to.deep.equal([]);
  });

  for (const params of ['null', '{"_meta":null}', '{"_meta":{"progressToken":null}}', '[]', '{"_meta":7}']) {
    it(`MCP servers that deviate from the protocol get an answer to a ping with the parameters ${params}`, async () => {
      const { server, calls, row } = await start();
      const answered = new Promise<unknown>((resolve) => {
        server.options.gateway = (_req, res, body) => {
          const { id, method } = JSON.parse(body || '{}') as { id?: unknown; method?: string };
          if (method === undefined && id === 'q1') resolve(res.writeHead(202).end());
          if (method !== 'tools/call') return method === undefined && id === 'q1';
          res.writeHead(200, EVENTS).write(`data: {"jsonrpc":"2.0","id":"q1","method":"ping","params":${params}}\n\n`);
          void answered.then(() => res.end(`data: ${resultJson(id as number, OK)}\n\n`));
          return true;
        };
      });
      expect(textOf(await calls.call(row, 'a'))).to.equal('fine');
    });
  }

  for (const status of [400, 404, 405, 501, 500] as const) {
    it(`MCP servers that deviate from the protocol are called when they refuse GET with ${status}`, async () => {
      const { server, calls, row } = await start();
      server.options.gateway = (req, res) => {
        if (req.method !== 'GET') return false;
        res.writeHead(status, JSON_BODY).end(rpcError(null, -32000, 'Method not allowed.'));
        return true;
      };
      expect(textOf(await calls.call(row, 'a'))).to.equal('fine');
    });
  }

  it('MCP servers that deviate from the protocol keep their connection when they do not know ping', async () => {
    const { server, calls, row } = await start();
    server.options.gateway = (_req, res, body) => {
      if (!body.includes('"ping"')) return false;
      res.writeHead(200, JSON_BODY).end(rpcError((JSON.parse(body) as { id: number }).id, -32601, 'Method not found'));
      return true;
    };
    const { signal } = new AbortController();
    await calls.mcp.verify(row, signal);
    await calls.mcp.verify(row, signal);
    expect(server.log.filter((method) => method === 'initialize')).to.have.length(1);
  });
});

function sse(id: number, lineEnd = '\n'): string {
  return `data: ${resultJson(id, OK)}${lineEnd}${lineEnd}`;
}

function notified(name: string, params: object): string {
  return `data: ${JSON.stringify({ jsonrpc: '2.0', method: `notifications/${name}`, params })}\n\n`;
}

function progress(value: unknown): string {
  return notified('progress', { progressToken: 0, progress: value });
}
