import { thinking, toolUse } from '../../test/support/scripted-model.js';
import { median } from '../measure.js';
import { scenario } from '../scenario.js';
import { row } from '../table.js';

const WARM_UP = 5;

export default scenario({
  measures:
    'a session of many turns with tools: how often it is compacted (never on a window of 1000000), and the wait for the first request of its last turns',
  options: { turns: 200, window: 16_000 },
  async run(bench, { turns, window }) {
    const service = await bench.service({
      model: { context_window: window, max_output_tokens: 1000, thinking: 'adaptive' },
      scripted: { contextWindow: window },
    });
    const { model } = service;
    model.script(({ step, userText }) =>
      step === 0
        ? [thinking('I write it down.'), toolUse('deliver_file', { filename: 'note.txt', content: userText })]
        : `Noted. ${'And so on. '.repeat(60)}`,
    );
    model.on(/<transcript>/, 'The user has many messages noted in files. '.repeat(20));
    const warm = await service.session({});
    for (let turn = 0; turn < WARM_UP; turn += 1) {
      await service.send(warm, 'Warm up.');
      await service.ended(warm, 120_000);
    }
    const sessionId = await service.session({});
    const waits: number[] = [];
    for (let turn = 1; turn <= turns; turn += 1) {
      const before = model.requests.length;
      const posted = performance.now();
      await service.send(sessionId, `Message ${turn}. ${'It says this and that. '.repeat(40)}`);
      waits.push((await model.request(before)).receivedAt - posted);
      const end = await service.ended(sessionId, 120_000);
      if (end.type !== 'turn.completed') throw new Error(JSON.stringify(end));
    }
    const history = await service.history(sessionId);
    const count = (wanted: string): string => String(history.filter(({ type }) => type === wanted).length);
    const few = Math.min(10, Math.ceil(turns / 2));
    const [early, late] = [median(waits.slice(0, few)), median(waits.slice(-few))];
    row('turns', String(turns));
    row('compactions', count('agent.context_compacted'));
    row('messages in the history', count('user.message'), `${turns}`);
    row('requests', `${model.requests.length}, refused ${model.refused.length}`, 'refused 0');
    row(`POST to first request, turns 1 to ${few} (median)`, `${early.toFixed(1)} ms`);
    const ratio = `${(late / early).toFixed(2)} ×`;
    row(`the same, last ${few} turns (median)`, `${late.toFixed(1)} ms = ${ratio}`, '≤ 1.5 ×');
  },
});
