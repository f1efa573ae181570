import Anthropic from '@anthropic-ai/sdk';
import { expect } from 'chai';
import fc from 'fast-check';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { modelFailureOf } from '../../../activities/model/failures.js';
import { streamAnswer } from '../../../activities/model/stream.js';
import { createSend } from '../../../activities/model/send.js';
import { watchedFetch } from '../../../activities/model/watchdog.js';
import type { Storage } from '../../../src/files/storage.js';
import { MemoryShare } from '../../../src/platform/memory-share.js';
import type { ModelAnswer } from '../../../src/models/content.js';
import { PendingRequest } from '../../../src/models/request.js';
import { Redactor } from '../../../src/platform/redactor.js';
import { hostileJson, repeated, reportFailure } from '../../support/hostile-json.js';
import { WorkCounter } from '../../support/work.js';

/** Other and more answers by hand: FUZZ_SEED=7 FUZZ_RUNS=1000 npx mocha test/activities/model/fuzz.long.test.ts */
const SEED = Number(process.env.FUZZ_SEED ?? 26);
const RUNS = Number(process.env.FUZZ_RUNS ?? 60);
const BLOCKS_PER_BYTE = 60;
const BLOCKS_PER_ANSWER = 2_000_000;
const IDLE_SECONDS = 30;

const json = hostileJson({
  items: 20_000,
  depth: 10_000,
  length: 200_000,
  keys: ['type', 'index', 'message', 'delta', 'usage', 'content_block', 'input', 'partial_json', 'text', 'stop_reason'],
});
const index = fc.constantFrom(
  '0',
  '0',
  '1',
  '-1',
  '1.5',
  '1e9',
  '4294967294',
  '1e308',
  '"length"',
  '"__proto__"',
  'null',
);
const block = fc.oneof(
  fc.constantFrom(
    '{"type":"text","text":""}',
    '{"type":"thinking","thinking":"","signature":""}',
    '{"type":"tool_use","id":"a","name":"b","input":{}}',
    'null',
  ),
  json,
  json.map((value) => `{"type":"tool_use","id":"a","name":"b","input":${value}}`),
);
const delta = fc.oneof(
  json.map((value) => `{"type":"text_delta","text":${value}}`),
  json.map((value) => `{"type":"input_json_delta","partial_json":${JSON.stringify(value)}}`),
  json,
);
const frame = fc.oneof(
  json.map((value) => event('message_start', `"message":${value}`)),
  fc.tuple(index, block).map(([at, value]) => event('content_block_start', `"index":${at},"content_block":${value}`)),
  fc.tuple(index, delta).map(([at, value]) => event('content_block_delta', `"index":${at},"delta":${value}`)),
  index.map((at) => event('content_block_stop', `"index":${at}`)),
  json.map((value) => event('message_delta', `"delta":${value},"usage":${value}`)),
  json.map((value) => `event: message_delta\ndata: ${value}\n\n`),
  json.map((value) => `data: ${value}\n\n`),
  json.map((value) => `event: error\ndata: ${value}\n\n`),
  json.map((value) => `{"type":"message","content":[${value}],"stop_reason":"end_turn"}`),
  json.map((value) => `{"error":${value},"detail":${value}}`),
  repeated(
    ['\n', ': ping\n\n', 'data: {}\n\n', 'event: ping\n', 'data: ', 'é', 'event: ping\ndata: {}\n\n', '\r'],
    20_000,
  ).map((lines) => lines.join('')),
);
const END =
  event('message_delta', '"delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":1}') + event('message_stop', '');

function event(type: string, fields: string): string {
  return `event: ${type}\ndata: {"type":"${type}"${fields && `,${fields}`}}\n\n`;
}

describe('whatever a model answers', function () {
  this.timeout(600_000);
  const work = new WorkCounter();
  let server: Server;
  let api: Anthropic;
  let body = '';
  before(async () => {
    server = createServer((request, response) => {
      request.resume();
      response.writeHead(200, { 'content-type': 'text/event-stream' }).end(body);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const send = watchedFetch(createSend(undefined as unknown as Storage, new MemoryShare(1)));
    const baseURL = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    api = new Anthropic({ apiKey: 'k', baseURL, maxRetries: 0, fetch: send, logLevel: 'off' });
    work.start();
  });
  after(() => {
    work.stop();
    server.close();
    server.closeAllConnections();
  });

  /** Null when the answer was complete. */
  const failureOf = async (answer: ModelAnswer): Promise<unknown> => {
    const redactor = new Redactor(['sk-0123456789']);
    const observer = { started: () => undefined, text: () => undefined, thinking: () => undefined };
    const request = new PendingRequest({ model: 'm', max_tokens: 9, messages: [{ role: 'user', content: 'Go' }] }, 1);
    return streamAnswer({ api, redactor }, request, answer, observer, new AbortController().signal, IDLE_SECONDS).then(
      () => null,
      (error: unknown) => modelFailureOf(error, redactor),
    );
  };

  it('whatever a model answers is an answer or a failure of the model, and costs no more than its bytes allow', async () => {
    const property = fc.asyncProperty(fc.array(frame, { maxLength: 12 }), fc.boolean(), async (frames, isComplete) => {
      body = frames.join('') + (isComplete ? END : '');
      const usage = { input_tokens: 0, output_tokens: 0, cache_read_input_tokens: 0, cache_creation_input_tokens: 0 };
      const answer: ModelAnswer = { content: [], stopReason: null, usage, firstTokenMs: null };
      work.take();
      const failure = await failureOf(answer);
      expect(work.take(), 'blocks').to.be.lessThan(BLOCKS_PER_ANSWER + BLOCKS_PER_BYTE * Buffer.byteLength(body));
      if (failure !== null)
        expect(failure)
          .to.have.property('type')
          .that.matches(/^(model_|context_)/);
      expect(JSON.stringify(answer.content).length).to.be.lessThan(1000 + 6 * body.length);
    });
    const farAway = event('content_block_start', '"index":4294967294,"content_block":{"type":"text","text":"x"}');
    await fc.assert(property, {
      examples: [[[farAway], true]],
      seed: SEED,
      numRuns: RUNS,
      endOnFailure: true,
      reporter: reportFailure,
    });
  });
});
