import Anthropic from '@anthropic-ai/sdk';
import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import { readFile } from 'node:fs/promises';
import { expect } from 'chai';
import fc from 'fast-check';
import { modelFailureOf } from '../../../activities/model/failures.js';
import { ModelEventReader, type ModelEvent } from '../../../activities/model/read-events.js';
import { createSend } from '../../../activities/model/send.js';
import { STREAM_WAITS, streamAnswer } from '../../../activities/model/stream.js';
import { watchedFetch } from '../../../activities/model/watchdog.js';
import { withUsableIds } from '../../../activities/prompt/tool-use-ids.js';
import type { Storage } from '../../../src/files/storage.js';
import type { ModelAnswer } from '../../../src/models/content.js';
import { PendingRequest } from '../../../src/models/request.js';
import { MemoryShare } from '../../../src/platform/memory-share.js';
import { Redactor } from '../../../src/platform/redactor.js';
import { NO_USAGE } from '../../../src/steps/model-call.js';
import { closeServer, listen } from '../../support/listen.js';
import { DIALECT_CASES } from './dialects/cases.js';
import { begin, end, hello, json, reason, startText, startTool, stop } from './dialects/frames.js';
import type { DialectCase } from './dialects/outcomes.js';

const WAITS = { idleSeconds: 60, content: 60_000, stop: 150, release: 50 };
const WAITS_IN_VAIN = { ...WAITS, idleSeconds: 1, content: 300 };
/** The second column of the table. */
const rows = (await readFile(new URL('../../../docs/models.md', import.meta.url), 'utf8'))
  .split('## Servers that differ from the Messages API')[1]!
  .split('\n## ')[0]!
  .split('\n')
  .filter((line) => line.startsWith('|'))
  .map((line) => line.split('|')[2]!.trim())
  .slice(2);

