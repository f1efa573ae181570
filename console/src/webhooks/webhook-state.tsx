import type { Webhook } from '../../../client/src/index.js';

export function WebhookState({ webhook }: { webhook: Webhook }) {
  if (webhook.enabled) return <span class="status complete">Enabled</span>;
  return <span class={`status ${webhook.disabled_reason === null ? 'idle' : 'failed'}`}>Disabled</span>;
}
