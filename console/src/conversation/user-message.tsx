import type { UserMessageEvent } from '../../../client/src/index.js';
import { Time } from '../parts/time.js';
import { FileLine } from './file-line.js';

export function UserMessage({ event }: { event: UserMessageEvent }) {
  return (
    <div class="user-message">
      <h2 class="visually-hidden">Message</h2>
      <p class="plain-text">{event.content}</p>
      {event.files.map((file) => (
        <FileLine key={file.id} file={file} />
      ))}
      <div class="facts">
        {event.skills.map(({ id, name }) => (
          <span key={id}>skill {name}</span>
        ))}
        {event.model_id !== undefined && <span>{event.model_id}</span>}
        {event.delivered_at_step !== undefined && <span>steers from model call {event.delivered_at_step}</span>}
        <Time at={event.created_at} />
      </div>
    </div>
  );
}
