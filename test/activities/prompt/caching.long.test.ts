import { expect } from 'chai';
import { thinking, toolUse } from '../../support/scripted-model.js';
import { useTurnService } from '../../support/use.js';

const TURNS = 20;

/** A long session pays for its prefix once. The scripted model caches by the API's rules. */
describe('the prompt cache', () => {
  const service = useTurnService({ model: { thinking: 'adaptive' } });

  it('the prompt cache serves most of a session of twenty turns', async () => {
    const { model } = service;
    model.script(({ step }) => (step === 0 ? [thinking('.'), toolUse('list_files')] : 'An answer. '.repeat(20)));
    const sessionId = await service.session({ instruction: 'Rules of the house. '.repeat(50) });
    const spent = { input: 0, read: 0, written: 0 };
    for (let turn = 1; turn <= TURNS; turn += 1) {
      await service.send(sessionId, `Question ${turn}. ${'About this and that. '.repeat(20)}`);
      const { usage, usage_details } = await service.ended(sessionId);
      spent.input += usage.input_tokens;
      spent.read += usage_details.cache_read_input_tokens;
      spent.written += usage_details.cache_creation_input_tokens;
      // But for the very first call, each finds what the one before it has written.
      if (turn > 1) expect(usage_details.cache_read_input_tokens, `turn ${turn}`).to.be.above(usage.input_tokens * 0.8);
    }
    expect(model.refused).to.deep.equal([]);
    expect(spent.read / spent.input).to.be.above(0.9);
    // Everything is written once: what was written is about the last prompt.
    expect(spent.written).to.be.below(1.1 * lengthOf(model.requests.at(-1)!.body));
  });
});

/** Tokens as the scripted model counts them, about. */
function lengthOf(body: { messages: unknown; system?: unknown; tools?: unknown }): number {
  return JSON.stringify([body.tools, body.system, body.messages]).length / 4;
}
