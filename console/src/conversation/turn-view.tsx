import type { RetryEvent } from '../../../client/src/index.js';
import { useService } from '../client/service.js';
import { CopyText } from '../parts/copy-text.js';
import { memo } from '../parts/memo.js';
import { Time } from '../parts/time.js';
import { BudgetForm } from './budget-form.js';
import { hasEnded, type Turn } from './conversation-log.js';
import { openActions, openBudget } from './tool-calls.js';
import { TurnItemView } from './turn-item-view.js';
import { itemsOf } from './turn-items.js';

export const TurnView = memo(function TurnView({ turn }: { turn: Turn }) {
  const items = itemsOf(turn);
  const waits = openActions(turn).length > 0;
  const budget = openBudget(turn);
  const progress = waits ? 'Waiting for your answer' : turn.draft === null ? 'Working' : 'Writing';
  return (
    <article class="turn" aria-label="Turn">
      {items.map((item) => (
        <TurnItemView key={item.key} item={item} />
      ))}
      {turn.retry !== null && <RetryNotice notice={turn.retry} />}
      {budget !== null && <BudgetForm action={budget} />}
      {budget === null && !hasEnded(turn) && <p class={waits ? 'waiting' : 'working'}>{progress}</p>}
      <div class="facts">
        <CopyText text={turn.id} label="turn id">
          turn id
        </CopyText>
        <WorkflowLink turnId={turn.id} />
      </div>
    </article>
  );
});

function WorkflowLink({ turnId }: { turnId: string }) {
  const { workflow_url: address } = useService().config;
  if (address === null) return null;
  return (
    <a href={address.replace('{turn_id}', encodeURIComponent(turnId))} target="_blank" rel="noopener noreferrer">
      Workflow in Temporal
    </a>
  );
}

function RetryNotice({ notice: { reason, attempt, retry_at: at } }: { notice: RetryEvent }) {
  return (
    <p class="note warning">
      <strong>{reason}</strong> The model did not answer ({attempt === 1 ? 'once' : `${attempt} times`}). It is called
      again <Time at={at} />.
    </p>
  );
}
