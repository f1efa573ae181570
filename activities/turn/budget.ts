import { openBudgetWait, waitForReserve } from '../../src/waits/budget.js';
import { neededFor, outputWithin, reserveOf, type Need, type Reserve } from '../../src/sessions/budget.js';
import type { TurnContext } from '../../src/steps/context.js';
import type { StepOutcome } from '../../src/steps/model-step.js';
import { claimTurn } from '../../src/turns/begin.js';
import { endTurn } from '../../src/turns/end.js';
import { BUDGET_REACHED } from '../../src/turns/outcome.js';
import { TurnEndedError } from '../../src/turns/errors.js';
import type { ActivityDeps } from '../deps.js';
import type { ModelClient } from '../model/clients.js';

/** Returns the most output tokens that the session's budget allows a call with the given input tokens; null if it does not fit. */
export function budgetOf(
  { budget, spent }: Pick<TurnContext, 'budget' | 'spent'>,
  { called }: Pick<ModelClient, 'called'>,
): (inputTokens: number) => number | null {
  if (budget === null) return () => Number.POSITIVE_INFINITY;
  return (inputTokens) => outputWithin(budget, spent, called.price, inputTokens);
}

/** What a call of at most so many tokens may cost; null without a budget. */
export function reserveFor(
  { budget, spent }: Pick<TurnContext, 'budget' | 'spent'>,
  { called }: Pick<ModelClient, 'called'>,
  tokens: { inputTokens: number; maxTokens: number },
): Reserve | null {
  return reserveOf(budget, spent, called.price, tokens);
}

/** What a call needs that does not fit into the session's budget; null if it never fits. */
export function neededOf(
  { budget, spent }: Pick<TurnContext, 'budget' | 'spent'>,
  { called }: Pick<ModelClient, 'called'>,
  inputTokens: number,
): Need | null {
  return budget === null ? null : neededFor(budget, spent, called.price, inputTokens);
}

/**
 * Stops at a model call of a child turn that may cost more than other calls under way leave. It is prepared again when one of them has
 * ended.
 */
export async function waitForOthers(
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
export async function reachBudget(
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
