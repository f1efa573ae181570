import type { NewSchedule, Session } from '../../../client/src/index.js';
import { useClient } from '../client/service.js';
import { useLoad } from '../client/use-load.js';
import { ErrorNote } from '../parts/error-note.js';
import { SelectField, TextField } from '../parts/fields.js';
import { ModelField } from '../sessions/model-field.js';
import type { WorkspaceToolset } from '../sessions/session-tools.js';
import { WorkspaceField } from '../sessions/workspace-field.js';

const OFFERED = 100;
const SESSIONS = [
  ['new', 'A new one each time'],
  ['existing', 'Always the same one'],
] as const;

/** Where a schedule's messages go: each into a session of its own, or all into one. */
export interface TargetForm {
  isNew: boolean;
  modelId: string;
  thinking: boolean;
  workspace: WorkspaceToolset | null;
  sessionId: string;
}

export const EMPTY_TARGET: TargetForm = { isNew: true, modelId: '', thinking: true, workspace: null, sessionId: '' };

export function targetOf({ isNew, modelId, thinking, workspace, sessionId }: TargetForm): NewSchedule['target'] {
  if (!isNew) return { type: 'existing_session', session_id: sessionId };
  const tools = workspace === null ? {} : { tools: [workspace] };
  return { type: 'new_session', session: { model_id: modelId, thinking_enabled: thinking, ...tools } };
}

interface Props {
  target: TargetForm;
  onChange: (target: TargetForm) => void;
}

export function TargetFields({ target, onChange }: Props) {
  const set = (change: Partial<TargetForm>): void => onChange({ ...target, ...change });
  return (
    <>
      <SelectField
        label="Session"
        value={target.isNew ? 'new' : 'existing'}
        options={SESSIONS}
        onChange={(session) => set({ isNew: session === 'new' })}
      />
      {target.isNew ? (
        <>
          <ModelField
            modelId={target.modelId}
            thinking={target.thinking}
            onModel={(modelId) => set({ modelId })}
            onThinking={(thinking) => set({ thinking })}
          />
          <WorkspaceField workspace={target.workspace} onChange={(workspace) => set({ workspace })} />
        </>
      ) : (
        <SessionField sessionId={target.sessionId} onChange={(sessionId) => set({ sessionId })} />
      )}
    </>
  );
}

/** The newest sessions are offered; the id of any other one can be typed. */
function SessionField({ sessionId, onChange }: { sessionId: string; onChange: (id: string) => void }) {
  const client = useClient();
  const { value: page, error } = useLoad((signal) => client.listSessions({ limit: OFFERED }, { signal }), [client]);
  const chosen = page?.items.find(({ id }) => id === sessionId);
  return (
    <>
      <ErrorNote error={error} />
      <TextField
        label="Id of the session"
        hint={chosen === undefined ? '\u00a0' : titleOf(chosen)}
        list="sessions"
        required
        value={sessionId}
        placeholder="ses_…"
        onChange={(id) => onChange(id.trim())}
      />
      <datalist id="sessions">
        {page?.items.map((session) => (
          <option key={session.id} value={session.id}>
            {titleOf(session)}
          </option>
        ))}
      </datalist>
    </>
  );
}

function titleOf({ metadata, preview, id }: Session): string {
  return metadata.title ?? preview ?? id;
}
