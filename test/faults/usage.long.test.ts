import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import type { CallUsage } from '../../src/models/content.js';
import { toDecimal, toUnits } from '../../src/platform/decimal.js';
import type { UsageGroup, UsageGrouping } from '../../src/turns/usage.js';
import { ALL_KILLABLE } from '../support/fault-system.js';
import { Ledger } from '../support/ledger.js';
import { RandomKiller } from '../support/random-killer.js';
import { cut, failure, message, text, toolUse, type ReceivedRequest, type Reply } from '../support/scripted-model.js';
import { useFaultSystem } from '../support/use.js';

const KILLS = Number(process.env.USAGE_KILLS ?? 20);
const KILL_MS = 20_000;
const SETTLE_MS = 240_000;
/** Those of the second project use a model without a price too. */
const LANES = { priced: 6, mixed: 2 };
const MAX_TURNS = 5;
/** The next kill follows after this time even if no turn ends. */
const MAX_SILENCE_MS = 10_000;
const SERVER_WEIGHT = 0.3;

/** Numbers for a million tokens. */
const RATES: Record<string, [string, string, string, string] | null> = {
  first: ['3', '15', '0.3', '3.75'],
  second: ['0.000001', '999999.999999', '0.1', '1.000001'],
  free: null,
};
const TEAMS = ['B', 'b', 'ä', undefined];

const below = (count: number): number => Math.floor(Math.random() * count);
const chance = (share: number): boolean => Math.random() < share;
const pick = <T>(items: readonly T[]): T => items[below(items.length)]!;

function entryOf(id: string) {
  const [input, output, cache_read, cache_write] = (RATES[id] ?? []).map(Number) as [number, number, number, number];
  const price = { currency: 'USD', input, output, cache_read, cache_write };
  return { id, model: id, context_window: 8_000, max_output_tokens: 500, ...(RATES[id] && { price }) };
}

/** A turn as GET turns shows it when its session is done. */
interface ShownTurn {
  id: string;
  session_id: string;
  model_id: string;
  ended_at: string;
  usage: { input_tokens: number; output_tokens: number } | null;
  usage_details: { model_calls: number; cost: UsageGroup['cost'] } | null;
}

