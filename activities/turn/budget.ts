import { outputWithin } from '../../src/sessions/budget.js';
import type { TurnContext } from '../../src/steps/context.js';
import { claimTurn } from '../../src/turns/claim.js';
import { endTurn } from '../../src/turns/finish.js';
import { TurnEndedError } from '../../src/turns/turn.js';
import type { ActivityDeps } from '../deps.js';
import type { ModelClient } from '../model/clients.js';

/** The most output tokens that the session's budget allows a call of the model after so many input tokens. */
export function budgetOf(
  { budget, spent }: Pick<TurnContext, 'budget' | 'spent'>,
  { called }: Pick<ModelClient, 'called'>,
): (inputTokens: number) => number | null {
  if (budget === null) return () => Number.POSITIVE_INFINITY;
  return (inputTokens) => outputWithin(budget, spent, called.price, inputTokens);
}

/**
 * Ends a turn whose next model call does not fit into the session's budget. What is stored stays, and messages that wait
 * are held (contract.md §9).
 * @throws TurnEndedError if something else has ended it
 */
export async function endByBudget(deps: ActivityDeps, turnId: string): Promise<void> {
  await claimTurn(deps, turnId);
  if (await endTurn(deps, turnId, { kind: 'completed', stopReason: 'budget_reached' })) return;
  throw new TurnEndedError(turnId);
}
