import type { Session } from '../../../client/src/index.js';
import { SessionStatus } from '../parts/status.js';
import { Time } from '../parts/time.js';

/** A session in the list. `metadata.title` or its first message names it, the other pairs stand beside it. */
export function SessionRow({ session }: { session: Session }) {
  const { title, ...others } = session.metadata;
  return (
    <li>
      <a class="row" href={`#/sessions/${session.id}`}>
        <span class="row-title">{title ?? session.preview ?? session.id}</span>
        <SessionStatus session={session} />
        <span class="hint">
          {session.model_id} · <Time at={session.updated_at} />
        </span>
        {session.queue.length > 0 && (
          <span class="tag">
            {session.queue.length} {session.queue.state === 'held' ? 'held' : 'waiting'}
          </span>
        )}
        {title !== undefined && session.preview !== null && <span class="row-more hint">{session.preview}</span>}
        {Object.entries(others).map(([key, value]) => (
          <span key={key} class="tag">
            {key}: {value}
          </span>
        ))}
      </a>
    </li>
  );
}
