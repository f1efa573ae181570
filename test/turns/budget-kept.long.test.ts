import { expect } from 'chai';
import { estimateRequest } from '../../activities/prompt/tokens.js';
import type { ModelEntry } from '../../src/models/entry.js';
import { costOf, priceOf, type Price } from '../../src/models/price.js';
import type { ModelRequest } from '../../src/models/request.js';
import { toDecimal, toUnits } from '../../src/platform/decimal.js';
import { measure } from '../../dev/fake-model/prompt.js';
import { TEST_MODEL } from '../support/config.js';
import { eventually } from '../support/eventually.js';
import { startMcpServer } from '../support/mcp-server.js';
import {
  cut,
  message,
  startScriptedModel,
  text,
  toolUse,
  type ReceivedRequest,
  type Reply,
} from '../support/scripted-model.js';
import { startTurnService, type TurnService } from '../support/turns.js';

const TURNS = Number(process.env.BUDGET_TURNS ?? 30);
const LANES = 8;
const MODELS = 6;
const MAX_TURNS_OF_SESSION = 6;
const MAX_RAISES = 3;
/** A server of this kind finds at most so many times the tokens that the scripted model does, which are 7/8 of our estimate. */
const MAX_DENSITY = 2;

/** What turns have spent beyond their budgets, in units of money. */
interface Kept {
  turns: number;
  calls: number;
  /** Turns that ended at their budget. */
  stopped: number;
  summaries: number;
  /** Turns that spent more than their budget, with models whose server counts tokens, and with the others. */
  exceeded: { counting: bigint[]; estimated: bigint[] };
  /** Exceedances as shares of the budget. */
  shares: number[];
  /** Turns that spent more than the error of the estimate of their last call allows. */
  unexplained: string[];
}

interface Sent {
  /** What the input has cost beyond what the service counted. */
  error: bigint;
}

const below = (count: number): number => Math.floor(Math.random() * count);
const chance = (share: number): boolean => Math.random() < share;
const rate = (most: number): number => below(most * 1000) / 1000;

/** Words until the limit of tokens, in chunks of which each answer has at least five. */
function* endless(): Iterable<string> {
  for (;;) yield 'another word of a long answer that never ends by itself '.repeat(4);
}

/**
 * Runs turns of models that write as much as they may, in sessions with random budgets, prices and messages, with tools, failed
 * calls, and at least one summary. The servers of half of the models count tokens. The others do not, and find up to
 * `MAX_DENSITY` times the tokens of our estimate.
 */
