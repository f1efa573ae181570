import type { McpServer, Schedule, Session, Webhook } from '../../../client/src/index.js';

const LABELS: Record<Session['status'], string> = {
  IDLE: 'Idle',
  RUNNING: 'Running',
  COMPLETE: 'Complete',
  CANCELLED: 'Cancelled',
  FAILED: 'Failed',
};

export function SessionStatus({ session }: { session: Pick<Session, 'status' | 'required_actions'> }) {
  const { status, required_actions: actions } = session;
  const isBudget = actions.some(({ type }) => type === 'budget');
  if (isBudget) return <span class="status waiting">Waiting for a larger budget</span>;
  if (actions.length > 0) return <span class="status waiting">Waiting for an answer</span>;
  return <span class={`status ${status.toLowerCase()}`}>{LABELS[status]}</span>;
}

export function ServerStatus({ server }: { server: McpServer }) {
  if (server.last_connect_error !== null) return <span class="status failed">Not connected</span>;
  if (server.last_connected_at !== null) return <span class="status complete">Connected</span>;
  return <span class="status idle">Not used yet</span>;
}

export function ScheduleStatus({ schedule: { state, paused_reason: reason } }: { schedule: Schedule }) {
  if (state === 'active') return <span class="status complete">Active</span>;
  if (state === 'ended') return <span class="status idle">Ended</span>;
  return <span class={`status ${reason === null ? 'idle' : 'failed'}`}>Paused</span>;
}

export function WebhookStatus({ webhook }: { webhook: Webhook }) {
  if (webhook.enabled) return <span class="status complete">Enabled</span>;
  return <span class={`status ${webhook.disabled_reason === null ? 'idle' : 'failed'}`}>Disabled</span>;
}
