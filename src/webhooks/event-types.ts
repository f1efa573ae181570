/** The events that a webhook can subscribe to (decisions.md "Webhooks"). */
export const WEBHOOK_EVENT_TYPES = [
  'turn.completed',
  'turn.cancelled',
  'turn.failed',
  'agent.requires_action',
  'agent.file',
] as const;
export type WebhookEventType = (typeof WEBHOOK_EVENT_TYPES)[number];

/** The type of deliveries from POST test. They belong to no event. */
export const TEST_EVENT_TYPE = 'webhook.test';

const SUBSCRIBABLE: ReadonlySet<string> = new Set(WEBHOOK_EVENT_TYPES);

export function isWebhookEvent(type: string): boolean {
  return SUBSCRIBABLE.has(type);
}
