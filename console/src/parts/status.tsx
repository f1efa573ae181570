import type { Session } from '../../../client/src/index.js';

const LABELS: Record<Session['status'], string> = {
  IDLE: 'Idle',
  RUNNING: 'Running',
  COMPLETE: 'Complete',
  CANCELLED: 'Cancelled',
  FAILED: 'Failed',
};

export function Status({ status }: { status: Session['status'] }) {
  return <span class={`status ${status.toLowerCase()}`}>{LABELS[status]}</span>;
}
