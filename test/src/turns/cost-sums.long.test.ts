import { expect } from 'chai';
import type { CallUsage } from '../../../src/models/content.js';
import { priceOf, type CalledModel } from '../../../src/models/price.js';
import { createLogger } from '../../../src/platform/logger.js';
import { createKey } from '../../../src/projects/api-keys.js';
import { findSession } from '../../../src/sessions/store.js';
import { storeSummary } from '../../../src/steps/compaction.js';
import { endModelCall, recordUsage, beginModelCall, type ModelCall } from '../../../src/steps/model-call.js';
import { changeModel } from '../../../src/steps/model-change.js';
import { storeStep } from '../../../src/steps/model-step.js';
import { Notifier } from '../../../src/stream/notify.js';
import { requestCancel } from '../../../src/turns/request-cancel.js';
import { claimTurn } from '../../../src/turns/begin.js';
import { endTurn } from '../../../src/turns/end.js';
import { acceptMessage } from '../../support/accept-message.js';
import { sumUsage, type UsageGroup, type UsageGrouping } from '../../../src/turns/usage.js';
import type { TurnDeps } from '../../../src/turns/change-turn.js';
import { ATTEMPT_ID, PLAIN_STEP } from '../../support/attempt-id.js';
import { Ledger, type Entry } from '../../support/ledger.js';
import { useDatabase, usePool } from '../../support/use.js';

const TURNS = Number(process.env.COST_TURNS ?? 10_000);
const TURNS_OF_SESSION = 10;
const LANES = 8;
const DAYS = 7;
/** The share of sessions, messages and fallbacks with the model that has no price. */
const FREE = Number(process.env.COST_FREE ?? 0.05);

/** Numbers for a million tokens, each with digits of its own. The last model has no price. */
const RATES: Record<string, [string, string, string, string] | null> = {
  alpha: ['3', '15', '0.3', '3.75'],
  beta: ['0.000001', '999999999.999999', '0.1', '0.2'],
  gamma: ['0', '0.07', '0.000003', '1.000001'],
  free: null,
};
const TEAMS = ['B', 'b', 'ä', undefined];

const below = (count: number): number => Math.floor(Math.random() * count);
const chance = (share: number): boolean => Math.random() < share;
const pick = <T>(items: readonly T[]): T => items[below(items.length)]!;

function modelOf(id: string): CalledModel {
  const rates = RATES[id]!;
  if (rates === null || rates === undefined) return { id, price: null };
  const [input, output, cache_read, cache_write] = rates.map(Number) as [number, number, number, number];
  return { id, price: priceOf({ price: { currency: 'USD', input, output, cache_read, cache_write } }) };
}

const priced = (): string => (chance(FREE) ? 'free' : pick(['alpha', 'beta', 'gamma']));
const someUsage = (): CallUsage => ({
  input_tokens: below(200_000),
  output_tokens: below(64_000),
  cache_read_input_tokens: below(150_000),
  cache_creation_input_tokens: below(20_000),
});