/** decisions.md "Money and models": the sums of usage are those of the turns, and no call counts twice, whatever dies. */
describe(`the sums of usage after ${KILLS} kills`, function () {
  this.timeout(KILLS * KILL_MS + 2 * SETTLE_MS);
  const system = useFaultSystem({
    ...ALL_KILLABLE,
    moreModels: Object.keys(RATES).map(entryOf),
    env: { FALLBACK_AFTER_SECONDS: '3', MODEL_RETRY_SECONDS: '10' },
  });
  const keys: Record<keyof typeof LANES, string> = { priced: '', mixed: '' };
  const ledgers = { priced: new Ledger(RATES), mixed: new Ledger(RATES) };
  const shown: Record<keyof typeof LANES, ShownTurn[]> = { priced: [], mixed: [] };
  /** What the model has reported of each answer that it began, by its number: the input tokens that it reports. */
  const answered = new Map<number, { model: string; usage: CallUsage }>();
  let asked = 0;

  before(async () => {
    for (const project of ['priced', 'mixed'] as const) keys[project] = await system.newKey(project);
    system.model.script(answer);
    await runUnderKills();
  });

  function answer({ body, userText, step }: ReceivedRequest): Reply {
    asked += 1;
    const dice = Math.random();
    if (dice < 0.08) return failure('overloaded_error', { headers: { 'retry-after-ms': '200' } });
    if (dice < 0.18) return failure('invalid_request_error');
    // More output than any text that was streamed until it broke off: it shows which answers were counted whole.
    const usage = {
      input_tokens: asked,
      output_tokens: 500 + below(5_000),
      cache_read_input_tokens: below(5_000),
      cache_creation_input_tokens: below(5_000),
    };
    answered.set(asked, { model: body.model, usage });
    const words = Array.from({ length: 25 }, (_, word) => `word${word}`).join(' ');
    const slow = { every: 20 + below(60) };
    if (dice < 0.25) return message(text(words, { ...slow, before: { 12: cut() } }), { usage });
    if (userText.includes('<transcript>')) return message(text('A summary.', slow), { usage });
    const calls = step === 0 && chance(0.5);
    return message([text(words, slow), ...(calls ? [toolUse('list_files')] : [])], { usage });
  }

  async function runSession(project: keyof typeof LANES): Promise<void> {
    const key = keys[project];
    const isMixed = project === 'mixed';
    const model = isMixed && chance(0.3) ? 'free' : 'first';
    const fallbacks = isMixed && model !== 'free' ? ['second', 'free'] : ['second'];
    const team = pick(TEAMS);
    const session = { model_id: model, fallback_model_ids: chance(0.8) ? fallbacks : [], metadata: { team } };
    const id = await system.session(session, key);
    ledgers[project].sessions.push({ id, model, team: team ?? null });
    for (let turn = 1 + below(MAX_TURNS); turn > 0; turn -= 1) {
      const sent = await system.send(id, 'Read this. '.repeat(300 + below(500)));
      if (chance(0.2)) {
        await sleep(below(2_000));
        await system.insist('POST', `/v1/sessions/${id}/cancel`, undefined, key);
      }
      await system.ended(sent, SETTLE_MS);
      ended += 1;
    }
    const { body } = await system.insist('GET', `/v1/sessions/${id}/turns?limit=100`, undefined, key);
    shown[project].push(...(body.items as ShownTurn[]));
    const shownSession = await system.insist('GET', `/v1/sessions/${id}`, undefined, key);
    costs.set(id, shownSession.body.cost as UsageGroup['cost']);
    if (chance(0.2)) await system.insist('DELETE', `/v1/sessions/${id}`, undefined, key);
  }
  const costs = new Map<string, UsageGroup['cost']>();
  let ended = 0;

  async function runUnderKills(): Promise<void> {
    const killer = RandomKiller.of(system, SERVER_WEIGHT);
    const lanes = (goesOn: () => boolean) =>
      (['priced', 'mixed'] as const).flatMap((project) =>
        Array.from({ length: LANES[project] }, async () => {
          while (goesOn()) await runSession(project);
        }),
      );
    await killer.killDuring(KILLS, lanes, { progress: () => ended, maxSilenceMs: MAX_SILENCE_MS, maxPauseMs: 1_000 });
    await readCalls();
  }

  /** Gives each turn its calls as the model has reported them. */
  async function readCalls(): Promise<void> {
    const rows = await system.db.query<{ turn: string; model: string; usage: CallUsage | null }[]>(
      'SELECT turn_id AS turn, model_id AS model, usage FROM model_calls ORDER BY turn_id, position, call',
    );
    const counted = new Set<number>();
    let complete = 0;
    const calls = new Map<string, { model: string; usage: CallUsage | null }[]>();
    for (const { turn, model, usage } of rows) {
      const number = usage?.input_tokens ?? 0;
      if (number > 0) {
        expect(counted.has(number), `answer ${number} counts twice`).to.equal(false);
        counted.add(number);
        const said = answered.get(number)!;
        const { estimated: _, ...known } = usage!;
        const { output_tokens } = known;
        // The output of an answer that broke off is what its text was by then.
        expect({ model, usage: known }, turn).to.deep.equal({
          model: said.model,
          usage: { ...said.usage, output_tokens },
        });
        expect(output_tokens).to.be.at.most(said.usage.output_tokens);
        if (output_tokens === said.usage.output_tokens) complete += 1;
      }
      const ofTurn = calls.get(turn) ?? [];
      ofTurn.push({ model, usage: number > 0 ? usage : null });
      calls.set(turn, ofTurn);
    }
    for (const project of ['priced', 'mixed'] as const) {
      for (const { id, session_id, model_id, ended_at } of shown[project]) {
        const date = ended_at.slice(0, 10);
        const entry = { turn: id, session: session_id, asked: model_id, calls: calls.get(id) ?? [], day: 0, date };
        ledgers[project].turns.push(entry);
      }
    }
    const models = [...calls.values()].filter((all) => new Set(all.map(({ model }) => model)).size > 1);
    const compactions = await system.db.query<unknown[]>('SELECT FROM compactions');
    const cancelled = await system.db.query<unknown[]>(`SELECT FROM turns WHERE state = 'cancelled'`);
    console.log(
      `      ${KILLS} kills, ${shown.priced.length + shown.mixed.length} turns, ${rows.length} calls, ${models.length} turns with a fallback, ` +
        `${compactions.length} summaries, ${cancelled.length} cancelled; ${answered.size - counted.size} of ${answered.size} answers ` +
        'began in a process that died before it had recorded them',
    );
    for (const happened of [models, compactions, cancelled]) expect(happened).to.not.be.empty;
    expect(complete).to.be.above(rows.length / 2);
    expect(answered.size - counted.size).to.be.at.most(KILLS * (LANES.priced + LANES.mixed));
  }

  async function groupsOf(project: keyof typeof LANES, grouping: UsageGrouping): Promise<UsageGroup[]> {
    const name = typeof grouping === 'string' ? grouping : `metadata.${grouping.metadata}`;
    const groups: UsageGroup[] = [];
    for (let cursor: string | null = ''; cursor !== null;) {
      const query: string = `group_by=${name}&limit=10${cursor === '' ? '' : `&cursor=${cursor}`}`;
      const { status, body } = await system.insist('GET', `/v1/usage?${query}`, undefined, keys[project]);
      expect(status, JSON.stringify(body)).to.equal(200);
      groups.push(...(body.items as UsageGroup[]));
      cursor = body.meta.next_cursor as string | null;
    }
    return groups;
  }

  it('the histories, streams and states of all turns are right', async () => {
    await system.db.query('UPDATE sessions SET deleted_at = NULL');
    await system.verify();
    expect(system.model.refused.filter(({ refused }) => refused !== undefined)).to.deep.equal([]);
  });

  for (const project of ['priced', 'mixed'] as const) {
    it(`each turn and session costs what the model reported of its calls, ${project}`, () => {
      const expected = ledgers[project].costsOfTurns();
      for (const { id, usage_details } of shown[project]) {
        if (usage_details !== null) expect(usage_details.cost, id).to.deep.equal(expected.get(id));
      }
      for (const [id, cost] of ledgers[project].costsOfSessions()) expect(costs.get(id), id).to.deep.equal(cost);
    });

    for (const grouping of ['day', 'model', 'session', { metadata: 'team' }] as UsageGrouping[]) {
      it(`the groups are those of a second calculation by ${JSON.stringify(grouping)}, ${project}`, async () => {
        const found = await groupsOf(project, grouping);
        const expected = ledgers[project].groups(grouping);
        expect(found.map(({ group }) => group)).to.deep.equal(expected.map(({ group }) => group));
        for (const [index, group] of expected.entries()) expect(found[index], String(group.group)).to.deep.equal(group);
      });
    }
  }

  it('each grouping adds up to the turns, to the last digit', async () => {
    const sum = (amounts: UsageGroup['cost'][]): string =>
      toDecimal(amounts.reduce((total, cost) => total + toUnits(cost!.amount), 0n));
    const turns = shown.priced.filter(({ usage_details }) => usage_details !== null);
    const total = {
      cost: sum(turns.map(({ usage_details }) => usage_details!.cost)),
      calls: turns.reduce((calls, { usage_details }) => calls + usage_details!.model_calls, 0),
      input: turns.reduce((tokens, { usage }) => tokens + usage!.input_tokens, 0),
      output: turns.reduce((tokens, { usage }) => tokens + usage!.output_tokens, 0),
    };
    console.log(`      ${turns.length} priced turns cost ${total.cost} USD`);
    for (const grouping of ['day', 'model', 'session', { metadata: 'team' }] as UsageGrouping[]) {
      const groups = await groupsOf('priced', grouping);
      expect(
        {
          cost: sum(groups.map(({ cost }) => cost)),
          calls: groups.reduce((calls, { model_calls }) => calls + model_calls, 0),
          input: groups.reduce((tokens, { input_tokens }) => tokens + input_tokens, 0),
          output: groups.reduce((tokens, { output_tokens }) => tokens + output_tokens, 0),
        },
        JSON.stringify(grouping),
      ).to.deep.equal(total);
    }
  });
});
