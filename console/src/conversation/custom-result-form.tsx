import { useState } from 'preact/hooks';
import type { WaitingCall } from '../../../client/src/index.js';
import { useAction } from '../client/use-action.js';
import { ErrorNote } from '../parts/error-note.js';
import { Checkbox, TextAreaField } from '../parts/fields.js';
import { Time } from '../parts/time.js';
import { useDecisions } from './decision-context.js';

export function CustomResultForm({ action }: { action: WaitingCall }) {
  const { answer } = useDecisions();
  const [content, setContent] = useState('');
  const [isError, setIsError] = useState(false);
  const answering = useAction(async () =>
    answer({ type: 'user.custom_tool_result', tool_use_id: action.tool_use_id, content, is_error: isError }),
  );
  return (
    <form
      class="answer"
      aria-label={`Result of ${action.name}`}
      onSubmit={(event) => (event.preventDefault(), answering.run())}
    >
      <TextAreaField
        label={`Result of ${action.name}`}
        rows={3}
        maxLength={100_000}
        value={content}
        onChange={setContent}
      />
      <ErrorNote error={answering.error} />
      <div class="actions">
        <button class="primary" disabled={answering.busy}>
          Send the result
        </button>
        <Checkbox label="It is an error" checked={isError} onChange={setIsError} />
      </div>
      <p class="hint">
        Without a result the call fails <Time at={action.expires_at} />.
      </p>
    </form>
  );
}
