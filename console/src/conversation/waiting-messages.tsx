import type { Session, WaitingMessage } from '../../../client/src/index.js';
import { useAction } from '../client/use-action.js';
import { ErrorNote } from '../parts/error-note.js';

interface Props {
  messages: WaitingMessage[];
  session: Session;
  running: boolean;
  onWithdraw: (messageId: string) => Promise<void>;
  onRelease: () => Promise<void>;
  onContinue: () => Promise<void>;
}

const PLACES = { steering: 'for the next model call', queued: 'for a turn of its own' } as const;

/** The messages that wait, and what can be done after a turn that did not complete. */
export function WaitingMessages({ messages, session, running, onWithdraw, onRelease, onContinue }: Props) {
  const withdrawing = useAction(onWithdraw);
  const releasing = useAction(onRelease);
  const continuing = useAction(onContinue);
  const canContinue = session.continuable && !running;
  if (messages.length === 0 && !canContinue) return null;
  const isHeld = messages.length > 0 && !running;
  return (
    <section class="waiting-messages" aria-label="What waits">
      <ErrorNote error={withdrawing.error ?? releasing.error ?? continuing.error} />
      {messages.length > 0 && (
        <ol>
          {messages.map(({ id, content, state }) => (
            <li key={id}>
              <span class="waiting-text">{content}</span>
              <span class="hint">{PLACES[state ?? 'queued']}</span>
              <button type="button" class="quiet" disabled={withdrawing.busy} onClick={() => withdrawing.run(id)}>
                Withdraw<span class="visually-hidden"> {content.slice(0, 60)}</span>
              </button>
            </li>
          ))}
        </ol>
      )}
      {(canContinue || isHeld) && (
        <div class="actions">
          <p class="hint">
            {isHeld ? 'The last turn did not complete: these messages are held.' : 'The last turn did not complete.'}
          </p>
          {isHeld && (
            <button type="button" disabled={releasing.busy} onClick={() => releasing.run()}>
              Release
            </button>
          )}
          {canContinue && (
            <button type="button" disabled={continuing.busy} onClick={() => continuing.run()}>
              Continue the turn
            </button>
          )}
        </div>
      )}
    </section>
  );
}
