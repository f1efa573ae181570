import { expect } from 'chai';
import { type CalledModel, priceOf } from '../../../src/models/price.js';
import { isoOf, microsOf } from '../../../src/platform/timestamps.js';
import type { ModelCallFact, ToolCallFact, TurnFacts, WaitFact } from '../../../src/turns/facts.js';
import { sumCalls } from '../../../src/turns/spent.js';
import { timing } from '../../../src/turns/timing.js';
import { Turn } from '../../../src/turns/turn.js';
import type { TurnRow } from '../../../src/turns/turn-row.js';

const QUEUED = '2026-11-26T10:00:00.000000Z';
/** A time so many seconds after the message. */
const at = (seconds: number): string => isoOf(microsOf(QUEUED) + Math.round(seconds * 1_000_000));
const micros = (seconds: number): number => microsOf(at(seconds));

const ROW: TurnRow = {
  ...{
    id: 'turn_1',
    session_id: 'ses_1',
    project_id: 'prj_1',
    number: 2,
    model_id: null,
    agent_id: null,
    agent_version: null,
    queued_at: QUEUED,
  },
  ...{ state: 'queued', position: 1, fallback_model_id: null, has_waiting: false, end_reason: null },
  ...{ started_at: null, ended_at: null, transition_at: QUEUED, cancel_requested_at: null, progress_at: QUEUED },
  ...{ connected_at: null, connect_ms: null, first_token_at: null, model_calls: 0 },
  ...{ cost: '0', currency: 'EUR', is_unpriced: false, parent_turn_id: null },
  ...{ has_children: false, delegated_cost: '0', is_delegated_unpriced: false },
};
const RUNNING: TurnRow = { ...ROW, state: 'running', started_at: at(1) };
const turnAt = (seconds: number, row: Partial<TurnRow> = {}): Turn => new Turn({ ...RUNNING, ...row }, at(seconds));

const span = (from: number, to: number | null) => ({ from: micros(from), to: to === null ? null : micros(to) });
const USAGE = { input_tokens: 10, output_tokens: 2, cache_read_input_tokens: 3, cache_creation_input_tokens: 1 };
const modelCall = (from: number, to: number | null, more: Partial<ModelCallFact> = {}): ModelCallFact => ({
  ...span(from, to),
  ...{ modelId: 'm', usage: USAGE, cost: '0.5', currency: 'EUR', ...more },
});
const toolCall = (index: number, from: number, to: number | null, taskFrom: number | null = null): ToolCallFact => ({
  ...span(from, to),
  ...{ step: 1, index, taskFrom: taskFrom === null ? null : micros(taskFrom), childFrom: null },
});
const wait = (index: number, from: number, to: number | null, duringCall = false): WaitFact => ({
  ...span(from, to),
  ...{ step: 1, index, duringCall },
});
const facts = (of: Partial<TurnFacts>): TurnFacts => ({
  modelCalls: [],
  toolCalls: [],
  waits: [],
  mustGiveOutput: false,
  delegated: null,
  ...of,
});
const phases = (of: Partial<TurnFacts>, seconds: number) => {
  const { timing: times, runningMs } = timing(RUNNING, facts(of), at(seconds));
  const { model_ms, tools_ms, waiting_ms } = times;
  return { model_ms, tools_ms, waiting_ms, runningMs };
};
const NEVER = { model_ms: null, tools_ms: null, waiting_ms: null };

