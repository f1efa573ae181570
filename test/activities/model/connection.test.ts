import Anthropic from '@anthropic-ai/sdk';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { brotliCompressSync, createGzip, deflateSync } from 'node:zlib';
import { expect } from 'chai';
import { Agent, getGlobalDispatcher, setGlobalDispatcher } from 'undici';
import { describeFailure, modelFailureOf } from '../../../activities/model/failures.js';
import { createSend } from '../../../activities/model/send.js';
import { streamAnswer } from '../../../activities/model/stream.js';
import { watchedFetch } from '../../../activities/model/watchdog.js';
import type { Storage } from '../../../src/files/storage.js';
import type { ModelAnswer } from '../../../src/models/content.js';
import { PendingRequest } from '../../../src/models/request.js';
import { MemoryShare } from '../../../src/platform/memory-share.js';
import { Redactor } from '../../../src/platform/redactor.js';
import { closeServer, listen } from '../../support/listen.js';

const TEXT = 'Hello é 😀';
const EVENT_STREAM = { 'content-type': 'text/event-stream' };
const frame = (type: string, fields: object): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;
const START =
  frame('message_start', { message: { id: 'm', type: 'message', role: 'assistant', content: [], usage: null } }) +
  frame('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }) +
  frame('content_block_delta', { index: 0, delta: { type: 'text_delta', text: TEXT } });
const END =
  frame('content_block_stop', { index: 0 }) +
  frame('message_delta', { delta: { stop_reason: 'end_turn' } }) +
  frame('message_stop', {});

const RESET = /ECONNRESET|UND_ERR_SOCKET/;
const REFUSED = 'The model refused the call (HTTP 400).';
const LOST = 'The connection to the model was lost.';

type Handler = (req: IncomingMessage, res: ServerResponse) => unknown;

describe('the connection to a model', () => {
  let server: Server;
  let own: { url: string };
  let handle: Handler;
  before(async () => {
    server = createServer((req, res) => handle(req, res));
    own = await listen(server);
  });
  after(() => closeServer(server));

  const redactor = new Redactor([]);
  const send = watchedFetch(createSend(undefined as unknown as Storage, new MemoryShare(1)));
  const apiAt = (baseURL: string): Anthropic =>
    new Anthropic({ apiKey: 'k', baseURL, maxRetries: 0, fetch: send, logLevel: 'off' });
  const call = async (
    onText: (text: string) => void = () => undefined,
    signal = new AbortController().signal,
    { url } = own,
  ): Promise<string> => {
    const usage = { input_tokens: 0, output_tokens: 0, cache_read_input_tokens: 0, cache_creation_input_tokens: 0 };
    const answer: ModelAnswer = { content: [], stopReason: null, usage, firstTokenMs: null };
    const observer = { started: () => undefined, thinking: () => undefined, text: onText };
    const request = new PendingRequest({ model: 'm', max_tokens: 9, messages: [{ role: 'user', content: TEXT }] }, 1);
    await streamAnswer({ api: apiAt(url), redactor }, request, answer, observer, signal, 30);
    const [block] = answer.content;
    return block?.type === 'text' ? block.text : '';
  };
  const failureOf = async (work: Promise<unknown>): Promise<object> => {
    const error: unknown = await work.then(
      () => null,
      (thrown: unknown) => thrown,
    );
    expect(error).to.be.instanceOf(Error);
    return { ...modelFailureOf(error, redactor), ...describeFailure(error) };
  };
  const bodyOf = async (req: IncomingMessage): Promise<string> => Buffer.concat(await req.toArray()).toString();

  it('the connection to a model shows the text of a compressed answer as it comes', async () => {
    let shown!: () => void;
    const first = new Promise<void>((resolve) => (shown = resolve));
    handle = (req, res) => {
      req.resume();
      res.writeHead(200, { ...EVENT_STREAM, 'content-encoding': 'gzip' });
      const gzip = createGzip();
      gzip.pipe(res);
      gzip.write(START);
      gzip.flush();
      void first.then(() => gzip.end(END));
    };
    expect(await call(() => shown())).to.equal(TEXT);
  });

  for (const [encoding, encode] of [
    ['br', brotliCompressSync],
    ['deflate', deflateSync],
  ] as const) {
    it(`the connection to a model reads an answer and an error with ${encoding}`, async () => {
      handle = (req, res) => {
        req.resume();
        res.writeHead(200, { ...EVENT_STREAM, 'content-encoding': encoding }).end(encode(START + END));
      };
      expect(await call()).to.equal(TEXT);
      handle = (req, res) => {
        req.resume();
        const error = { type: 'error', error: { type: 'overloaded_error', message: 'Busy.' } };
        res.writeHead(529, { 'content-encoding': encoding, 'retry-after': '7' }).end(encode(JSON.stringify(error)));
      };
      const failure = { type: 'model_overloaded', message: 'The model is overloaded. Busy.', retryAfterMs: 7000 };
      expect(await failureOf(call())).to.include(failure);
    });
  }

  it('the connection to a model follows a redirect, with the same body and key', async () => {
    let asked: object | undefined;
    handle = async (req, res) => {
      const body = await bodyOf(req);
      if (req.url === '/v1/messages') return res.writeHead(307, { location: '/elsewhere' }).end('moved');
      asked = { path: req.url, method: req.method, key: req.headers['x-api-key'] ?? req.headers.authorization, body };
      return res.writeHead(200, EVENT_STREAM).end(START + END);
    };
    expect(await call()).to.equal(TEXT);
    expect(asked).to.include({ path: '/elsewhere', method: 'POST', key: 'Bearer k' });
    expect(asked).to.have.property('body').that.contains(TEXT);
  });

  const lost: [how: string, reason: RegExp, message: string, handle: Handler][] = [
    ['is reset before the headers', RESET, 'Connection error.', (req) => req.socket.resetAndDestroy()],
    [
      'is reset inside an answer',
      RESET,
      LOST,
      (req, res) => res.writeHead(200, EVENT_STREAM).write(START, () => req.socket.resetAndDestroy()),
    ],
    [
      'ends before the end of an answer',
      /UND_ERR_SOCKET/,
      LOST,
      (req, res) =>
        res.writeHead(200, { ...EVENT_STREAM, 'content-length': '10000' }).write(START, () => req.socket.end()),
    ],
    [
      'brings bytes that cannot be decompressed',
      /Z_DATA_ERROR/,
      LOST,
      (_req, res) => res.writeHead(200, { ...EVENT_STREAM, 'content-encoding': 'gzip' }).end(START),
    ],
  ];
  for (const [how, reason, message, answer] of lost) {
    it(`the connection to a model that ${how} is a failure that is tried again`, async () => {
      handle = (req, res) => {
        req.resume();
        answer(req, res);
      };
      const failure = await failureOf(call());
      expect(failure).to.include({ type: 'model_error', message, retryable: true });
      expect(failure).to.have.property('reason').that.matches(reason);
    });
  }

  it('the connection to a model that is refused is a failure with its code', async () => {
    const closed = createServer();
    const address = await listen(closed);
    await new Promise((resolve) => closed.close(resolve));
    const failure = await failureOf(call(undefined, undefined, address));
    expect(failure).to.include({ type: 'model_error', message: 'Connection error.', reason: 'ECONNREFUSED' });
  });

  for (const moment of ['before the headers', 'inside the answer'] as const) {
    it(`the connection to a model ends with the reason of an abort ${moment}`, async () => {
      const controller = new AbortController();
      const reason = new Error('the turn was cancelled');
      const closed = new Promise<void>((resolve) => {
        handle = (_req, res) => {
          res.once('close', resolve);
          if (moment === 'before the headers') return controller.abort(reason);
          return res.writeHead(200, EVENT_STREAM).write(START);
        };
      });
      const outcome = await call(() => controller.abort(reason), controller.signal).catch((error: unknown) => error);
      expect(outcome).to.equal(reason);
      await closed;
    });
  }

  const delta = frame('content_block_delta', { index: 0, delta: { type: 'text_delta', text: 'x'.repeat(60_000) } });
  const blocks = Array.from({ length: 1001 }, (_, index) =>
    frame('content_block_start', { index, content_block: { type: 'text', text: '' } }),
  );
  const tooLong = { message: 'The model’s answer is too long.', retryable: true };
  for (const [title, status, start, part, failure] of [
    ['text', 200, START, delta, tooLong],
    ['events that say nothing', 200, START, ': still here\r\n\r\n'.repeat(4000), tooLong],
    ['one event', 200, `${START}data: `, 'x'.repeat(60_000), tooLong],
    ['blocks', 200, START, blocks.join(''), { message: 'The model’s answer has more than 1000 blocks.' }],
    ['an error', 400, '{', ' '.repeat(60_000), { message: `${REFUSED} ${tooLong.message}`, retryable: false }],
  ] as const) {
    it(`the connection to a model is closed when ${title} does not end`, async () => {
      let closed!: Promise<unknown>;
      handle = async (req, res) => {
        closed = new Promise((resolve) => res.on('close', resolve));
        req.resume();
        res.writeHead(status, EVENT_STREAM).write(start);
        for (; !res.destroyed;) if (!res.write(part)) await Promise.race([once(res, 'drain'), closed]);
      };
      expect(await failureOf(call())).to.include(failure);
      await closed;
    });
  }

  it('the connection to a model is used again after answers and errors', async () => {
    const sockets = new Set<unknown>();
    let calls = 0;
    handle = (req, res) => {
      req.resume();
      sockets.add(req.socket);
      calls += 1;
      if (calls % 2 === 0) return res.writeHead(400, { 'content-type': 'text/plain' }).end('no');
      return res.writeHead(200, EVENT_STREAM).end(START + END);
    };
    for (let n = 0; n < 10; n += 1) await call().catch(() => undefined);
    expect(calls).to.equal(10);
    // The next request may come before undici has its connection back.
    expect(sockets.size).to.be.lessThan(4);
  });

  it('the connection to a model goes through the dispatcher of the process, as fetch does', async () => {
    handle = (req, res) => {
      req.resume();
      res.writeHead(200, EVENT_STREAM).end(START + END);
    };
    const paths: string[] = [];
    const before = getGlobalDispatcher();
    const counting = new Agent().compose((dispatch) => (options, handler) => {
      paths.push(options.path);
      return dispatch(options, handler);
    });
    setGlobalDispatcher(counting);
    try {
      expect(await call()).to.equal(TEXT);
    } finally {
      setGlobalDispatcher(before);
    }
    expect(paths).to.deep.equal(['/v1/messages']);
    await counting.close();
  });

  it('the connection to a model carries headers that are not ASCII, and an error that is not JSON', async () => {
    handle = (req, res) => {
      req.resume();
      res.writeHead(400, { 'content-type': 'text/plain', 'x-note': 'caf\u00e9', 'request-id': 'req_1' }).end('no');
    };
    const failure = { status: 400, message: 'The model refused the call (HTTP 400). no.', model_request_id: 'req_1' };
    expect(await failureOf(call())).to.include(failure);
  });
});
