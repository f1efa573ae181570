import { expect } from 'chai';
import { eventually } from '../../support/eventually.js';
import { cut, failure, message, text, toolUse, wait } from '../../support/scripted-model.js';
import { useTurnService } from '../../support/use.js';

/** Exact over retries: it includes the cost of failed attempts. */
describe('the usage of a turn', () => {
  const service = useTurnService();
  beforeEach(() => service.model.reset());

  const cost = (input: number, read: number, written: number, output: number) => ({
    usage: {
      input_tokens: input,
      cache_read_input_tokens: read,
      cache_creation_input_tokens: written,
      output_tokens: output,
    },
  });

  it('the usage of a turn sums every call, also failed ones', async () => {
    service.model.reply(
      failure('overloaded_error', { headers: { 'retry-after-ms': '5' } }),
      message([text('Half of '), cut()], cost(10, 20, 30, 1)),
      message(toolUse('list_files'), cost(100, 200, 300, 40)),
      message(text('Done.'), cost(1000, 2000, 3000, 400)),
    );
    const sessionId = await service.session({ thinking_enabled: false });
    await service.send(sessionId, 'Go');
    const end = await service.ended(sessionId);
    expect(end).to.deep.include({
      type: 'turn.completed',
      // Of the answer that was cut off, the model reported one token: its eight bytes count as three.
      usage: { input_tokens: 6660, output_tokens: 443 },
      usage_details: {
        ...{ model_calls: 4, cache_read_input_tokens: 2220, cache_creation_input_tokens: 3330, cost: null },
        estimated: true,
      },
    });
  });

  it('the usage of a turn is stored from the start of a call, so a worker that dies loses none of it', async () => {
    const { model, db } = service;
    const gate = model.gate();
    model.reply(message([text('Slow', { before: { 0: wait(gate) } })], cost(10, 20, 30, 1)));
    const sessionId = await service.session({ thinking_enabled: false });
    const turnId = await service.send(sessionId, 'Go');
    await gate.reached;
    let usage: unknown;
    await eventually('the usage is stored', async () => {
      const rows = await db.query<{ usage: unknown }[]>('SELECT usage FROM model_calls WHERE turn_id = $1', [turnId]);
      usage = rows[0]?.usage ?? null;
      return usage !== null;
    });
    expect(usage).to.include({ input_tokens: 10, cache_read_input_tokens: 20, cache_creation_input_tokens: 30 });
    gate.open();
    expect((await service.ended(sessionId)).usage.input_tokens).to.equal(60);
  });

  it('the usage of a turn has the time of the first token that a reader saw, stored while the answer streams', async () => {
    const { model, db } = service;
    const gate = model.gate();
    model.reply([text('Seen at once, then slow', { before: { 4: wait(gate) } })]);
    const sessionId = await service.session({ thinking_enabled: false });
    const turnId = await service.send(sessionId, 'Go');
    await gate.reached;
    let stored: string | null = null;
    await eventually('the time is stored', async () => {
      const rows = await db.query<{ at: string | null }[]>('SELECT first_token_at AS at FROM turns WHERE id = $1', [
        turnId,
      ]);
      stored = rows[0]!.at;
      return stored !== null;
    });
    gate.open();
    await service.ended(sessionId);
    expect(await db.query('SELECT first_token_at AS at FROM turns WHERE id = $1', [turnId])).to.deep.equal([
      { at: stored },
    ]);
  });

  it('the usage of a turn of a cancelled answer counts the bytes that were streamed', async () => {
    const gate = service.model.gate();
    service.model.reply(
      message([text('長'.repeat(400)), text('y', { before: { 0: wait(gate) } })], cost(10, 20, 30, 1)),
    );
    const sessionId = await service.session({ thinking_enabled: false });
    await service.send(sessionId, 'Go');
    await gate.reached;
    const end = await service.cancel(sessionId);
    gate.open();
    expect(end).to.deep.include({ type: 'turn.cancelled', usage: { input_tokens: 60, output_tokens: 343 } });
    expect(end.usage_details.estimated).to.equal(true);
  });
});
