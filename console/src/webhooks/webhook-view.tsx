import { useState } from 'preact/hooks';
import { useClient } from '../client/service.js';
import { useLoad } from '../client/use-load.js';
import { CopyText } from '../parts/copy-text.js';
import { UnreadPage } from '../parts/page-head.js';
import { Deliveries } from './deliveries.js';
import { EditWebhook } from './edit-webhook.js';
import { SecretNote } from './secret-note.js';
import { WebhookActions } from './webhook-actions.js';

export function WebhookView({ id }: { id: string }) {
  const client = useClient();
  const { value: webhook, error, replace } = useLoad((signal) => client.getWebhook(id, { signal }), [client, id]);
  const [secret, setSecret] = useState<string | null>(null);
  const [tests, setTests] = useState(0);
  if (webhook === null) return <UnreadPage title="Webhook" error={error} />;
  return (
    <>
      <WebhookActions
        webhook={webhook}
        onChanged={replace}
        onSecret={setSecret}
        onTested={() => setTests((count) => count + 1)}
      />
      {secret !== null && <SecretNote secret={secret} />}
      {webhook.disabled_reason !== null && (
        <p class="note error">
          <strong>The service disabled this webhook</strong> {webhook.disabled_reason}
        </p>
      )}
      <div class="facts">
        <CopyText text={webhook.id} label="webhook id" />
        <span>{webhook.url}</span>
      </div>
      <EditWebhook key={webhook.updated_at} webhook={webhook} onSaved={replace} />
      <Deliveries key={tests} webhookId={webhook.id} />
    </>
  );
}
