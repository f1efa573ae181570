import type { Webhook } from '../../../client/src/index.js';
import { useClient } from '../client/service.js';
import { useList } from '../client/use-list.js';
import { Empty } from '../parts/empty.js';
import { LinkRow, ListFrame } from '../parts/list-frame.js';
import { PageHead } from '../parts/page-head.js';
import { WebhookStatus } from '../parts/status.js';

export function WebhooksView() {
  const client = useClient();
  const list = useList((cursor, signal) => client.listWebhooks({ cursor, limit: 50 }, { signal }), [client]);
  return (
    <>
      <PageHead title="Webhooks">
        <a class="button primary" href="#/webhooks/new">
          New webhook
        </a>
      </PageHead>
      <ListFrame
        list={list}
        label="Webhooks"
        empty={
          <Empty title="There are no webhooks yet">
            A webhook tells your own service when a turn ends, fails or needs an answer.{' '}
            <a href="#/webhooks/new">Create the first one</a>
          </Empty>
        }
        row={(webhook) => <WebhookRow key={webhook.id} webhook={webhook} />}
      />
    </>
  );
}

function WebhookRow({ webhook }: { webhook: Webhook }) {
  return (
    <LinkRow href={`#/webhooks/${webhook.id}`} title={webhook.description ?? webhook.url}>
      <WebhookStatus webhook={webhook} />
      <span class="hint">{webhook.event_types.join(', ')}</span>
    </LinkRow>
  );
}
