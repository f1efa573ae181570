import { useState } from 'preact/hooks';
import { useClient } from '../client/service.js';
import { useAction } from '../client/use-action.js';
import { ErrorNote } from '../parts/error-note.js';
import { PageHead } from '../parts/page-head.js';
import { navigate } from '../route.js';
import { ModelField } from '../sessions/model-field.js';
import { NextRuns } from './next-runs.js';

/** A schedule whose turns each have a new session. */
export function NewSchedule() {
  const client = useClient();
  const [name, setName] = useState('');
  const [cron, setCron] = useState('0 8 * * MON-FRI');
  const [timezone, setTimezone] = useState(() => Intl.DateTimeFormat().resolvedOptions().timeZone);
  const [content, setContent] = useState('');
  const [modelId, setModelId] = useState('');
  const [thinking, setThinking] = useState(true);
  const creating = useAction(async () => {
    const session = { model_id: modelId, thinking_enabled: thinking };
    const target = { type: 'new_session' as const, session };
    const { id } = await client.createSchedule({
      ...(name !== '' && { name }),
      ...{ cron, timezone, target, message: { content } },
    });
    navigate(`/schedules/${id}`);
  });
  return (
    <>
      <PageHead title="New schedule" />
      <form class="form" onSubmit={(event) => (event.preventDefault(), creating.run())}>
        <label class="field">
          <span>Name</span>
          <input value={name} maxLength={128} onInput={(event) => setName(event.currentTarget.value)} />
        </label>
        <label class="field">
          <span>When</span>
          <input value={cron} required onInput={(event) => setCron(event.currentTarget.value)} />
          <span class="hint">Minute, hour, day of month, month, day of week</span>
        </label>
        <label class="field">
          <span>Time zone</span>
          <input value={timezone} required onInput={(event) => setTimezone(event.currentTarget.value)} />
        </label>
        <NextRuns cron={cron} timezone={timezone} />
        <label class="field">
          <span>Message</span>
          <textarea value={content} required rows={4} onInput={(event) => setContent(event.currentTarget.value)} />
        </label>
        <ModelField modelId={modelId} thinking={thinking} onModel={setModelId} onThinking={setThinking} />
        <ErrorNote error={creating.error} />
        <div class="actions">
          <button class="primary" disabled={creating.busy || modelId === ''}>
            Create schedule
          </button>
          <a class="button quiet" href="#/schedules">
            Back
          </a>
        </div>
      </form>
    </>
  );
}
