import { EntitySchema } from 'typeorm';

export interface WebhookRow {
  id: string;
  project_id: string;
  url: string;
  event_types: string[];
  description: string | null;
  enabled: boolean;
  /** Why the service disabled the webhook; null if it is enabled or its owner disabled it. */
  disabled_reason: string | null;
  /** Sealed; null after the webhook is deleted. */
  secret: string | null;
  previous_secret: string | null;
  previous_secret_until: string | null;
  failing_since: string | null;
  created_at: string;
  updated_at: string;
  deleted_at: string | null;
}

export const WebhookEntity = new EntitySchema<WebhookRow>({
  name: 'webhooks',
  columns: {
    id: { type: 'text', primary: true },
    project_id: { type: 'text' },
    url: { type: 'text' },
    event_types: { type: 'text', array: true },
    description: { type: 'text', nullable: true },
    enabled: { type: 'boolean' },
    disabled_reason: { type: 'text', nullable: true },
    secret: { type: 'text', nullable: true },
    previous_secret: { type: 'text', nullable: true },
    previous_secret_until: { type: 'text', nullable: true },
    failing_since: { type: 'text', nullable: true },
    created_at: { type: 'text' },
    updated_at: { type: 'text' },
    deleted_at: { type: 'text', nullable: true },
  },
});
