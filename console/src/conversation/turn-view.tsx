import { useState } from 'preact/hooks';
import type { RetryEvent } from '../../../client/src/index.js';
import { memo } from '../parts/memo.js';
import { formatNumber } from '../parts/format.js';
import { Time } from '../parts/time.js';
import { BudgetForm } from './budget-form.js';
import { hasEnded, type Turn } from './conversation-log.js';
import { openActions, openBudget } from './tool-calls.js';
import { TurnItemView } from './turn-item-view.js';
import { itemsOf, signatureOf } from './turn-items.js';

/** A turn of a thousand steps would take seconds to show: its newest steps come first, and the others when they are asked for. */
const STEPS = 40;

interface Props {
  turn: Turn;
  isInspected: boolean;
}

export const TurnView = memo(function TurnView({ turn, isInspected }: Props) {
  const [steps, setSteps] = useState(STEPS);
  const items = itemsOf(turn);
  const waits = openActions(turn).length > 0;
  const budget = openBudget(turn);
  const progress = waits ? 'Waiting for your answer' : turn.draft === null ? 'Working' : 'Writing';
  // The first one is the message.
  const [first, ...others] = items;
  const hidden = Math.max(0, others.length - steps);
  return (
    <article class={isInspected ? 'turn inspected' : 'turn'} aria-label="Turn" id={turn.id}>
      {first !== undefined && (
        <TurnItemView key={first.key} item={first} turnId={turn.id} signature={signatureOf(first)} />
      )}
      {hidden > 0 && (
        <button class="earlier" onClick={() => setSteps(steps + STEPS)}>
          Show {formatNumber(Math.min(hidden, STEPS))} earlier steps of {formatNumber(others.length)}
        </button>
      )}
      {others.slice(hidden).map((item) => (
        <TurnItemView key={item.key} item={item} turnId={turn.id} signature={signatureOf(item)} />
      ))}
      {turn.retry !== null && <RetryNotice notice={turn.retry} />}
      {budget !== null && <BudgetForm action={budget} />}
      {budget === null && !hasEnded(turn) && <p class={waits ? 'waiting' : 'working'}>{progress}</p>}
    </article>
  );
});

function RetryNotice({ notice: { reason, attempt, retry_at: at } }: { notice: RetryEvent }) {
  return (
    <p class="note warning">
      <strong>{reason}</strong> The model did not answer ({attempt === 1 ? 'once' : `${attempt} times`}). It is called
      again <Time at={at} />.
    </p>
  );
}
