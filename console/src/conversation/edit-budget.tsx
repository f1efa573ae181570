import { useState } from 'preact/hooks';
import type { Session } from '../../../client/src/index.js';
import { DECIMAL_PATTERN } from '../../../src/platform/decimal.js';
import { useAction } from '../client/use-action.js';
import { ErrorNote } from '../parts/error-note.js';
import type { Budget } from './budget.js';
import type { SetBudget } from './decision-context.js';

interface Props {
  session: Pick<Session, 'budget' | 'cost'>;
  onChange: SetBudget;
}

/** The budget of a session whose models have prices: to set, change or remove. */
export function EditBudget({ session: { budget, cost }, onChange }: Props) {
  const [amount, setAmount] = useState(budget?.max_cost.amount ?? '');
  const [onReached, setOnReached] = useState<Budget['on_reached']>(budget?.on_reached ?? 'pause');
  const saving = useAction(async (next: Budget | null) => void (await onChange(next)));
  const currency = budget?.max_cost.currency ?? cost?.currency;
  if (currency === undefined) return null;
  return (
    <details class="instruction">
      <summary>Budget</summary>
      <form
        class="form"
        aria-label="Budget of the session"
        onSubmit={(event) => (
          event.preventDefault(),
          saving.run({ max_cost: { amount, currency }, on_reached: onReached })
        )}
      >
        <AmountField amount={amount} currency={currency} onAmount={setAmount} />
        <label class="field">
          <span>A turn that reaches it</span>
          <select
            value={onReached}
            onChange={(event) => setOnReached(event.currentTarget.value as Budget['on_reached'])}
          >
            <option value="pause">waits until the budget changes</option>
            <option value="stop">ends</option>
          </select>
        </label>
        <ErrorNote error={saving.error} />
        <div class="actions">
          <button class="primary" disabled={saving.busy}>
            Save
          </button>
          {budget !== null && (
            <button type="button" class="danger" disabled={saving.busy} onClick={() => saving.run(null)}>
              Remove
            </button>
          )}
        </div>
      </form>
    </details>
  );
}

interface AmountProps {
  amount: string;
  currency: string;
  onAmount: (amount: string) => void;
}

export function AmountField({ amount, currency, onAmount }: AmountProps) {
  return (
    <label class="field">
      <span>At most, in {currency}</span>
      <input
        value={amount}
        required
        pattern={DECIMAL_PATTERN}
        title="A number with at most 9 digits before and 6 after the point"
        inputMode="decimal"
        autocomplete="off"
        onInput={(event) => onAmount(event.currentTarget.value)}
      />
    </label>
  );
}