/** decisions.md "Money and models": sums of money are exact, whatever happens to the calls of a turn. */
describe(`the costs of ${TURNS} random turns`, () => {
  const log = createLogger('silent', 'test');
  let notifier: Notifier;
  let deps: TurnDeps & Parameters<typeof storeStep>[0];
  let projectId: string;
  const ledger = new Ledger(RATES);
  const db = usePool(useDatabase(), LANES + 2);
  before(async function () {
    this.timeout(1_800_000);
    notifier = new Notifier(db, log);
    deps = { db, notifier, log, workflows: { namespace: 'a-test' } } as typeof deps;
    ({ projectId } = await createKey(db, { project: 'demo', maxRunningTurns: 1000 }));
    let left = TURNS / TURNS_OF_SESSION;
    const lane = async (): Promise<void> => {
      while (left-- > 0) await runSession();
    };
    await Promise.all(Array.from({ length: LANES }, lane));
    await spreadOverDays();
  });
  after(() => notifier.flush());

  async function runSession(): Promise<void> {
    const model = priced();
    const team = pick(TEAMS);
    const id = `ses_${ledger.sessions.length}`;
    ledger.sessions.push({ id, model, team: team ?? null });
    await db.query(
      `INSERT INTO sessions (id, project_id, model_id, thinking_enabled, mcp_servers, metadata, currency, created_at, metadata_updated_at)
       VALUES ($1, $2, $3, true, '{}', $4, $5, now(), now())`,
      [id, projectId, model, JSON.stringify(team === undefined ? {} : { team }), model === 'free' ? null : 'USD'],
    );
    for (let turn = 0; turn < TURNS_OF_SESSION; turn += 1) await runTurn(id, model, turn + 1);
  }

  async function runTurn(session: string, ofSession: string, number: number): Promise<void> {
    const own = chance(0.1) ? priced() : undefined;
    const message = { content: 'x', files: [], skills: [], ...(own !== undefined && { model_id: own }) };
    const { id } = await acceptMessage(db, projectId, session, message, 'a-test');
    let model = own ?? ofSession;
    const entry: Entry = { turn: id, session, asked: model, calls: [], day: below(DAYS) };
    ledger.turns.push(entry);
    if (chance(0.02)) return void (await requestCancel(deps, id));
    await claimTurn(deps, id);
    const steps = 1 + below(3);
    let fallback: string | null = null;
    for (let step = 1; step <= steps; step += 1) {
      if (chance(0.1)) {
        const call = await begin(entry, model, step);
        await endModelCall(deps, call, answer(entry), null);
        await storeSummary(deps, id, { upTo: number - 1, count: 1, summary: 'Short.' });
      }
      while (chance(0.25)) {
        await fail(await begin(entry, model, step), entry);
        if (!chance(0.3)) continue;
        const to: string = priced();
        const change = { from: model, to, reason: 'model_error' as const };
        await changeModel(deps, id, { fallbackModelId: fallback }, change);
        [model, fallback] = [to, to];
      }
      const call = await begin(entry, model, step);
      if (chance(0.3)) await record(call, entry);
      const isCancelled = chance(0.05);
      if (isCancelled) await requestCancel(deps, id);
      if (isCancelled && chance(0.5)) return void (await endTurn(deps, id, { kind: 'cancelled' }));
      const stopReason = step === steps ? 'end_turn' : 'pause_turn';
      await storeStep(deps, {
        call,
        answer: { ...answer(entry), stopReason },
        ...PLAIN_STEP,
        isLast: isCancelled,
      });
      if (isCancelled) return;
      if (chance(0.03)) {
        const failed = { kind: 'failed', type: 'internal_error', message: 'Broken.', retryable: true } as const;
        return void (await endTurn(deps, id, failed));
      }
    }
  }

  async function begin(entry: Entry, model: string, step: number): Promise<ModelCall> {
    const call = await beginModelCall(deps, entry.turn, step, ATTEMPT_ID, modelOf(model));
    entry.calls.push({ model, usage: null });
    return call;
  }

  /** The latest call of a turn has this usage at its end. */
  function answer(entry: Entry) {
    const usage = someUsage();
    entry.calls.at(-1)!.usage = usage;
    return { content: [], stopReason: null, usage, firstTokenMs: null };
  }

  async function record(call: ModelCall, entry: Entry): Promise<void> {
    const usage = someUsage();
    entry.calls.at(-1)!.usage = usage;
    await recordUsage(deps, call, usage, 1);
  }

  /** A call that failed: before or after it reported usage, or its process died. */
  async function fail(call: ModelCall, entry: Entry): Promise<void> {
    if (chance(0.5)) await record(call, entry);
    if (chance(0.3)) return;
    const failure = { type: 'model_error', message: 'Away.', retryable: true } as const;
    await endModelCall(deps, call, answer(entry), failure);
  }

  /** Turns that have ended seem to have ended on the days before. */
  async function spreadOverDays(): Promise<void> {
    await db.query(
      `UPDATE turn_usage SET ended_at = ended_at - d.day * interval '1 day'
       FROM unnest($1::text[], $2::integer[]) AS d (turn, day) WHERE turn_id = d.turn`,
      [ledger.turns.map(({ turn }) => turn), ledger.turns.map(({ day }) => day)],
    );
    const rows = await db.query<{ id: string; day: string }[]>(
      `SELECT DISTINCT turn_id AS id, to_char(ended_at AT TIME ZONE 'UTC', 'YYYY-MM-DD') AS day FROM turn_usage`,
    );
    const days = new Map(rows.map(({ id, day }) => [id, day]));
    for (const turn of ledger.turns) turn.date = days.get(turn.turn)!;
  }

  it(`the costs of ${TURNS} random turns are those of a second calculation in each terminal event`, async () => {
    const ends = await db.query<{ turn_id: string; data: { usage_details: { cost: unknown } | null } }[]>(
      `SELECT turn_id, data FROM events WHERE type LIKE 'turn.%'`,
    );
    expect(ends).to.have.length(TURNS);
    const expected = ledger.costsOfTurns();
    for (const { turn_id, data } of ends) {
      if (data.usage_details === null) continue;
      expect(data.usage_details.cost, turn_id).to.deep.equal(expected.get(turn_id));
    }
  });

  it(`the costs of ${TURNS} random turns are those of a second calculation in each session`, async () => {
    const expected = ledger.costsOfSessions();
    for (const { id } of ledger.sessions) {
      expect((await findSession(db, projectId, id))!.cost, id).to.deep.equal(expected.get(id));
    }
  });

  for (const grouping of ['day', 'model', 'session', { metadata: 'team' }] as UsageGrouping[]) {
    it(`the costs of ${TURNS} random turns add up by ${JSON.stringify(grouping)}`, async () => {
      const from = new Date(Date.now() - 30 * 24 * 3600 * 1000).toISOString();
      const window = { from, to: new Date(Date.now() + 60_000).toISOString() };
      const found: UsageGroup[] = [];
      for (let hasMore = true; hasMore;) {
        const after = found.at(-1)?.group ?? null;
        const page = await sumUsage(db, projectId, window, grouping, { after, limit: 100 });
        found.push(...page.rows);
        ({ hasMore } = page);
      }
      const expected = ledger.groups(grouping);
      expect(found.map(({ group }) => group)).to.deep.equal(expected.map(({ group }) => group));
      for (const [index, group] of expected.entries()) expect(found[index], String(group.group)).to.deep.equal(group);
    });
  }
});
