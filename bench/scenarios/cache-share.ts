import { thinking, toolUse } from '../../test/support/scripted-model.js';
import { scenario } from '../scenario.js';
import { row } from '../table.js';

const percent = (share: number): string => `${(share * 100).toFixed(1)} %`;

export default scenario({
  measures: "the share of a session's input that the prompt cache serves, turn by turn",
  options: { turns: 20 },
  async run(bench, { turns }) {
    const service = await bench.service({ model: { thinking: 'adaptive' } });
    const { model } = service;
    model.script(({ step }) => (step === 0 ? [thinking('.'), toolUse('list_files')] : 'An answer. '.repeat(20)));
    const sessionId = await service.session({ instruction: 'Rules of the house. '.repeat(50) });
    const sum = { input: 0, read: 0, written: 0 };
    for (let turn = 1; turn <= turns; turn += 1) {
      await service.send(sessionId, `Question ${turn}. ${'About this and that. '.repeat(20)}`);
      const { usage, usage_details: details } = await service.ended(sessionId);
      sum.input += usage.input_tokens;
      sum.read += details.cache_read_input_tokens;
      sum.written += details.cache_creation_input_tokens;
      const share = percent(details.cache_read_input_tokens / usage.input_tokens);
      row(`turn ${turn}`, `${usage.input_tokens} tokens, ${share} from the cache`);
    }
    row('session', `${percent(sum.read / sum.input)} from the cache`, '≥ 90 %');
    row('written to the cache', `${sum.written} of ${sum.input} tokens`);
    row('refused requests', String(model.refused.length), '0');
  },
});
