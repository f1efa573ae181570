import { openBudgetWait, waitForReserve } from '../../src/waits/budget.js';
import type { Price } from '../../src/models/price.js';
import { neededFor, outputWithin, reserveOf, type Budget, type Need, type Reserve } from '../../src/sessions/budget.js';
import type { TurnContext } from '../../src/steps/context.js';
import type { StepOutcome } from '../../src/steps/model-step.js';
import { BudgetReservedError } from '../../src/steps/reserve.js';
import { claimTurn } from '../../src/turns/begin.js';
import { endTurn } from '../../src/turns/end.js';
import { BUDGET_REACHED } from '../../src/turns/outcome.js';
import { TurnEndedError } from '../../src/turns/errors.js';
import type { ActivityDeps } from '../deps.js';
import type { ModelClient } from '../model/clients.js';
import type { AnswerRoom } from '../prompt/build-request.js';

/** A call does not fit into the session's budget. `needed` is null if it never fits. */
class TooDearError extends Error {
  override readonly name = 'TooDearError';
  constructor(readonly needed: Need | null) {
    super('the call does not fit into the budget');
  }
}

/** What the session's budget leaves to a call of one model. */
export class CallBudget implements AnswerRoom {
  readonly #budget: Budget | null;
  readonly #spent: string;
  readonly #price: Price | null;

  constructor({ budget, spent }: Pick<TurnContext, 'budget' | 'spent'>, { called }: Pick<ModelClient, 'called'>) {
    this.#budget = budget;
    this.#spent = spent;
    this.#price = called.price;
  }

  find(inputTokens: number): number | null {
    if (this.#budget === null) return Number.POSITIVE_INFINITY;
    return outputWithin(this.#budget, this.#spent, this.#price, inputTokens);
  }

  /** @throws TooDearError */
  require(inputTokens: number): number {
    const tokens = this.find(inputTokens);
    if (tokens !== null) return tokens;
    throw new TooDearError(neededFor(this.#budget!, this.#spent, this.#price, inputTokens));
  }

  /** What a call of at most so many tokens may cost; null without a budget. */
  reserve(tokens: { inputTokens: number; maxTokens: number }): Reserve | null {
    return reserveOf(this.#budget, this.#spent, this.#price, tokens);
  }
}

/** Runs work that calls the model in a step. If a call does not fit into the session's budget, the turn stops there: it waits, or ends. */
export async function withinBudget<T>(
  deps: ActivityDeps,
  { turnId, step }: { turnId: string; step: number },
  work: () => Promise<T>,
): Promise<T | Extract<StepOutcome, { kind: 'paused' | 'ended' }>> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof BudgetReservedError) return waitForOthers(deps, { turnId, step }, error.amount);
    if (error instanceof TooDearError) return reachBudget(deps, { turnId, step }, error.needed);
    throw error;
  }
}

/**
 * Stops at a model call of a child turn that may cost more than other calls under way leave. It is prepared again when one of them has
 * ended.
 */
async function waitForOthers(
  deps: ActivityDeps,
  place: { turnId: string; step: number },
  reserve: string,
): Promise<Extract<StepOutcome, { kind: 'paused' }>> {
  await claimTurn(deps, place.turnId);
  await waitForReserve(deps, place, reserve, deps.config.actionTimeoutSeconds);
  return { kind: 'paused' };
}

/**
 * Stops at a model call that does not fit into the session's budget: the turn waits or ends, as the budget says by now. What
 * is stored stays, and messages that wait are held (decisions.md "Messages while a turn runs").
 * @throws TurnEndedError if something else has ended it
 */
async function reachBudget(
  deps: ActivityDeps,
  { turnId, step }: { turnId: string; step: number },
  need: Need | null,
): Promise<Extract<StepOutcome, { kind: 'paused' | 'ended' }>> {
  await claimTurn(deps, turnId);
  const isPaused = await openBudgetWait(deps, { turnId, step }, need, deps.config.actionTimeoutSeconds);
  if (isPaused) return { kind: 'paused' };
  if (!(await endTurn(deps, turnId, BUDGET_REACHED))) throw new TurnEndedError(turnId);
  return { kind: 'ended', state: 'completed', stopReason: 'budget_reached' };
}