async function runBudgetTurns(turns: number): Promise<Kept> {
  const [counting, estimated, mcp] = await Promise.all([
    startScriptedModel(),
    startScriptedModel({ countsTokens: false }),
    startMcpServer({ tools: [{ name: 'look', run: () => 'Something that was found. '.repeat(1 + below(60)) }] }),
  ]);
  const prices = new Map<string, Price>();
  const models = Array.from({ length: MODELS }, (_, index): ModelEntry => {
    const isCounting = index % 2 === 0;
    const id = `${isCounting ? 'counting' : 'estimated'}-${index}`;
    const price = {
      currency: 'USD',
      input: rate(20),
      output: rate(50) || 1,
      cache_read: rate(2),
      cache_write: rate(30),
    };
    prices.set(id, priceOf({ price })!);
    const { url } = isCounting ? counting : estimated;
    const size = { context_window: 8_000, max_output_tokens: 300 + below(1_200) };
    return { ...TEST_MODEL, ...size, id, model: id, base_url: url, price };
  });
  const service = await startTurnService({ models, config: { mcpAllowedHosts: [mcp.host] } });
  const sent = new Map<number, Sent[]>();
  const kept: Kept = {
    ...{ turns: 0, calls: 0, stopped: 0, summaries: 0 },
    ...{ exceeded: { counting: [], estimated: [] }, shares: [], unexplained: [] },
  };

  const reply = (request: ReceivedRequest, isCounting: boolean): Reply => {
    const body = request.body as ModelRequest;
    const price = prices.get(body.model)!;
    const session = Number(/session-(\d+) /.exec(JSON.stringify(body.messages))![1]);
    const { tokens } = measure(body);
    const found = isCounting ? tokens : Math.ceil(tokens * (0.8 + Math.random() * (MAX_DENSITY - 0.8)));
    const read = chance(0.5) ? below(found) : 0;
    const written = chance(0.5) ? found - read : 0;
    const usage = {
      input_tokens: found - read - written,
      cache_read_input_tokens: read,
      cache_creation_input_tokens: written,
    };
    const dearer = price.input > price.cache_write ? price.input : price.cache_write;
    const counted = isCounting ? found : estimateRequest(body);
    const error = costOf(price, { ...usage, output_tokens: 0 }) - BigInt(counted) * dearer;
    sent.set(session, [...(sent.get(session) ?? []), { error: error > 0n ? error : 0n }]);
    kept.calls += 1;
    if (request.userText.includes('<transcript>')) kept.summaries += 1;
    if (chance(0.05)) return message(text(endless(), { before: { [below(5)]: cut() } }), { usage });
    // The summary names the session for the requests after it.
    if (request.userText.includes('<transcript>'))
      return message([text(`Of session-${session} `), text(endless())], { usage });
    if (chance(0.4)) return message([text('I look. '.repeat(1 + below(50))), toolUse('mcp__shop__look')], { usage });
    return message(text(endless()), { usage });
  };
  counting.script((request) => reply(request, true));
  estimated.script((request) => reply(request, false));

  const { body: server } = await service.api('POST', '/v1/mcp-servers', { name: 'shop', url: mcp.url });
  let sessions = 0;
  const runSession = async (): Promise<void> => {
    sessions += 1;
    const [number, entry] = [sessions, models[below(MODELS)]!];
    const run = new BudgetSession(service, entry, prices.get(entry.id)!);
    await run.create(server.id as string);
    for (let left = 1 + below(MAX_TURNS_OF_SESSION); left > 0; left -= 1) {
      const callsBefore = sent.get(number)?.length ?? 0;
      const { stopReason, spent, budget } = await run.turn(`session-${number} ${'word '.repeat(below(1_200))}`);
      kept.turns += 1;
      if (stopReason === 'budget_reached') kept.stopped += 1;
      const calls = sent.get(number) ?? [];
      // Without a call nothing was spent: the budget may be lower than what was spent before.
      if (calls.length === callsBefore || spent <= budget) continue;
      const exceeded = spent - budget;
      kept.exceeded[entry.id.startsWith('counting') ? 'counting' : 'estimated'].push(exceeded);
      kept.shares.push(Number(exceeded) / Number(budget));
      const { error } = calls.at(-1)!;
      if (exceeded > error) {
        kept.unexplained.push(
          `${entry.id}: ${toDecimal(exceeded)} beyond ${toDecimal(budget)}, error ${toDecimal(error)}`,
        );
      }
    }
  };
  try {
    // Where the prices leave little room for calls, the first turns may come without a summary.
    const lane = async (): Promise<void> => {
      while (kept.turns < turns || kept.summaries === 0) await runSession();
    };
    await Promise.all(Array.from({ length: LANES }, lane));
  } finally {
    await service.close();
    await Promise.all([counting.close(), estimated.close(), mcp.close()]);
  }
  return kept;
}

/** A session with a budget that changes before each turn, and while its turn waits for a larger one. */
class BudgetSession {
  #id = '';
  #budget = 0n;

  constructor(
    private readonly service: TurnService,
    private readonly entry: ModelEntry,
    private readonly price: Price,
  ) {}

  async create(mcpServer: string): Promise<void> {
    const body = {
      model_id: this.entry.id,
      mcp_servers: [mcpServer],
      budget: this.#next(0n, 'stop'),
      thinking_enabled: false,
    };
    this.#id = await this.service.session(body);
  }

