import type { Schedule } from '../../../client/src/index.js';

export function ScheduleState({ schedule: { state, paused_reason: reason } }: { schedule: Schedule }) {
  if (state === 'active') return <span class="status complete">Active</span>;
  if (state === 'ended') return <span class="status idle">Ended</span>;
  return <span class={`status ${reason === null ? 'idle' : 'failed'}`}>Paused</span>;
}
