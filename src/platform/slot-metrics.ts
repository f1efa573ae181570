import { Gauge } from 'prom-client';
import { registry } from './metrics.js';

interface SlotCounts {
  free: number;
  used: number;
  waiting: number;
}

const observed = new Set<{ readonly counts: SlotCounts }>();
new Gauge({
  name: 'activity_slots',
  help: 'Slots of this worker for activities of turns, by state: free, used; and waiting: calls that wait for a person, in none',
  labelNames: ['state'],
  registers: [registry],
  collect() {
    const counts = [...observed].map((slots) => slots.counts);
    for (const state of ['free', 'used', 'waiting'] as const) {
      const sum = counts.reduce((all, one) => all + one[state], 0);
      if (observed.size > 0) this.set({ state }, sum);
      else this.remove({ state });
    }
  },
});

/** Adds the slots of a worker to the metrics. Returns a function that removes them. */
export function observeSlots(slots: { readonly counts: SlotCounts }): () => void {
  observed.add(slots);
  return () => void observed.delete(slots);
}
