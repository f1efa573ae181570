import { useState } from 'preact/hooks';
import type { Session } from '../../../client/src/index.js';
import { DECIMAL_PATTERN } from '../../../src/platform/decimal.js';
import { useAction } from '../client/use-action.js';
import { ErrorNote } from '../parts/error-note.js';
import { SelectField, TextField } from '../parts/fields.js';
import type { Budget } from './budget.js';
import type { SetBudget } from './decision-context.js';

const ON_REACHED = [
  ['pause', 'waits until the budget changes'],
  ['stop', 'ends'],
] as const;

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
        <SelectField label="A turn that reaches it" value={onReached} options={ON_REACHED} onChange={setOnReached} />
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
    <TextField
      label={`At most, in ${currency}`}
      value={amount}
      required
      pattern={DECIMAL_PATTERN}
      title="A number with at most 9 digits before and 6 after the point"
      inputMode="decimal"
      autocomplete="off"
      onChange={onAmount}
    />
  );
}
