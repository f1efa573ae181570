import type { ReactNode } from 'react';
import type { WaitingMessage } from '@agent-session-service/client';

interface QueueProps {
  queue: WaitingMessage[];
  /** The turn before was stopped or failed: what waits starts when somebody says so. */
  isHeld: boolean;
  onWithdraw: (eventId: string) => void;
  onRelease: () => void;
}

export function Queue({ queue, isHeld, onWithdraw, onRelease }: QueueProps): ReactNode {
  if (queue.length === 0) return null;
  return (
    <section className="queue" aria-label="Waiting messages">
      <ul>
        {queue.map(({ id, content }) => (
          <li key={id}>
            <span className="clip grow">{content}</span>
            <button type="button" className="plain" aria-label={`Withdraw ${content}`} onClick={() => onWithdraw(id)}>
              ×
            </button>
          </li>
        ))}
      </ul>
      {isHeld ? (
        <button type="button" onClick={onRelease}>
          Send now
        </button>
      ) : (
        <span className="soft">sent when this answer is complete</span>
      )}
    </section>
  );
}
