import { useState } from 'preact/hooks';
import type { ApiKeyWithSecret, NewApiKey } from '../../../client/src/index.js';
import { useClient } from '../client/service.js';
import { useAction } from '../client/use-action.js';
import { ActionForm } from '../parts/action-form.js';
import { CheckList } from '../parts/check-list.js';
import { CopyText } from '../parts/copy-text.js';
import { TextField } from '../parts/fields.js';
import { PageHead } from '../parts/page-head.js';
import { GroupsField } from './groups-field.js';
import { groupsOf } from './groups.js';

type Scope = NewApiKey['scopes'][number];

const SCOPES: Record<Scope, string> = {
  'sessions:read': 'read sessions, turns, events and usage',
  'sessions:write': 'send messages, change sessions and schedules',
  'approvals:write': 'allow and deny calls of tools',
  'files:read': 'read files and workspaces',
  'files:write': 'upload and delete files',
  'skills:read': 'read skills and select them',
  'skills:write': 'upload and delete skills',
  'mcp_servers:read': 'read MCP servers and name them in sessions',
  'mcp_servers:write': 'register and change MCP servers and credentials',
  'agents:read': 'read agents and make sessions of them',
  'agents:write': 'make, change and delete agents',
  'memories:read': 'read memories',
  'memories:write': 'write and erase memories',
  'users:erase': 'erase persons',
  'webhooks:read': 'read webhooks and deliveries',
  'webhooks:write': 'change webhooks',
  'audit:read': 'read the audit log',
  'keys:read': 'read keys, without their secrets',
  'keys:write': 'make, change and revoke keys',
};

/** Makes a key, and shows its secret once. */
export function NewKey() {
  const client = useClient();
  const [name, setName] = useState('');
  const [scopes, setScopes] = useState<string[]>(['sessions:read']);
  const [groups, setGroups] = useState('');
  const [until, setUntil] = useState('');
  const [made, setMade] = useState<ApiKeyWithSecret | null>(null);
  const making = useAction(async () =>
    setMade(
      await client.createKey({
        name,
        scopes: scopes as Scope[],
        approver_groups: groupsOf(groups),
        ...(until !== '' && { expires_at: new Date(`${until}T00:00:00`).toISOString() }),
      }),
    ),
  );
  if (made !== null) {
    return (
      <>
        <PageHead title="Key made" />
        <div class="note warning" role="status">
          <p>
            <strong>Copy the key now.</strong> It is stored nowhere and not shown again.
          </p>
          <p>
            <CopyText text={made.key} label="key" />
          </p>
        </div>
        <a class="button primary self-start" href={`#/keys/${made.id}`}>
          Open the key
        </a>
      </>
    );
  }
  return (
    <>
      <PageHead title="New key" back="#/keys" />
      <ActionForm action={making} submit="Make key" incomplete={name === '' || scopes.length === 0} back="#/keys">
        <TextField label="Name" required maxLength={255} value={name} placeholder="finance desk" onChange={setName} />
        <fieldset>
          <legend>It may</legend>
          <CheckList
            options={Object.entries(SCOPES).map(([value, hint]) => ({ value, label: value, hint }))}
            selected={scopes}
            onChange={setScopes}
          />
        </fieldset>
        <GroupsField
          hint="Whose calls it decides, where a tool names groups. At most those of your own key."
          value={groups}
          onChange={setGroups}
        />
        <TextField
          label="Ends"
          type="date"
          hint="Without a day it ends with your own key."
          value={until}
          onChange={setUntil}
        />
      </ActionForm>
    </>
  );
}
