/** The share of a session's input that the prompt cache serves, turn by turn: `npx tsx bench/cache-share.ts`. */
import { thinking, toolUse } from '../test/support/scripted-model.js';
import { row, withTurnService } from './support/in-process.js';

const TURNS = 20;

await withTurnService({ model: { thinking: 'adaptive' } }, async (service) => {
  const { model } = service;
  model.script(({ step }) => (step === 0 ? [thinking('.'), toolUse('list_files')] : 'An answer. '.repeat(20)));
  const sessionId = await service.session({ instruction: 'Rules of the house. '.repeat(50) });
  const sum = { input: 0, read: 0, written: 0 };
  for (let turn = 1; turn <= TURNS; turn += 1) {
    await service.send(sessionId, `Question ${turn}. ${'About this and that. '.repeat(20)}`);
    const { usage, usage_details: details } = await service.ended(sessionId);
    sum.input += usage.input_tokens;
    sum.read += details.cache_read_input_tokens;
    sum.written += details.cache_creation_input_tokens;
    const share = details.cache_read_input_tokens / usage.input_tokens;
    row(`turn ${turn}`, `${usage.input_tokens} tokens, ${(share * 100).toFixed(1)} % from the cache`);
  }
  row('session', `${((sum.read / sum.input) * 100).toFixed(1)} % from the cache`, '≥ 90 %');
  row('written to the cache', `${sum.written} of ${sum.input} tokens`);
  row('refused requests', String(model.refused.length), '0');
});
