import { useState } from 'preact/hooks';
import type { BudgetAction } from '../../../client/src/index.js';
import { useAction } from '../client/use-action.js';
import { ErrorNote } from '../parts/error-note.js';
import { exactMoney } from '../parts/format.js';
import { Time } from '../parts/time.js';
import { leftOf, type Budget } from './budget.js';
import { useDecisions } from './decision-context.js';
import { AmountField } from './edit-budget.js';

/** A turn that waits for a larger budget: a person raises it, removes it, or lets the turn end. */
export function BudgetForm({ action }: { action: BudgetAction }) {
  const { spent, max_cost: max, expires_at: expiresAt } = action;
  const { setBudget } = useDecisions();
  const [amount, setAmount] = useState(max.amount);
  const deciding = useAction(async (budget: Budget | null) => {
    if (!(await setBudget(budget))) throw new Error('The next model call needs more than that: the turn waits on.');
  });
  const budgetOf = (more: string, onReached: Budget['on_reached']): Budget => ({
    max_cost: { amount: more, currency: max.currency },
    on_reached: onReached,
  });
  const left = leftOf({ max_cost: max, on_reached: 'pause' }, spent)!;
  return (
    <form
      class="tool waiting-for-you budget"
      aria-label="The budget is reached"
      onSubmit={(event) => (event.preventDefault(), deciding.run(budgetOf(amount, 'pause')))}
    >
      <h3>The budget is reached</h3>
      <p>
        {exactMoney(spent)} of {exactMoney(max)} is spent. The next model call does not fit into the {exactMoney(left)}{' '}
        left.
      </p>
      <AmountField amount={amount} currency={max.currency} onAmount={setAmount} />
      <ErrorNote error={deciding.error} />
      <div class="actions">
        <button class="primary" disabled={deciding.busy}>
          Raise the budget
        </button>
        <button type="button" disabled={deciding.busy} onClick={() => deciding.run(null)}>
          Remove the budget
        </button>
        <button
          type="button"
          class="danger"
          disabled={deciding.busy}
          onClick={() => deciding.run(budgetOf(max.amount, 'stop'))}
        >
          End the turn
        </button>
      </div>
      <p class="hint">
        The turn waits at no cost. Without a decision it ends <Time at={expiresAt} />.
      </p>
    </form>
  );
}
