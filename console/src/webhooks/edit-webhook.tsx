import { useState } from 'preact/hooks';
import type { NewWebhook, Webhook } from '../../../client/src/index.js';
import { useClient } from '../client/service.js';
import { useAction } from '../client/use-action.js';
import { ActionForm } from '../parts/action-form.js';
import { WebhookFields } from './webhook-fields.js';

interface Props {
  webhook: Webhook;
  onSaved: (webhook: Webhook) => void;
}

export function EditWebhook({ webhook, onSaved }: Props) {
  const client = useClient();
  const { url, event_types, description } = webhook;
  const [fields, setFields] = useState<NewWebhook>({ url, event_types, description });
  const saving = useAction(async () => onSaved(await client.updateWebhook(webhook.id, fields)));
  return (
    <details class="section">
      <summary>Change it</summary>
      <ActionForm action={saving} submit="Save" incomplete={fields.event_types.length === 0}>
        <WebhookFields webhook={fields} onChange={setFields} />
      </ActionForm>
    </details>
  );
}
