import { useState } from 'preact/hooks';
import type { NewWebhook as Body, WebhookWithSecret } from '../../../client/src/index.js';
import { useClient } from '../client/service.js';
import { useAction } from '../client/use-action.js';
import { ActionForm } from '../parts/action-form.js';
import { PageHead } from '../parts/page-head.js';
import { SecretNote } from './secret-note.js';
import { WebhookFields } from './webhook-fields.js';

export function NewWebhook() {
  const client = useClient();
  const [body, setBody] = useState<Body>({ url: '', event_types: ['turn.completed', 'turn.failed'] });
  const [created, setCreated] = useState<WebhookWithSecret | null>(null);
  const creating = useAction(async () => setCreated(await client.createWebhook(body)));
  if (created !== null) {
    return (
      <>
        <PageHead title="Webhook created" />
        <SecretNote secret={created.secret} />
        <a class="button primary self-start" href={`#/webhooks/${created.id}`}>
          Open the webhook
        </a>
      </>
    );
  }
  return (
    <>
      <PageHead title="New webhook" back="#/webhooks" />
      <ActionForm
        action={creating}
        submit="Create webhook"
        incomplete={body.event_types.length === 0}
        back="#/webhooks"
      >
        <WebhookFields webhook={body} onChange={setBody} />
      </ActionForm>
    </>
  );
}
