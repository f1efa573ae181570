import Anthropic from '@anthropic-ai/sdk';
import { expect } from 'chai';
import { AsyncLocalStorage } from 'node:async_hooks';
import { setTimeout } from 'node:timers/promises';
import { ModelIdleTimeoutError } from '../../../activities/model/failures.js';
import { streamAnswer } from '../../../activities/model/stream.js';
import { watchedFetch } from '../../../activities/model/watchdog.js';
import { createSend } from '../../../activities/model/send.js';
import type { Storage } from '../../../src/files/storage.js';
import { MemoryShare } from '../../../src/platform/memory-share.js';
import { PendingRequest } from '../../../src/models/request.js';
import { Redactor } from '../../../src/platform/redactor.js';
import { message, raw, silence, startScriptedModel, text, toolUse, wait } from '../../support/scripted-model.js';
import type { ScriptedModel } from '../../support/scripted-model.js';
import type { ModelAnswer } from '../../../src/models/content.js';

const send = createSend(undefined as unknown as Storage, new MemoryShare(1));
const IDLE_SECONDS = 1;
const KEY = 'sk-scripted-0123456789abcdef';

describe('the stream of an answer', () => {
  let model: ScriptedModel;
  before(async () => (model = await startScriptedModel()));
  after(() => model.close());

  const call = async (
    onText: () => void = () => undefined,
  ): Promise<{ answer: ModelAnswer; streamed: string; started: number }> => {
    const usage = { input_tokens: 0, output_tokens: 0, cache_read_input_tokens: 0, cache_creation_input_tokens: 0 };
    const answer: ModelAnswer = { content: [], stopReason: null, usage, firstTokenMs: null };
    const api = new Anthropic({ apiKey: 'k', baseURL: model.url, maxRetries: 0, fetch: watchedFetch(send) });
    let streamed = '';
    let started = 0;
    const observer = {
      started: () => void (started += 1),
      text: (piece: string) => {
        streamed += piece;
        onText();
      },
      thinking: () => undefined,
    };
    const params = { model: 'm', max_tokens: 100, messages: [{ role: 'user' as const, content: 'Go' }] };
    const signal = new AbortController().signal;
    const request = new PendingRequest(params, 42);
    await streamAnswer({ api, redactor: new Redactor([KEY]) }, request, answer, observer, signal, IDLE_SECONDS);
    return { answer, streamed, started };
  };
  const failureOf = (work: Promise<unknown>): Promise<unknown> =>
    work.then(
      () => 'none',
      (error: unknown) => error,
    );

  it('the stream of an answer reaches its observer in the async context of its call, also on a connection that another one opened', async () => {
    const calls = new AsyncLocalStorage<string>();
    const seen: (string | undefined)[] = [];
    for (const name of ['first', 'second']) {
      model.reply([text('One'), wait(20), text('two')]);
      await calls.run(name, () => call(() => seen.push(calls.getStore())));
      await setTimeout(100);
    }
    expect(seen).to.deep.equal(['first', 'first', 'second', 'second']);
  });

  it('the stream of an answer restarts the idle timeout with every byte', async () => {
    const pings = Array.from({ length: 12 }, () => [wait(100), raw(': still here\n\n')]).flat();
    model.reply([text('Slow '), ...pings, text('but sure.')]);
    expect((await call()).streamed).to.equal('Slow but sure.');
  });

  it('the stream of an answer is aborted when no byte arrives', async () => {
    model.reply([text('Then '), silence()]);
    const began = performance.now();
    expect(await failureOf(call())).to.be.instanceOf(ModelIdleTimeoutError);
    expect(performance.now() - began).to.be.within(950, 5000);
    await model.requests.at(-1)!.aborted;
  });

  it('the stream of an answer says when it starts, and has the usage at its end', async () => {
    model.reply(message(text('Yes.'), { usage: { input_tokens: 5, cache_read_input_tokens: 7, output_tokens: 3 } }));
    const { answer, started } = await call();
    expect(started).to.equal(1);
    expect(answer.usage).to.include({ input_tokens: 5, cache_read_input_tokens: 7, output_tokens: 3 });
  });

  it('the stream of an answer has an estimated usage if the server reports none', async () => {
    const frames = [
      { type: 'message_start', message: { id: 'm', type: 'message', role: 'assistant', content: [], usage: null } },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Free.' } },
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason: 'end_turn' } },
      { type: 'message_stop' },
    ];
    const body = frames.map((frame) => `event: ${frame.type}\ndata: ${JSON.stringify(frame)}\n\n`).join('');
    model.reply({ kind: 'http', status: 200, headers: { 'content-type': 'text/event-stream' }, body });
    const { answer } = await call();
    expect(answer).to.deep.include({ content: [{ type: 'text', text: 'Free.' }], stopReason: 'end_turn' });
    expect(answer.usage).to.include({ input_tokens: 42, output_tokens: 2, estimated: true });
  });

  it('the stream of an answer keeps a character that is split between two deltas', async () => {
    model.reply(text(['Well done \ud83d', '\ude00!']));
    const { answer, streamed } = await call();
    expect(answer.content).to.deep.equal([{ type: 'text', text: 'Well done 😀!' }]);
    expect(streamed).to.equal('Well done 😀!');
  });

  it('the stream of an answer redacts a key however it is split, and holds no other text back for long', async () => {
    const cuts = [[KEY], [...KEY], ['sk-', KEY.slice(3)], [KEY.slice(0, 12), KEY.slice(12)]];
    for (const pieces of cuts) {
      model.reply(text(['It is ', ...pieces, ', not sk-scripted or s', 'k-']));
      const { answer, streamed } = await call();
      expect(streamed).to.equal('It is [credential], not sk-scripted or sk-');
      expect(answer.content).to.deep.equal([{ type: 'text', text: streamed }]);
    }
    model.reply([text(`It is ${KEY.slice(0, 12)}`), text(`${KEY.slice(12)}.`)]);
    const { answer, streamed } = await call();
    expect(streamed, 'in two blocks').to.equal('It is [credential].');
    expect(answer.content).to.deep.equal([{ type: 'text', text: streamed }]);
  });

  it('the stream of an answer drops tool uses of an answer that was cut short', async () => {
    for (const stopReason of ['max_tokens', 'refusal', 'model_context_window_exceeded'] as const) {
      model.reply(message([text('Now '), toolUse('buy', {})], { stopReason }));
      expect((await call()).answer.content).to.deep.equal([{ type: 'text', text: 'Now ' }]);
    }
  });
});