  async turn(content: string): Promise<{ stopReason: string; spent: bigint; budget: bigint }> {
    await this.#patch(this.#next(await this.#spent(), chance(0.3) ? 'pause' : 'stop'));
    const turnId = await this.service.send(this.#id, content);
    for (let raises = 0; ; raises += 1) {
      const state = await this.#stateOf(turnId);
      if (state.end !== null) {
        expect(state.end.type, JSON.stringify(state.end)).to.equal('turn.completed');
        return { stopReason: state.end.stop_reason, spent: await this.#spent(), budget: this.#budget };
      }
      if (raises < MAX_RAISES) await this.#patch(this.#next(await this.#spent(), 'pause'));
      else await this.#patch({ max_cost: { amount: toDecimal(this.#budget), currency: 'USD' }, on_reached: 'stop' });
    }
  }

  /** Waits until the turn has ended or waits for a larger budget. */
  async #stateOf(turnId: string): Promise<{ end: { type: string; stop_reason: string } | null }> {
    let end: { type: string; stop_reason: string } | null = null;
    await eventually('the turn ends or waits', async () => {
      const { body } = await this.service.api('GET', `/v1/sessions/${this.#id}`);
      if (body.required_actions.length > 0) return true;
      if (body.status === 'RUNNING') return false;
      const rows = await this.service.db.query<{ type: string; data: { stop_reason: string } }[]>(
        `SELECT type, data FROM events WHERE turn_id = $1 AND type LIKE 'turn.%' ORDER BY position DESC LIMIT 1`,
        [turnId],
      );
      end = { type: rows[0]!.type, stop_reason: rows[0]!.data.stop_reason };
      return true;
    });
    return { end };
  }

  async #spent(): Promise<bigint> {
    return toUnits((await this.service.api('GET', `/v1/sessions/${this.#id}`)).body.cost.amount as string);
  }

  async #patch(budget: object): Promise<void> {
    const { status, body } = await this.service.api('PATCH', `/v1/sessions/${this.#id}`, { budget });
    expect(status, JSON.stringify(body)).to.equal(200);
  }

  /** Room for up to some two calls after what was spent. */
  #next(spent: bigint, onReached: 'pause' | 'stop') {
    const { input, output } = this.price;
    const call = 4_000n * input + BigInt(this.entry.max_output_tokens) * output;
    const room = (call * BigInt(below(2_000))) / 1_000n;
    // A budget has six decimals.
    this.#budget = ((spent + room) / 1_000_000n + 1n) * 1_000_000n;
    return { max_cost: { amount: toDecimal(this.#budget), currency: 'USD' }, on_reached: onReached };
  }
}

/** decisions.md "Money and models": a budget is never exceeded by more than the error of the token estimate. */
describe(`the budgets of ${TURNS} random turns`, function () {
  this.timeout(120_000 + TURNS * 2_000);
  let kept: Kept;
  before(async () => (kept = await runBudgetTurns(TURNS)));

  it(`the budgets of ${TURNS} random turns are never exceeded by models whose server counts tokens`, () => {
    expect(kept.exceeded.counting).to.deep.equal([]);
  });

  it(`the budgets of ${TURNS} random turns are exceeded by others by no more than the error of the estimate of the last call`, () => {
    const { turns, calls, stopped, summaries, exceeded, shares } = kept;
    const largest = Math.max(0, ...shares) * 100;
    console.log(
      `      ${turns} turns, ${calls} calls, ${summaries} of them summaries, ${stopped} turns ended at the budget; ` +
        `${exceeded.estimated.length} exceeded it, by at most ${largest.toFixed(2)} %`,
    );
    expect(kept.unexplained).to.deep.equal([]);
    expect(stopped).to.be.above(TURNS / 20);
    expect(summaries).to.be.above(0);
  });
});
