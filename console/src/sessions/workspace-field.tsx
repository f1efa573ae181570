import { Checkbox } from '../parts/fields.js';
import { asksAlways, type WorkspaceToolset } from './session-tools.js';

interface Props {
  /** Null: the session gets none. */
  workspace: WorkspaceToolset | null;
  onChange: (workspace: WorkspaceToolset | null) => void;
}

/** Whether the agent has files of its own and runs commands, and whether a person allows each. */
export function WorkspaceField({ workspace, onChange }: Props) {
  const configs = workspace?.configs ?? [];
  const ask = (on: boolean): void => {
    const { default_config: _, ...others } = workspace!;
    onChange(on ? { ...others, default_config: { permission_policy: { type: 'always_ask' } } } : others);
  };
  return (
    <fieldset>
      <legend>Files and commands</legend>
      <Checkbox
        label="Workspace"
        hint="the agent runs commands in a sandbox, on files of the session’s own"
        checked={workspace !== null}
        onChange={(on) => onChange(on ? { type: 'workspace' } : null)}
      />
      {workspace !== null && (
        <Checkbox
          label="ask before each command"
          hint="and before each file that it reads or writes there"
          checked={asksAlways(workspace)}
          onChange={ask}
        />
      )}
      {configs.length > 0 && (
        <p class="hint">
          Of the session before:{' '}
          {configs
            .map(({ name, permission_policy: { type } }) => `${name} ${type === 'always_ask' ? 'asks' : 'never asks'}`)
            .join(', ')}
        </p>
      )}
    </fieldset>
  );
}
