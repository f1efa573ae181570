/**
 * Measures very long turns: 1,000 tool calls in sequence, 1,000 in one step, 10 MB of text.
 * `npx tsx bench/long-turn.ts [calls]`
 */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { Client } from '@temporalio/client';
import { text, toolUse, type Reply } from '../test/support/scripted-model.js';
import type { TurnService } from '../test/support/turns.js';
import { median } from './support/run.js';
import { row, withTurnService } from './support/in-process.js';

const CALLS = Number(process.argv[2] ?? 1000);
const PIECE = 'words and words '.repeat(64);
const TEXT_BYTES = 10 * 1024 * 1024;

const options = {
  config: { maxSteps: 2000, turnTimeoutSeconds: 7200 },
  model: { max_output_tokens: 4_000_000, context_window: 8_000_000, supports_thinking: false },
  scripted: { contextWindow: 8_000_000 },
};
await withTurnService(options, async (service) => {
  const [worker] = service.workers;
  const client = new Client({ connection: worker!.connection });
  const once = async (name: string, reply: (step: number) => Reply): Promise<void> => {
    service.model.reset();
    service.model.script(({ step }) => reply(step));
    const delay = monitorEventLoopDelay({ resolution: 5 });
    delay.enable();
    const began = performance.now();
    const sessionId = await service.session({});
    const turnId = await service.send(sessionId, 'Go');
    const end = await service.ended(sessionId, 3_600_000);
    const seconds = (performance.now() - began) / 1000;
    delay.disable();
    if (end.type !== 'turn.completed') throw new Error(JSON.stringify(end));
    row(name, `${seconds.toFixed(1)} s, ${service.model.requests.length} model calls`);
    row('  event loop, longest stop (model, API and worker)', `${(delay.max / 1e6).toFixed(0)} ms`);
    await temporalCost(client, turnId);
    stepTimes(service);
  };
  await once(`${CALLS} tool calls, one a step`, (step) => (step < CALLS ? toolUse('list_files') : 'Done.'));
  await once(`${CALLS} tool calls in one step`, (step) =>
    step === 0 ? Array.from({ length: CALLS }, () => toolUse('list_files')) : 'Done.',
  );
  await once('10 MB of text', () => text(pieces(), { every: 0 }));
});

function* pieces(): Generator<string> {
  for (let sent = 0; sent < TEXT_BYTES; sent += PIECE.length) yield PIECE;
}

/** Events and bytes of every run of the turn's workflow; the limits are 51,200 events and 50 MB a run. */
async function temporalCost(client: Client, turnId: string): Promise<void> {
  for await (const { runId, historyLength, historySize } of client.workflow.list({
    query: `WorkflowId = '${turnId}'`,
  })) {
    row(
      `  Temporal run ${runId.slice(-6)}`,
      `${historyLength} events, ${((historySize ?? 0) / 1024).toFixed(0)} KB`,
      '≪ 51,200, 50 MB',
    );
  }
}

/** Compares the duration of late steps with that of early ones. */
function stepTimes({ model }: TurnService): void {
  const gaps = model.requests.slice(1).map((request, index) => request.receivedAt - model.requests[index]!.receivedAt);
  if (gaps.length < 40) return;
  const [early, late] = [median(gaps.slice(0, 20)), median(gaps.slice(-20))];
  row('  a step, first and last 20 (median)', `${early.toFixed(1)} ms, ${late.toFixed(1)} ms`);
}
