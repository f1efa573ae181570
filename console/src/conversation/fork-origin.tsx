import type { Session } from '../../../client/src/index.js';
import { ApiError } from '../../../client/src/index.js';
import { useClient } from '../client/service.js';
import { useLoad } from '../client/use-load.js';
import { titleOf } from '../sessions/title.js';

/** Where a fork comes from, as a link to the last turn that was copied. */
export function ForkOrigin({ origin }: { origin: NonNullable<Session['forked_from']> }) {
  const client = useClient();
  const { session_id: sessionId, turn_id: turnId } = origin;
  const { value, error } = useLoad((signal) => client.getSession(sessionId, { signal }), [client, sessionId]);
  if (error instanceof ApiError && error.status === 404) return <span>a fork of a session that is deleted</span>;
  return (
    <span>
      a fork of{' '}
      <a href={`#/sessions/${sessionId}${turnId === null ? '' : `?turn=${turnId}`}`}>
        {value === null ? sessionId : titleOf(value)}
      </a>
    </span>
  );
}
