import type { FromSchema } from 'json-schema-to-ts';
import { money } from '../events/fields.js';
import { described, objectSchema, orNull } from '../platform/object-schema.js';
import type { ModelCatalogue } from '../models/catalogue.js';
import type { Price } from '../models/price.js';
import { RequestOutdatedError } from '../models/request.js';
import { DECIMAL_PATTERN, toDecimal, toUnits } from '../platform/decimal.js';
import { validationError } from '../platform/errors.js';

const onReached = {
  $id: 'OnBudgetReached',
  type: 'string',
  enum: ['pause', 'stop'],
  description: '`pause`: the turn waits until the budget changes. `stop`: it ends with stop_reason `budget_reached`.',
} as const;

const BUDGET = 'What the model calls of the session may cost; null: as much as they need.';

/** What the model calls of a session may cost, and what happens to a turn that reaches it (decisions.md "Money and models"). */
export const budgetSchema = orNull(
  {
    $id: 'NewBudget',
    description: 'What the model calls of a session may cost, and what happens to a turn that reaches it.',
    ...objectSchema({
      max_cost: {
        $id: 'MaxCost',
        description: 'The most that all model calls of the session may cost.',
        ...objectSchema({
          amount: {
            type: 'string',
            pattern: `^(?=.*[1-9])${DECIMAL_PATTERN.slice(1)}`,
            description: 'A decimal number above 0, with at most 9 digits before and 6 after the point.',
          },
          currency: { type: 'string', description: 'The currency of the catalogue’s prices.' },
        }),
      },
      on_reached: onReached,
    }),
  },
  BUDGET,
);

/** The budget of a session in responses. */
export const shownBudgetSchema = orNull(
  {
    $id: 'Budget',
    description: 'What the model calls of a session may cost, and what happens to a turn that reaches it.',
    ...objectSchema({
      max_cost: described(money, 'The most that all model calls of the session may cost.'),
      on_reached: onReached,
    }),
  },
  BUDGET,
);

export type Budget = NonNullable<FromSchema<typeof budgetSchema>>;

/** A call whose answer may have fewer tokens is not sent. */
const MIN_OUTPUT = 256n;

/**
 * The most output tokens that a call may have within a budget; null if the call does not fit. The input counts at the
 * dearer of `input` and `cache_write`: what the cache takes is known only afterwards. A call whose price is not known, or
 * is in another currency, does not fit.
 * @param spent the decimal number that the session has spent
 */
export function outputWithin(
  { max_cost }: Budget,
  spent: string,
  price: Price | null,
  inputTokens: number,
): number | null {
  if (price?.currency !== max_cost.currency) return null;
  const left = toUnits(max_cost.amount) - toUnits(spent) - BigInt(inputTokens) * dearer(price);
  if (left < 0n) return null;
  if (price.output === 0n) return Number.MAX_SAFE_INTEGER;
  const tokens = left / price.output;
  return tokens < MIN_OUTPUT ? null : Number(tokens);
}

function dearer({ input, cache_write }: Price): bigint {
  return input > cache_write ? input : cache_write;
}

/** What a call that does not fit needs, as decimal numbers. */
export interface Need {
  /** The max_cost at which it fits. */
  needed: string;
  /** Its own part of that. */
  own: string;
}

/**
 * What a call needs to fit into a budget; null if it never does.
 * @see outputWithin
 */
export function neededFor({ max_cost }: Budget, spent: string, price: Price | null, inputTokens: number): Need | null {
  if (price?.currency !== max_cost.currency) return null;
  const own = BigInt(inputTokens) * dearer(price) + MIN_OUTPUT * price.output;
  return { needed: toDecimal(toUnits(spent) + own), own: toDecimal(own) };
}

/** What a call in a session with a budget begins with. */
export interface Reserve {
  /** What the session had spent, and others reserved, when the limit of its output was decided. */
  spent: string;
  /** What it costs at most. */
  amount: string;
}

/** Null without a budget. */
export function reserveOf(
  budget: Budget | null,
  spent: string,
  price: Price | null,
  { inputTokens, maxTokens }: { inputTokens: number; maxTokens: number },
): Reserve | null {
  if (budget === null || price === null) return null;
  return { spent, amount: toDecimal(BigInt(inputTokens) * dearer(price) + BigInt(maxTokens) * price.output) };
}

/** Others have spent or reserved more since a call was prepared: it may not fit any more. */
export class BudgetChangedError extends RequestOutdatedError {
  override readonly name = 'BudgetChangedError';
  override readonly message = 'less of the budget is left than when the call was prepared';
}

/** @throws BudgetChangedError */
export function requireUnspent({ spent }: Reserve, byNow: string | null): void {
  if (byNow !== null && toUnits(byNow) > toUnits(spent)) throw new BudgetChangedError();
}

export function fits({ max_cost }: Budget, needed: string | null): boolean {
  return needed !== null && toUnits(max_cost.amount) >= toUnits(needed);
}

/**
 * Checks that a budget can be kept with this model: the model has a price, in the budget's currency.
 * @param path the JSON Pointer of an error about the model
 * @throws ServiceError `validation_error`
 */
export function checkBudgetForModel(
  models: ModelCatalogue,
  budget: Budget | null,
  modelId: string,
  path: string,
): void {
  if (budget === null) return;
  requirePrice(models, modelId, path);
  const { currency } = models.get(modelId)!.price!;
  if (budget.max_cost.currency !== currency) {
    throw validationError('/budget', `must be in ${currency}, the currency of the models' prices`);
  }
}

/** Checks a new budget of an existing session with each of its models, fallbacks included. @throws ServiceError `validation_error` */
export function checkBudgetForSession(
  models: ModelCatalogue,
  budget: Budget | null,
  { model_id, fallback_model_ids }: { model_id: string; fallback_model_ids: string[] },
): void {
  for (const id of [model_id, ...fallback_model_ids]) checkBudgetForModel(models, budget, id, '/budget');
}

/** @throws ServiceError `validation_error` for a model without a price in a session with a budget */
export function requirePrice(models: ModelCatalogue, modelId: string, path: string): void {
  if (models.get(modelId)?.price === undefined) {
    throw validationError(path, `needs a model with a price, since the session has a budget: ${modelId} has none`);
  }
}
