import { monitorEventLoopDelay } from 'node:perf_hooks';
import { Client } from '@temporalio/client';
import { MIB } from '../../src/platform/units.js';
import { text, toolUse, type Reply } from '../../test/support/scripted-model.js';
import type { TurnService } from '../../test/support/turns.js';
import { median, timed } from '../measure.js';
import { scenario } from '../scenario.js';
import { row } from '../table.js';

const PIECE = 'words and words '.repeat(64);

export default scenario({
  measures: 'very long turns: many tool calls in sequence, as many in one step, 10 MB of text',
  options: { calls: 1000 },
  async run(bench, { calls }) {
    const service = await bench.service({
      config: { maxSteps: 2000, turnTimeoutSeconds: 7200 },
      model: { max_output_tokens: 4_000_000, context_window: 8_000_000, supports_thinking: false },
      scripted: { contextWindow: 8_000_000 },
    });
    await measure(service, `${calls} tool calls, one a step`, (step) =>
      step < calls ? toolUse('list_files') : 'Done.',
    );
    await measure(service, `${calls} tool calls in one step`, (step) =>
      step === 0 ? Array.from({ length: calls }, () => toolUse('list_files')) : 'Done.',
    );
    await measure(service, '10 MB of text', () => text(pieces(10 * MIB), { every: 0 }));
  },
});

async function measure(service: TurnService, name: string, reply: (step: number) => Reply): Promise<void> {
  const { model } = service;
  model.reset();
  model.script(({ step }) => reply(step));
  const delay = monitorEventLoopDelay({ resolution: 5 });
  delay.enable();
  let turnId = '';
  const ms = await timed(async () => {
    const sessionId = await service.session({});
    turnId = await service.send(sessionId, 'Go');
    const end = await service.ended(sessionId, 3_600_000);
    if (end.type !== 'turn.completed') throw new Error(JSON.stringify(end));
  });
  delay.disable();
  row(name, `${(ms / 1000).toFixed(1)} s, ${model.requests.length} model calls`);
  row('  event loop, longest stop (model, API and worker)', `${(delay.max / 1e6).toFixed(0)} ms`);
  await temporalCost(new Client({ connection: service.workers[0]!.connection }), turnId);
  stepTimes(service);
}

function* pieces(bytes: number): Generator<string> {
  for (let sent = 0; sent < bytes; sent += PIECE.length) yield PIECE;
}

/** Events and bytes of every run of the turn's workflow; the limits are 51,200 events and 50 MB a run. */
async function temporalCost(client: Client, turnId: string): Promise<void> {
  for await (const { runId, historyLength, historySize } of client.workflow.list({
    query: `WorkflowId = '${turnId}'`,
  })) {
    const cost = `${historyLength} events, ${((historySize ?? 0) / 1024).toFixed(0)} KB`;
    row(`  Temporal run ${runId.slice(-6)}`, cost, '≪ 51,200, 50 MB');
  }
}

/** Compares the duration of late steps with that of early ones. */
function stepTimes({ model }: TurnService): void {
  const gaps = model.requests.slice(1).map((request, index) => request.receivedAt - model.requests[index]!.receivedAt);
  if (gaps.length < 40) return;
  const [early, late] = [median(gaps.slice(0, 20)), median(gaps.slice(-20))];
  row('  a step, first and last 20 (median)', `${early.toFixed(1)} ms, ${late.toFixed(1)} ms`);
}
