import type {
  ActivitySlotInfo,
  CustomSlotSupplier,
  SlotPermit,
  SlotReleaseContext,
  SlotReserveContext,
} from '@temporalio/worker';

/**
 * How many activities Temporal may hand to a worker: `WORKER_MAX_ACTIVITIES`, and one more for each activity that waits for a
 * person. Such an activity goes on in Temporal, with its heartbeats, and holds no slot.
 */
export class ActivitySlots implements CustomSlotSupplier<ActivitySlotInfo> {
  readonly type = 'custom';
  /** Those that pollers hold until a task comes count too. */
  #given = 0;
  #used = 0;
  #waiting = 0;
  readonly #requests = new Set<() => void>();

  constructor(private readonly total: number) {}

  /** An activity begins to wait for a person, or goes on. */
  countWaiting(change: 1 | -1): void {
    this.#waiting += change;
    this.#giveNext();
  }

  async reserveSlot(_: SlotReserveContext, signal: AbortSignal): Promise<SlotPermit> {
    if (this.#tryGive()) return {};
    signal.throwIfAborted();
    return new Promise((resolve, reject) => {
      const give = (): void => {
        signal.removeEventListener('abort', leave);
        resolve({});
      };
      const leave = (): void => {
        this.#requests.delete(give);
        reject(signal.reason as Error);
      };
      this.#requests.add(give);
      signal.addEventListener('abort', leave, { once: true });
    });
  }

  tryReserveSlot(): SlotPermit | null {
    return this.#requests.size === 0 && this.#tryGive() ? {} : null;
  }

  markSlotUsed(): void {
    this.#used += 1;
  }

  releaseSlot({ slotInfo }: Pick<SlotReleaseContext<ActivitySlotInfo>, 'slotInfo'>): void {
    if (slotInfo !== undefined) this.#used -= 1;
    this.#given -= 1;
    this.#giveNext();
  }

  get counts(): { free: number; used: number; waiting: number } {
    const used = Math.max(0, this.#used - this.#waiting);
    return { free: Math.max(0, this.total - used), used, waiting: this.#waiting };
  }

  #tryGive(): boolean {
    if (this.#given >= this.total + this.#waiting) return false;
    this.#given += 1;
    return true;
  }

  #giveNext(): void {
    const [next] = this.#requests;
    if (next === undefined || !this.#tryGive()) return;
    this.#requests.delete(next);
    next();
  }
}
