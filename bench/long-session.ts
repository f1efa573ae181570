/**
 * A session of 200 turns with tools: `npx tsx bench/long-session.ts [turns] [context window]`. Prints how often it was
 * compacted (often on the small window that is the default; never on one of 1000000) and what the last turns wait for their first model request beside the first ones.
 */
import { thinking, toolUse } from '../test/support/scripted-model.js';
import { median } from './support/run.js';
import { row, withTurnService } from './support/in-process.js';

const TURNS = Number(process.argv[2] ?? 200);
const WINDOW = Number(process.argv[3] ?? 16_000);
const AROUND = 5;

const options = {
  model: { context_window: WINDOW, max_output_tokens: 1000, thinking: 'adaptive' as const },
  scripted: { contextWindow: WINDOW },
};
await withTurnService(options, async (service) => {
  const { model } = service;
  model.script(({ step, userText }) =>
    step === 0
      ? [thinking('I write it down.'), toolUse('deliver_file', { filename: 'note.txt', content: userText })]
      : `Noted. ${'And so on. '.repeat(60)}`,
  );
  model.on(/<transcript>/, 'The user has many messages noted in files. '.repeat(20));
  const warm = await service.session({});
  for (let turn = 0; turn < AROUND; turn += 1) {
    await service.send(warm, 'Warm up.');
    await service.ended(warm, 120_000);
  }
  const sessionId = await service.session({});
  const waits: number[] = [];
  for (let turn = 1; turn <= TURNS; turn += 1) {
    const before = model.requests.length;
    const posted = performance.now();
    await service.send(sessionId, `Message ${turn}. ${'It says this and that. '.repeat(40)}`);
    const first = await model.request(before);
    waits.push(first.receivedAt - posted);
    const end = await service.ended(sessionId, 120_000);
    if (end.type !== 'turn.completed') throw new Error(JSON.stringify(end));
  }
  const history = await service.history(sessionId);
  const early = median(waits.slice(0, AROUND * 2));
  const late = median(waits.slice(-AROUND * 2));
  row('turns', String(TURNS));
  row('compactions', String(history.filter(({ type }) => type === 'agent.context_compacted').length));
  row('messages in the history', String(history.filter(({ type }) => type === 'user.message').length), `${TURNS}`);
  row('requests', `${model.requests.length}, refused ${model.refused.length}`, 'refused 0');
  row(`POST to first request, turns 1 to ${AROUND * 2} (median)`, `${early.toFixed(1)} ms`);
  row(
    `the same, last ${AROUND * 2} turns (median)`,
    `${late.toFixed(1)} ms = ${(late / early).toFixed(2)} ×`,
    '≤ 1.5 ×',
  );
});
