import { expect } from 'chai';
import type { ModelEvent } from '../../../activities/model/read-events.js';
import { UsageMeter } from '../../../activities/model/usage-meter.js';
import type { CallUsage } from '../../../src/models/content.js';

const COUNTED = 700;

/** Events as servers send them: their fields may lack or be of any type. */
const start = (usage?: unknown) => ({ type: 'message_start', message: { usage } });
const block = (content_block: object) => ({ type: 'content_block_start', index: 0, content_block });
const delta = (one: object) => ({ type: 'content_block_delta', index: 0, delta: one });
const text = (content: string) => delta({ type: 'text_delta', text: content });
const end = (usage?: unknown) => ({ type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage });

function usageOf(...events: object[]): CallUsage {
  const meter = new UsageMeter(COUNTED);
  for (const event of events) meter.add(event as ModelEvent);
  return meter.usage;
}

const counts = (input_tokens: number, output_tokens: number) => ({
  ...{ input_tokens, output_tokens, cache_read_input_tokens: 0, cache_creation_input_tokens: 0 },
});
const REPORTED = { input_tokens: 5, output_tokens: 1, cache_read_input_tokens: 7 };

describe('the usage of a model call', () => {
  it('the usage of a model call is what the server reported, however much was streamed', () => {
    const usage = usageOf(start(REPORTED), text('x'.repeat(3500)), end({ output_tokens: 9 }));
    expect(usage).to.deep.equal({ ...REPORTED, cache_creation_input_tokens: 0, output_tokens: 9 });
  });

  it('the usage of a model call is estimated where a complete answer lacks it', () => {
    const estimated = { ...counts(COUNTED, 100), estimated: true };
    for (const none of [undefined, null, {}, counts(0, 0)]) {
      expect(usageOf(start(none), text('x'.repeat(350)), end(none))).to.deep.equal(estimated);
    }
    expect(usageOf(start(counts(5, 1)), text('x'.repeat(350)), end())).to.deep.equal({
      ...{ ...counts(5, 100), estimated: true },
    });
    expect(usageOf(start(), text('x'.repeat(350)), end({ output_tokens: 3 }))).to.deep.equal({
      ...{ ...counts(COUNTED, 3), estimated: true },
    });
  });

  it('the usage of a model call does not believe a count that cannot be one', () => {
    for (const wrong of [-1, 0.5, 1_000_000_001, 2 ** 60, Number.POSITIVE_INFINITY, '7', true, [7]]) {
      const usage = usageOf(start({ input_tokens: wrong }), text('x'.repeat(35)), end({ output_tokens: wrong }));
      expect(usage, String(wrong)).to.deep.equal({ ...counts(COUNTED, 10), estimated: true });
    }
    expect(usageOf(start(counts(1_000_000_000, 0)), text('x'), end({ output_tokens: 1_000_000_000 }))).to.deep.equal(
      counts(1_000_000_000, 1_000_000_000),
    );
  });

  it('the usage of a model call keeps the input of the start if the end says zero, and takes a later report of it', () => {
    expect(usageOf(start(REPORTED), text('x'), end(counts(0, 3)))).to.include({ ...REPORTED, output_tokens: 3 });
    expect(usageOf(start(counts(0, 0)), text('x'), end(counts(8, 3)))).to.deep.equal(counts(8, 3));
    expect(usageOf(start(counts(0, 0)), text('x'), end(), end(counts(8, 3)))).to.deep.equal(counts(8, 3));
  });

  it('the usage of a model call of a cut-off answer counts its bytes: text, inputs of tools, thinking', () => {
    expect(usageOf(start(counts(5, 1)), text('長'.repeat(70)))).to.deep.equal({ ...counts(5, 60), estimated: true });
    const inputs = [
      block({ type: 'tool_use', id: 'toolu_1', name: 'x'.repeat(7), input: {} }),
      delta({ type: 'input_json_delta', partial_json: 'x'.repeat(28) }),
    ];
    expect(usageOf(start(counts(5, 1)), ...inputs).output_tokens).to.equal(10);
    const whole = block({ type: 'tool_use', id: 'toolu_1', name: 'x', input: { a: 'x'.repeat(26) } });
    expect(usageOf(start(counts(5, 1)), whole).output_tokens).to.equal(10);
  });

  it('the usage of a model call of a cut-off answer counts hidden thinking by its signature, which holds all of it', () => {
    const thinking = (shown: number, signed: number) => [
      block({ type: 'thinking', thinking: '', signature: '' }),
      delta({ type: 'thinking_delta', thinking: 'x'.repeat(shown) }),
      delta({ type: 'signature_delta', signature: 'A'.repeat(signed) }),
    ];
    const output = (...events: object[]): number => usageOf(start(counts(5, 1)), ...events).output_tokens;
    expect(output(...thinking(350, 40))).to.equal(100);
    expect(output(...thinking(35, 4 * 350))).to.equal(300);
    expect(output(...thinking(35, 4 * 350), ...thinking(350, 40), text('x'.repeat(35)))).to.equal(410);
    expect(output(block({ type: 'redacted_thinking', data: 'A'.repeat(4 * 35) }))).to.equal(30);
  });

  it('the usage of a model call of a call that brought nothing is what the server reported', () => {
    expect(usageOf(start())).to.deep.equal(counts(0, 0));
    expect(usageOf(start(counts(5, 1)))).to.deep.equal(counts(5, 1));
    expect(usageOf(start(), end())).to.deep.equal({ ...counts(COUNTED, 0), estimated: true });
  });

  it('the usage of a model call is there for events of any shape', () => {
    const odd = [{ type: 'message_start' }, { type: 'content_block_start' }, { type: 'content_block_delta' }];
    expect(usageOf(...odd, { type: 'message_delta' }, { type: 'ping' })).to.deep.equal(counts(0, 0));
  });
});
