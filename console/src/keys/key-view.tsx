import { useState } from 'preact/hooks';
import type { ApiKey } from '../../../client/src/index.js';
import { useClient } from '../client/service.js';
import { useAction } from '../client/use-action.js';
import { useLoad } from '../client/use-load.js';
import { ActionForm } from '../parts/action-form.js';
import { ConfirmButton } from '../parts/confirm-button.js';
import { CopyText } from '../parts/copy-text.js';
import { Checkbox, TextField } from '../parts/fields.js';
import { PageHead, UnreadPage } from '../parts/page-head.js';
import { Time } from '../parts/time.js';
import { GroupsField } from './groups-field.js';
import { groupsOf } from './groups.js';
import { KeyStatus } from './key-status.js';

export function KeyView({ id }: { id: string }) {
  const client = useClient();
  const { value: key, error, replace } = useLoad((signal) => client.getKey(id, { signal }), [client, id]);
  const [withMade, setWithMade] = useState(false);
  if (key === null) return <UnreadPage title="Key" error={error} />;
  const revoke = async (): Promise<void> => {
    await client.revokeKey(id, withMade ? { descendants: true } : {});
    replace(await client.getKey(id));
  };
  return (
    <>
      <PageHead title={key.name ?? 'Key'} back="#/keys">
        <KeyStatus apiKey={key} />
        <a class="button" href={`#/audit-log?key_id=${id}`}>
          What was done with it
        </a>
        <ConfirmButton label="Revoke" question={`Revoke the key ${key.name ?? id} for good?`} onConfirm={revoke}>
          <p>It is refused within 5 seconds. Its turns and schedules go on.</p>
          <Checkbox
            label="also the keys that it made"
            hint="and the keys that those made"
            checked={withMade}
            onChange={setWithMade}
          />
        </ConfirmButton>
      </PageHead>
      <KeyFacts apiKey={key} />
      <EditKey key={key.name + key.approver_groups.join()} apiKey={key} onSaved={replace} />
    </>
  );
}

function KeyFacts({ apiKey }: { apiKey: ApiKey }) {
  const { id, scopes, approver_groups: groups, created_by: maker } = apiKey;
  return (
    <dl class="fact-list">
      <dt>Id</dt>
      <dd>
        <CopyText text={id} label="key id" />
      </dd>
      <dt>It may</dt>
      <dd>{scopes.join(', ')}</dd>
      <dt>Approves for</dt>
      <dd>{groups.length === 0 ? 'no group' : groups.includes('*') ? 'every group' : groups.join(', ')}</dd>
      <dt>Made</dt>
      <dd>
        <Time at={apiKey.created_at} /> {maker === null ? 'by a command' : <a href={`#/keys/${maker}`}>by {maker}</a>}
      </dd>
      <dt>Ends</dt>
      <dd>{apiKey.expires_at === null ? 'never' : <Time at={apiKey.expires_at} />}</dd>
      {apiKey.revoked_at !== null && (
        <>
          <dt>Revoked</dt>
          <dd>
            <Time at={apiKey.revoked_at} />
          </dd>
        </>
      )}
      <dt>Last used</dt>
      <dd>{apiKey.last_used_at === null ? 'never' : <Time at={apiKey.last_used_at} />}</dd>
    </dl>
  );
}

function EditKey({ apiKey, onSaved }: { apiKey: ApiKey; onSaved: (key: ApiKey) => void }) {
  const client = useClient();
  const [name, setName] = useState(apiKey.name ?? '');
  const before = apiKey.approver_groups.join(', ');
  const [groups, setGroups] = useState(before);
  const saving = useAction(async () =>
    onSaved(
      await client.updateKey(apiKey.id, {
        ...(name !== (apiKey.name ?? '') && { name }),
        ...(groups !== before && { approver_groups: groupsOf(groups) }),
      }),
    ),
  );
  return (
    <details class="section">
      <summary>Change it</summary>
      <ActionForm action={saving} submit="Save" incomplete={name === '' && apiKey.name !== null}>
        <TextField label="Name" maxLength={255} value={name} onChange={setName} />
        <GroupsField hint="You can add those of your own key, and take away any." value={groups} onChange={setGroups} />
      </ActionForm>
    </details>
  );
}