describe('the time of a turn', () => {
  it('the time of a turn is counted from its start, and no phase without what belongs to it', () => {
    expect(phases({}, 11)).to.deep.equal({ ...NEVER, runningMs: 10_000 });
    expect(timing(ROW, facts({}), at(11)).runningMs).to.equal(0);
  });

  it('the time of a turn of model calls lasts until the end of each, of a call whose process died until the next one begins', () => {
    expect(phases({ modelCalls: [modelCall(1, 3), modelCall(5, 6)] }, 9).model_ms).to.equal(3000);
    expect(phases({ modelCalls: [modelCall(1, null), modelCall(5, 6)] }, 9).model_ms).to.equal(5000);
    expect(phases({ modelCalls: [modelCall(1, 3), modelCall(5, null)] }, 9).model_ms).to.equal(6000);
    expect(phases({ modelCalls: [modelCall(1, 8), modelCall(5, 6)] }, 9).model_ms, 'a late end').to.equal(5000);
  });

  it('the time of a turn of tools counts the time of parallel calls once', () => {
    const toolCalls = [toolCall(0, 2, 5), toolCall(1, 3, 7), toolCall(2, 8, null)];
    expect(phases({ toolCalls }, 10)).to.deep.equal({ ...NEVER, tools_ms: 7000, runningMs: 9000 });
  });

  it('the time of a turn stands still while calls wait for a person and nothing runs', () => {
    const waits = [wait(0, 2, 6), wait(1, 2, 9)];
    expect(phases({ waits }, 10)).to.deep.equal({ ...NEVER, waiting_ms: 7000, runningMs: 2000 });
    const toolCalls = [toolCall(0, 6, 8)];
    expect(phases({ waits, toolCalls }, 10)).to.deep.equal({
      ...{ model_ms: null, tools_ms: 2000, waiting_ms: 5000, runningMs: 4000 },
    });
    expect(phases({ waits: [wait(0, 4, null)] }, 10).runningMs, 'a wait without an end').to.equal(3000);
  });

  it('the time of a turn does not wait for an answer that comes while another call runs', () => {
    const of = { waits: [wait(1, 3, 5)], toolCalls: [toolCall(0, 2, 6)] };
    expect(phases(of, 10)).to.deep.equal({ ...NEVER, tools_ms: 4000, runningMs: 9000 });
  });

  it('the time of a turn of a call stands still while a question of its server is open', () => {
    const of = { toolCalls: [toolCall(0, 2, 9)], waits: [wait(0, 3, 5, true), wait(0, 4, 6, true)] };
    expect(phases(of, 10)).to.deep.equal({ model_ms: null, tools_ms: 4000, waiting_ms: 3000, runningMs: 6000 });
    const other = { toolCalls: [toolCall(0, 2, 9), toolCall(1, 3, 4)], waits: of.waits };
    expect(phases(other, 10)).to.deep.equal({ model_ms: null, tools_ms: 5000, waiting_ms: 2000, runningMs: 7000 });
  });

  it('the time of a turn of turns of other agents counts as that of tools, and against the limit of the turn while another tool runs', () => {
    const child = (index: number, from: number, to: number | null): ToolCallFact => ({
      ...toolCall(index, from, to),
      childFrom: micros(from),
    });
    const alone = timing(
      RUNNING,
      facts({ toolCalls: [child(0, 2, 12), child(1, 4, 16)], waits: [wait(0, 2, 12)] }),
      at(20),
    );
    expect(alone.timing).to.include({ tools_ms: 14_000, waiting_ms: null });
    expect(alone.runningMs).to.equal(5000);
    const beside = timing(RUNNING, facts({ toolCalls: [child(0, 2, 12), toolCall(1, 4, 7)] }), at(20));
    expect(beside.timing).to.include({ tools_ms: 10_000 });
    expect(beside.runningMs).to.equal(12_000);
  });

  it('the time of a turn of a task counts as the time of a tool, and not against the limit of the turn', () => {
    const of = { toolCalls: [toolCall(0, 2, 9, 3)], waits: [wait(0, 4, 6, true)] };
    expect(phases(of, 10)).to.deep.equal({ model_ms: null, tools_ms: 5000, waiting_ms: 2000, runningMs: 3000 });
  });

  describe('between the steps', () => {
    const CONNECTED = { ...RUNNING, connected_at: at(1.5), connect_ms: 250 };
    const sumOf = (of: Partial<TurnFacts>, seconds: number, row: TurnRow = CONNECTED) => {
      const { first_token_ms: _, total_ms, between_steps_ms, ...phases } = timing(row, facts(of), at(seconds)).timing;
      const sum = Object.values(phases).reduce<number>((total, ms) => total + (ms ?? 0), 0);
      return { between_steps_ms, sum: sum + (between_steps_ms ?? 0), total_ms };
    };

    it('the time of a turn between its steps is what no phase has, and with the phases it adds up to the whole', () => {
      const of = {
        modelCalls: [modelCall(2, 3), modelCall(8, 9.0004)],
        toolCalls: [toolCall(0, 3.5, 5), toolCall(1, 4, 6)],
        waits: [wait(2, 4.5, 7.25)],
      };
      // 1 to 1.25, 1.5 to 2, 3 to 3.5, 7.25 to 8 and 9.0004 to 10.0007: less than a millisecond is rounded away.
      expect(sumOf(of, 10.0007)).to.deep.equal({ between_steps_ms: 3001, sum: 10_001, total_ms: 10_001 });
      expect(sumOf({}, 341)).to.deep.equal({ between_steps_ms: 339_750, sum: 341_000, total_ms: 341_000 });
      expect(sumOf({}, 3, RUNNING).between_steps_ms).to.equal(2000);
    });

    it('the time of a turn in two phases at once, after the loss of a worker, counts once', () => {
      const of = { modelCalls: [modelCall(2, 6)], toolCalls: [toolCall(0, 4, 8)] };
      expect(sumOf(of, 10)).to.deep.equal({ between_steps_ms: 2750, sum: 12_000, total_ms: 10_000 });
    });

    it('the time of a turn that never ran has nothing between its steps, and one whose clocks differ nothing negative', () => {
      expect(sumOf({}, 5, ROW).between_steps_ms).to.equal(null);
      expect(sumOf({ modelCalls: [modelCall(0, 12)] }, 10).between_steps_ms).to.equal(0);
    });
  });

  it('the time of a turn is never negative where the clocks of two processes differ', () => {
    const of = { modelCalls: [modelCall(3, 2)], toolCalls: [toolCall(0, 5, 4, 6)], waits: [wait(1, 8, 7)] };
    expect(phases(of, 6)).to.deep.equal({ model_ms: 0, tools_ms: 0, waiting_ms: 0, runningMs: 5000 });
  });
});

