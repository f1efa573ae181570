import { totalmem } from 'node:os';
import { FairQueue } from './fair-queue.js';
import { MIB } from './units.js';

/** Share of a process' memory for the bytes of requests and results in flight. */
const DEFAULT_SHARE = 1 / 8;
const MIN_DEFAULT_BYTES = 64 * MIB;
/** More requests at once are not faster: each of them waits for the network. */
const MAX_DEFAULT_BYTES = 256 * MIB;

/** The default size: a share of the container's memory limit, or of the machine's memory. */
export function defaultMemoryBytes(): number {
  const limit = process.constrainedMemory();
  const memory = limit > 0 ? Math.min(limit, totalmem()) : totalmem();
  return Math.min(MAX_DEFAULT_BYTES, Math.max(MIN_DEFAULT_BYTES, Math.floor(memory * DEFAULT_SHARE)));
}

/**
 * Limits the bytes in flight in this process, and those of one project. A request for more than a project may have counts as that
 * much.
 */
export class MemoryShare {
  readonly #queue: FairQueue;

  constructor(
    readonly total: number,
    private readonly perProject = total,
  ) {
    this.#queue = new FairQueue({ total, perProject });
  }

  get used(): number {
    return this.#queue.used;
  }

  get waiting(): number {
    return this.#queue.waiting;
  }

  /** Waits for `bytes` of the share. Returns the function that releases them. @throws the signal's reason */
  async take(bytes: number, signal: AbortSignal | null = null, projectId = ''): Promise<() => void> {
    const share = Math.min(bytes, this.perProject);
    await this.#queue.take(projectId, signal, share);
    let isHeld = true;
    return () => {
      if (isHeld) this.#queue.free(projectId, share);
      isHeld = false;
    };
  }
}
