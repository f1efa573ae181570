import { useState } from 'preact/hooks';
import type { McpServer } from '../../../client/src/index.js';
import { useClient } from '../client/service.js';
import { useAction } from '../client/use-action.js';
import { GroupsField } from '../keys/groups-field.js';
import { groupsOf } from '../keys/groups.js';
import { useAnnounce } from '../parts/announcer.js';
import { ErrorNote } from '../parts/error-note.js';
import { Checkbox } from '../parts/fields.js';
import { allowedToolNames } from '../sessions/session-tools.js';

/** The entry for the tools that no other one names. */
const OTHERS = '';

interface Props {
  server: McpServer;
  onSaved: (server: McpServer) => void;
}

/** Which tools ask a person in every session, and who decides. */
export function RequiredApprovals({ server, onSaved }: Props) {
  const client = useClient();
  const announce = useAnnounce();
  const [groups, setGroups] = useState<Record<string, string>>(() =>
    Object.fromEntries(
      server.required_approvals.map(({ name = OTHERS, approvers = [] }) => [name, approvers.join(', ')]),
    ),
  );
  const saving = useAction(async () => {
    const required_approvals = Object.entries(groups).map(([name, text]) => ({
      ...(name !== OTHERS && { name }),
      ...(groupsOf(text).length > 0 && { approvers: groupsOf(text) }),
    }));
    onSaved(await client.updateMcpServer(server.id, { required_approvals }));
    announce('Saved');
  });
  const toggle = (name: string, on: boolean): void => {
    const { [name]: _, ...others } = groups;
    setGroups(on ? { ...others, [name]: '' } : others);
  };
  const names = [OTHERS, ...new Set([...allowedToolNames(server), ...Object.keys(groups)])].filter(
    (name, at, all) => all.indexOf(name) === at,
  );
  return (
    <details class="section">
      <summary>
        Approvals in every session{' '}
        <span class="hint">{server.required_approvals.length === 0 ? 'none' : 'a person decides'}</span>
      </summary>
      <form class="form" onSubmit={(event) => (event.preventDefault(), saving.run())}>
        <fieldset>
          <legend>A person must allow the calls of</legend>
          {names.map((name) => (
            <div key={name}>
              <Checkbox
                label={name === OTHERS ? 'every other tool' : name}
                checked={name in groups}
                onChange={(on) => toggle(name, on)}
              />
              {name in groups && (
                <GroupsField
                  label={`Who decides about ${name === OTHERS ? 'the others' : name}`}
                  hint="Approver groups; without any, who the session says."
                  value={groups[name]!}
                  onChange={(text) => setGroups({ ...groups, [name]: text })}
                />
              )}
            </div>
          ))}
        </fieldset>
        <ErrorNote error={saving.error} />
        <div class="actions">
          <button disabled={saving.busy}>Save</button>
        </div>
      </form>
    </details>
  );
}