describe('what a turn has spent', () => {
  it('what a turn has spent is the sum of its calls, failed ones included, by model', () => {
    const calls = [
      modelCall(1, 2),
      modelCall(2, null, { usage: null, cost: '0' }),
      modelCall(3, 4, { modelId: 'n', cost: '0.000000000001', usage: { ...USAGE, estimated: true } }),
    ];
    const { usage, details, cost, byModel } = sumCalls(calls, 'EUR');
    expect(usage).to.deep.equal({ input_tokens: 28, output_tokens: 4 });
    expect(details).to.deep.equal({
      ...{ cache_read_input_tokens: 6, cache_creation_input_tokens: 2, model_calls: 3, estimated: true },
      cost: { amount: '0.500000000001', currency: 'EUR' },
    });
    expect(cost).to.equal('0.500000000001');
    expect(byModel.map(({ modelId, modelCalls, input }) => [modelId, modelCalls, input])).to.deep.equal([
      ['m', 2, '14'],
      ['n', 1, '14'],
    ]);
  });

  it('what a turn has spent has no cost if a call had no price, or one in another currency, and keeps the cost of the others', () => {
    for (const other of [
      { cost: null, currency: null },
      { cost: '7', currency: 'USD' },
    ]) {
      const { details, cost, byModel } = sumCalls(
        [modelCall(1, 2), modelCall(2, 3, { modelId: 'n', ...other })],
        'EUR',
      );
      expect(details.cost).to.equal(null);
      expect(cost).to.equal('0.5');
      expect(byModel.map(({ isUnpriced }) => isUnpriced)).to.deep.equal([false, true]);
    }
    expect(sumCalls([], null).details.cost).to.equal(null);
    expect(sumCalls([], 'EUR').details.cost).to.deep.equal({ amount: '0', currency: 'EUR' });
  });
});

