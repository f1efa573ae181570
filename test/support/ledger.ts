import type { CallUsage, TokenKind } from '../../src/models/content.js';
import type { UsageGroup, UsageGrouping } from '../../src/turns/usage.js';

/** A turn as a test ran it. */
export interface Entry {
  turn: string;
  session: string;
  /** The model that it asked for. */
  asked: string;
  /** Null usage: the call reported none. */
  calls: { model: string; usage: CallUsage | null }[];
  day: number;
  date?: string;
}

/** A fraction: nothing here shares a line or a method with the service's own sums. */
type Fraction = readonly [numerator: bigint, denominator: bigint];
type Money = { amount: string; currency: string } | null;
type Rates = Record<string, readonly string[] | null>;

const ZERO: Fraction = [0n, 1n];

function add([a, b]: Fraction, [c, d]: Fraction): Fraction {
  return b === d ? [a + c, b] : [a * d + c * b, b * d];
}

function parse(decimal: string): Fraction {
  const point = decimal.indexOf('.');
  const decimals = point < 0 ? 0 : decimal.length - point - 1;
  return [BigInt(decimal.replace('.', '')), 10n ** BigInt(decimals)];
}

/** Long division, until nothing is left. */
function print([numerator, denominator]: Fraction): string {
  let digits = `${numerator / denominator}`;
  let rest = numerator % denominator;
  if (rest > 0n) digits += '.';
  for (; rest > 0n; rest %= denominator) {
    rest *= 10n;
    digits += rest / denominator;
  }
  return digits;
}

/** What turns cost, in fractions of whole numbers. */
export class Ledger {
  readonly sessions: { id: string; model: string; team: string | null }[] = [];
  readonly turns: Entry[] = [];

  constructor(private readonly rates: Rates) {}

  costsOfTurns(): Map<string, Money> {
    const known = new Set(this.sessions.filter(({ model }) => this.rates[model] !== null).map(({ id }) => id));
    return new Map(
      this.turns.map(({ turn, session, calls }) => {
        if (calls.some(({ model }) => this.rates[model] !== null)) known.add(session);
        return [turn, this.#money(calls, known.has(session))];
      }),
    );
  }

  costsOfSessions(): Map<string, Money> {
    return new Map(
      this.sessions.map(({ id, model }) => {
        const calls = this.turns.filter(({ session }) => session === id).flatMap((turn) => turn.calls);
        const isKnown = [model, ...calls.map((call) => call.model)].some((each) => this.rates[each] !== null);
        return [id, this.#money(calls, isKnown)];
      }),
    );
  }

  groups(grouping: UsageGrouping): UsageGroup[] {
    const costs = this.costsOfTurns();
    const groups = new Map<string | null, { turns: Set<string>; calls: Entry['calls']; isKnown: boolean }>();
    const team = new Map(this.sessions.map(({ id, team: of }) => [id, of]));
    for (const entry of this.turns) {
      const keys = (): (string | null)[] => {
        if (grouping === 'day') return [entry.date!];
        if (grouping === 'session') return [entry.session];
        if (grouping !== 'model') return [team.get(entry.session)!];
        const called = new Set(entry.calls.map(({ model }) => model));
        return called.size === 0 ? [entry.asked] : [...called];
      };
      for (const key of keys()) {
        const group = groups.get(key) ?? { turns: new Set(), calls: [], isKnown: false };
        group.turns.add(entry.turn);
        group.calls.push(...entry.calls.filter(({ model }) => grouping !== 'model' || model === key));
        group.isKnown ||= costs.get(entry.turn) !== null || entry.calls.some(({ model }) => this.rates[model] !== null);
        groups.set(key, group);
      }
    }
    const bytes = (key: string | null): Buffer => Buffer.from(key ?? '\u{10ffff}');
    return [...groups]
      .sort(([a], [b]) => Buffer.compare(bytes(a), bytes(b)))
      .map(([group, { turns, calls, isKnown }]) => {
        const sum = (field: TokenKind): number => calls.reduce((total, { usage }) => total + (usage?.[field] ?? 0), 0);
        const [read, written] = [sum('cache_read_input_tokens'), sum('cache_creation_input_tokens')];
        return {
          group,
          turns: turns.size,
          model_calls: calls.length,
          input_tokens: sum('input_tokens') + read + written,
          output_tokens: sum('output_tokens'),
          cache_read_input_tokens: read,
          cache_creation_input_tokens: written,
          cost: this.#money(calls, isKnown),
        };
      });
  }

  #money(calls: Entry['calls'], isKnown: boolean): Money {
    if (!isKnown || calls.some(({ model }) => this.rates[model] === null)) return null;
    let total: Fraction = ZERO;
    for (const { model, usage } of calls) {
      if (usage === null) continue;
      const [input, output, read, write] = this.rates[model]!.map(parse) as [Fraction, Fraction, Fraction, Fraction];
      for (const [[n, d], tokens] of [
        [input, usage.input_tokens],
        [output, usage.output_tokens],
        [read, usage.cache_read_input_tokens],
        [write, usage.cache_creation_input_tokens],
      ] as [Fraction, number][]) {
        const common = 10n ** 12n;
        total = add(total, [n * BigInt(tokens) * (common / d / 1_000_000n), common]);
      }
    }
    return { amount: print(total), currency: 'USD' };
  }
}