describe('what gateways send instead of the Messages API', () => {
  const redactor = new Redactor([]);
  const send = watchedFetch(createSend(undefined as unknown as Storage, new MemoryShare(1)));
  let server: Server;
  let api: Anthropic;
  let given: DialectCase;
  let closed: Promise<unknown>;
  before(async () => {
    server = createServer((req, res) => {
      req.resume();
      closed = once(res, 'close');
      res.writeHead(200, { 'content-type': 'text/event-stream' });
      respond(res, given);
    });
    const { url } = await listen(server);
    api = new Anthropic({ apiKey: 'k', baseURL: url, maxRetries: 0, fetch: send, logLevel: 'off' });
  });
  after(() => closeServer(server));

  const call = async (one: DialectCase, waits = one.isInVain === true ? WAITS_IN_VAIN : WAITS) => {
    given = one;
    const answer: ModelAnswer = { content: [], stopReason: null, usage: NO_USAGE, firstTokenMs: null };
    const seen = { text: '', thinking: '' };
    const observer = {
      started: () => undefined,
      text: (piece: string) => void (seen.text += piece),
      thinking: (piece: string) => void (seen.thinking += piece),
    };
    const request = new PendingRequest({ model: 'm', max_tokens: 9, messages: [{ role: 'user', content: 'Go' }] }, 1);
    const { signal } = new AbortController();
    const failure = await streamAnswer({ api, redactor }, request, answer, observer, signal, waits.idleSeconds, waits)
      .then(() => null)
      .catch((error: unknown) => modelFailureOf(error, redactor));
    return { answer, seen, failure };
  };

  it('what gateways send instead of the Messages API is tested row by row of the table in docs/models.md', () => {
    expect(rows).to.have.members(Object.keys(DIALECT_CASES));
  });

  for (const [sends, one] of Object.entries(DIALECT_CASES)) {
    it(sends, async () => {
      const { answer, seen, failure } = await call(one);
      const { becomes } = one;
      if (typeof becomes === 'object' && 'fails' in becomes) {
        expect(failure).to.include({ message: becomes.fails, type: becomes.type ?? 'model_error', retryable: true });
        return;
      }
      expect(failure).to.equal(null);
      const wanted = typeof becomes === 'string' ? { content: [{ type: 'text', text: becomes }] } : becomes;
      const content = withUsableIds(answer.content, new Set()).map((block) =>
        block.type === 'tool_use' ? { ...block, id: block.id.replace(/^toolu_[0-9A-Z]{26}$/, 'toolu_NEW') } : block,
      );
      expect(content).to.deep.equal(wanted.content);
      expect(answer.stopReason).to.equal(wanted.stop ?? 'end_turn');
      if (wanted.usage !== undefined) expect(answer.usage).to.include(wanted.usage);
      if (wanted.thinking !== undefined) expect(seen.thinking).to.equal(wanted.thinking);
      const texts = answer.content.map((block) => (block.type === 'text' ? block.text : ''));
      expect(seen.text, 'what was streamed is what is stored').to.equal(texts.join(''));
      // Nothing of the request is left, also when the server did not end its response.
      await closed;
    });
  }

  it('what gateways send instead of the Messages API does not keep a whole answer waiting for its connection', async () => {
    const never = { ...WAITS, stop: 2 ** 30 };
    const one: DialectCase = { ...DIALECT_CASES['`message_stop`, and the connection stays open']! };
    expect((await call(one, never)).failure).to.equal(null);
    await closed;
  });

  it('an error that is the last frame of its response counts as any other', async () => {
    const error = 'data: {"error":{"message":"Upstream gone","code":"502"}}';
    const whole = begin() + hello() + reason('end_turn');
    for (const body of [whole + error, `${whole + error}\n\n`]) {
      expect((await call({ body, becomes: '' })).failure).to.equal(null);
    }
    for (const body of [begin() + hello() + error, begin() + startText(0) + reason('end_turn') + error]) {
      expect((await call({ body, becomes: '' })).failure).to.include({ type: 'model_error' });
    }
  });

  it('an input of a tool that says something else than an object is a failed call', async () => {
    const inputs = ['7', 'true', '[{}]', '[null]', '"zone=UTC"', '"7"', '"[1]"', '12345678901234567890', '{"a":'];
    const nested = JSON.stringify(JSON.stringify('{"a":1}'));
    for (const input of [...inputs, nested, '"\\"\\""']) {
      const body = begin() + startTool(0) + json(0, input) + stop(0) + end('tool_use');
      const { failure } = await call({ body, becomes: '' });
      expect(failure, input).to.include({ message: 'The model’s answer has a tool call that is not JSON.' });
    }
  });

  it('an error inside an answer, in each of its forms, is a failure with its reason', async () => {
    const said = JSON.stringify({ message: 'Upstream gone', code: '502' });
    for (const error of [
      `event: error\ndata: {"type":"error","error":${said}}`,
      `event: data\ndata: {"error":${said}}`,
      'data: {"error":"Upstream gone"}',
      'data: {"object":"error","message":"Upstream gone","type":"InternalServerError","code":500}',
      'event: error\ndata: {"detail":"Upstream gone"}',
      'event: error\ndata: Upstream gone',
    ]) {
      const inside = await call({ body: `data: {"type":"message_start"}\n\n${error}\n\n`, becomes: '' });
      const message = 'The model refused the call (inside its answer). Upstream gone.';
      expect(inside.failure, error).to.deep.include({ type: 'model_error', message, retryable: true });
    }
  });

  it('what gateways send instead of the Messages API waits for half an hour for content, and 5 s for the end of a whole message', () => {
    expect(STREAM_WAITS).to.include({ content: 1_800_000, stop: 5000 });
  });

  it('what gateways send instead of the Messages API is read in the same way however its bytes are cut and its lines end', () => {
    const bodies = Object.values(DIALECT_CASES).map(({ body }) => body.replace('Hello', 'Hé😀lo'));
    fc.assert(
      fc.property(
        fc.constantFrom(...bodies),
        fc.constantFrom('\n', '\r\n', '\r'),
        fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1 }),
        (body, lineEnd, sizes) => {
          const bytes = Buffer.from(body.replaceAll(/\r?\n/g, lineEnd));
          expect(eventsOf(pieces(bytes, sizes))).to.deep.equal(eventsOf([Buffer.from(body)]));
        },
      ),
    );
  });
});

function respond(res: ServerResponse, { body, then }: DialectCase): void {
  if (then === undefined) return void res.end(body);
  res.write(body, () => {
    if (then === 'breaks') res.socket!.end();
    if (then !== 'pings' && typeof then === 'string') return;
    const frames = typeof then === 'string' ? 'event: ping\ndata: {"type":"ping"}\n\n' : then.repeats;
    const timer = setInterval(() => res.write(frames), 10);
    res.once('close', () => clearInterval(timer));
  });
}

/** The events of a body, or the message of its failure. */
function eventsOf(chunks: Buffer[]): ModelEvent[] | string {
  const reader = new ModelEventReader();
  try {
    return [...chunks.flatMap((chunk) => reader.push(chunk)), ...reader.end()];
  } catch (error) {
    return (error as Error).message;
  }
}

function pieces(bytes: Buffer, sizes: number[]): Buffer[] {
  const parts: Buffer[] = [];
  for (let at = 0, n = 0; at < bytes.length; n += 1) {
    const length = sizes[n % sizes.length]!;
    parts.push(bytes.subarray(at, at + length));
    at += length;
  }
  return parts;
}