describe('a turn', () => {
  const EURO: CalledModel = {
    id: 'm',
    price: priceOf({ price: { currency: 'EUR', input: 1, output: 1, cache_read: 1, cache_write: 1 } }),
  };
  const types = (turn: Turn): string[] => turn.events.map(({ type }) => type);

  it('a turn gives its events the positions after the last one, and the time of the change', () => {
    const turn = turnAt(5, { position: 7 });
    turn.append({ type: 'agent.message', data: { message_id: 'msg_1', content: 'a' } });
    turn.append({ id: 'evt_own', type: 'agent.context_compacted', data: { compacted_turns: 1 } });
    expect(turn.events.map(({ position, created_at }) => [position, created_at])).to.deep.equal([
      [8, at(5)],
      [9, at(5)],
    ]);
    expect(turn.events[1]!.id).to.equal('evt_own');
    expect(turn.row.position).to.equal(9);
  });

  it('a turn starts once, with its claim or with its first model call', () => {
    const turn = turnAt(3, ROW);
    turn.claim();
    expect(turn.row).to.include({ state: 'running', started_at: at(3), transition_at: at(3) });
    const again = turnAt(9);
    expect(again.beginCall(EURO)).to.equal(1);
    expect(again.row).to.include({ started_at: at(1), transition_at: QUEUED, model_calls: 1 });
  });

  it('a turn takes the currency of its first priced call, and marks a call with another one', () => {
    const turn = turnAt(2, { currency: null });
    turn.beginCall(EURO);
    expect(turn.row).to.include({ currency: 'EUR', is_unpriced: false });
    turn.beginCall({ id: 'n', price: { ...EURO.price!, currency: 'USD' } });
    expect(turn.row).to.include({ currency: 'EUR', is_unpriced: true });
  });

  it('a turn keeps the time of its first token and of the first cancel request', () => {
    const turn = turnAt(4);
    turn.seeFirstToken(at(2), null);
    expect(turn.row.first_token_at).to.equal(null);
    turn.seeFirstToken(at(2), 250.4);
    turn.seeFirstToken(at(3), 1);
    expect(turn.row.first_token_at).to.equal('2026-11-26T10:00:02.250400Z');
    turn.requestCancel();
    expect(turnAt(9, turn.row).row.cancel_requested_at).to.equal(at(4));
  });

  it('a turn shows a sign of life with each change, except for one that says that it is none', () => {
    expect(turnAt(8).row.progress_at).to.equal(at(8));
    const waited = turnAt(8);
    waited.expectMessages();
    expect(waited.row).to.include({ has_waiting: true, progress_at: QUEUED });
  });

  it('a turn ends with what it took: state, reason, cost and terminal event', () => {
    const turn = turnAt(10, { connect_ms: 5, first_token_at: at(1.5) });
    const result = turn.end(
      { kind: 'completed', stopReason: 'end_turn' },
      facts({ modelCalls: [modelCall(1, 4)], toolCalls: [toolCall(0, 4, 6)], waits: [wait(1, 6, 8)] }),
    );
    expect(turn.row).to.include({ state: 'completed', end_reason: 'end_turn', ended_at: at(10), cost: '0.5' });
    expect(types(turn)).to.deep.equal(['turn.completed']);
    const data = JSON.parse(turn.events[0]!.data) as object;
    expect(data).to.deep.equal({
      stop_reason: 'end_turn',
      usage: { input_tokens: 14, output_tokens: 2 },
      usage_details: {
        ...{ cache_read_input_tokens: 3, cache_creation_input_tokens: 1, model_calls: 1 },
        cost: { amount: '0.5', currency: 'EUR' },
      },
      timing: {
        ...{ queued_ms: 1000, connect_ms: 5, first_token_ms: 1500, model_ms: 3000, tools_ms: 2000, waiting_ms: 2000 },
        between_steps_ms: 1995,
        total_ms: 10_000,
      },
    });
    const { byModel, ...shown } = result;
    expect(shown).to.deep.equal({ ...data, state: 'completed', cancel_ms: null });
    expect(byModel.map(({ modelId, input, cost }) => [modelId, input, cost])).to.deep.equal([['m', '14', '0.5']]);
  });

  it('a turn ends as cancelled, whatever its outcome, once that was requested', () => {
    const turn = turnAt(10, { cancel_requested_at: at(9) });
    const failed = { kind: 'failed', type: 'internal_error', message: 'Broken.', retryable: true } as const;
    expect(turn.end(failed, facts({}))).to.include({ state: 'cancelled', cancel_ms: 1000 });
    expect(turn.row).to.include({ state: 'cancelled', end_reason: null });
    expect(types(turn)).to.deep.equal(['turn.cancelled']);
  });

  it('a turn ends no earlier than a child turn that has ended since its row was locked', () => {
    const delegated = { turns: 1, open: [], lastEnded: micros(10.5), modelCalls: 0, inputTokens: 0, outputTokens: 0 };
    const nothing = { cost: '0', currency: null, isUnpriced: false };
    const turn = turnAt(10);
    turn.end({ kind: 'cancelled' }, facts({ delegated: { ...delegated, ...nothing } }));
    expect(turn.row).to.include({ ended_at: at(10.5) });
    const later = turnAt(11);
    later.end({ kind: 'cancelled' }, facts({ delegated: { ...delegated, ...nothing } }));
    expect(later.row).to.include({ ended_at: at(11) });
  });

  it('a turn that never ran has no usage, unless its work has begun', () => {
    const cancelled = { kind: 'cancelled' } as const;
    expect(turnAt(4, ROW).end(cancelled, facts({}))).to.deep.include({ usage: null, usage_details: null });
    const begun = turnAt(4, ROW).end(cancelled, facts({}), { hasBegun: true });
    expect(begun.usage).to.deep.equal({ input_tokens: 0, output_tokens: 0 });
    expect(begun.timing.queued_ms).to.equal(4000);
  });
});
