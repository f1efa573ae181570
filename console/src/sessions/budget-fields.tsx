import type { Session } from '../../../client/src/index.js';
import { DECIMAL_PATTERN } from '../../../src/platform/decimal.js';
import { SelectField, TextField } from '../parts/fields.js';

type Budget = NonNullable<Session['budget']>;

export interface BudgetForm {
  /** Empty for no budget. */
  amount: string;
  currency: string;
  onReached: Budget['on_reached'];
}

export function emptyBudget(budget: Budget | null): BudgetForm {
  if (budget === null) return { amount: '', currency: 'USD', onReached: 'pause' };
  return { ...budget.max_cost, onReached: budget.on_reached };
}

export function budgetOf({ amount, currency, onReached }: BudgetForm): Budget {
  return { max_cost: { amount, currency }, on_reached: onReached };
}

const ON_REACHED = [
  ['pause', 'waits until the budget changes'],
  ['stop', 'ends'],
] as const;

interface Props {
  budget: BudgetForm;
  onChange: (budget: BudgetForm) => void;
}

export function BudgetFields({ budget, onChange }: Props) {
  const set = (change: Partial<BudgetForm>): void => onChange({ ...budget, ...change });
  return (
    <details open={budget.amount !== ''}>
      <summary>Budget</summary>
      <div class="form columns">
        <TextField
          label="At most"
          hint="Empty: no budget. The model needs a price."
          pattern={DECIMAL_PATTERN}
          title="A number with at most 9 digits before and 6 after the point"
          inputMode="decimal"
          autocomplete="off"
          value={budget.amount}
          onChange={(amount) => set({ amount })}
        />
        <TextField label="Currency" maxLength={16} value={budget.currency} onChange={(currency) => set({ currency })} />
        <SelectField
          label="A turn that reaches it"
          value={budget.onReached}
          options={ON_REACHED}
          onChange={(onReached) => set({ onReached })}
        />
      </div>
    </details>
  );
}
