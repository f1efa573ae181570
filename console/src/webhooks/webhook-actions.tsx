import type { Webhook } from '../../../client/src/index.js';
import { useClient } from '../client/service.js';
import { useAction } from '../client/use-action.js';
import { useAnnounce } from '../parts/announcer.js';
import { ConfirmButton } from '../parts/confirm-button.js';
import { ErrorNote } from '../parts/error-note.js';
import { PageHead } from '../parts/page-head.js';
import { WebhookStatus } from '../parts/status.js';
import { navigate } from '../route.js';

interface Props {
  webhook: Webhook;
  onChanged: (webhook: Webhook) => void;
  onSecret: (secret: string) => void;
  onTested: () => void;
}

export function WebhookActions({ webhook, onChanged, onSecret, onTested }: Props) {
  const client = useClient();
  const announce = useAnnounce();
  const { id, enabled } = webhook;
  const testing = useAction(async () => {
    await client.testWebhook(id);
    announce('A test delivery is on its way');
    onTested();
  });
  const switching = useAction(async () => onChanged(await client.updateWebhook(id, { enabled: !enabled })));
  const rotate = async (): Promise<void> => {
    const { secret, ...changed } = await client.rotateWebhookSecret(id);
    onSecret(secret);
    onChanged(changed);
  };
  const remove = async (): Promise<void> => {
    await client.deleteWebhook(id);
    navigate('/webhooks');
  };
  return (
    <>
      <PageHead title={webhook.description ?? 'Webhook'} back="#/webhooks">
        <WebhookStatus webhook={webhook} />
        <button disabled={testing.busy || !enabled} onClick={() => testing.run()}>
          Send a test
        </button>
        <button disabled={switching.busy} onClick={() => switching.run()}>
          {enabled ? 'Disable' : 'Enable'}
        </button>
        <ConfirmButton label="New secret" question="Replace the secret?" onConfirm={rotate}>
          <p>For 24 hours the old secret signs as well.</p>
        </ConfirmButton>
        <ConfirmButton label="Delete" question="Delete this webhook?" onConfirm={remove} />
      </PageHead>
      <ErrorNote error={testing.error ?? switching.error} />
    </>
  );
}
