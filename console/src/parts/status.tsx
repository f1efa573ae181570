import type { ComponentChildren } from 'preact';
import type { McpServer, Schedule, Session, Webhook } from '../../../client/src/index.js';
import { Icon, type IconName } from './icon.js';

const LABELS: Record<Session['status'], string> = {
  IDLE: 'Idle',
  RUNNING: 'Running',
  COMPLETE: 'Complete',
  CANCELLED: 'Cancelled',
  FAILED: 'Failed',
};

export type Look = 'idle' | 'running' | 'complete' | 'cancelled' | 'failed' | 'waiting';

const ICONS: Record<Look, IconName> = {
  idle: 'idle',
  running: 'running',
  complete: 'done',
  cancelled: 'cancelled',
  failed: 'alert',
  waiting: 'waiting',
};

export function Status({ look, children }: { look: Look; children: ComponentChildren }) {
  return (
    <span class={`status ${look}`}>
      <Icon name={ICONS[look]} size={14} />
      <span class="clip">{children}</span>
    </span>
  );
}

interface SessionStatusProps {
  session: Pick<Session, 'status' | 'required_actions'>;
  /** There is no room for what it waits for. */
  short?: boolean;
}

export function SessionStatus({ session, short = false }: SessionStatusProps) {
  const { status, required_actions: actions } = session;
  const isBudget = actions.some(({ type }) => type === 'budget');
  if (actions.length > 0 && short) return <Status look="waiting">Waiting</Status>;
  if (isBudget) return <Status look="waiting">Waiting for budget</Status>;
  if (actions.length > 0) return <Status look="waiting">Waiting for an answer</Status>;
  return <Status look={status.toLowerCase() as Look}>{LABELS[status]}</Status>;
}

export function ServerStatus({ server }: { server: McpServer }) {
  // What turns do as its users leaves the fields of the server as they are.
  if (server.credentials === 'user') return <Status look="idle">Called as its users</Status>;
  if (server.last_connect_error !== null) return <Status look="failed">Not connected</Status>;
  if (server.last_connected_at !== null) return <Status look="complete">Connected</Status>;
  return <Status look="idle">Not used in a turn yet</Status>;
}

export function ScheduleStatus({ schedule: { state, paused_reason: reason } }: { schedule: Schedule }) {
  if (state === 'active') return <Status look="complete">Active</Status>;
  if (state === 'ended') return <Status look="idle">Ended</Status>;
  return <Status look={reason === null ? 'idle' : 'failed'}>Paused</Status>;
}

export function WebhookStatus({ webhook }: { webhook: Webhook }) {
  if (webhook.enabled) return <Status look="complete">Enabled</Status>;
  return <Status look={webhook.disabled_reason === null ? 'idle' : 'failed'}>Disabled</Status>;
}
