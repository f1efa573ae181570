import type { Session } from '../../../client/src/index.js';

const LABELS: Record<Session['status'], string> = {
  IDLE: 'Idle',
  RUNNING: 'Running',
  COMPLETE: 'Complete',
  CANCELLED: 'Cancelled',
  FAILED: 'Failed',
};

export function Status({ session }: { session: Pick<Session, 'status' | 'required_actions'> }) {
  const { status, required_actions: actions } = session;
  if (actions.length > 0) return <span class="status waiting">Waiting for an answer</span>;
  return <span class={`status ${status.toLowerCase()}`}>{LABELS[status]}</span>;
}
