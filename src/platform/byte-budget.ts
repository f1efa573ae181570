import { totalmem } from 'node:os';
import { MIB } from './units.js';

/** Share of a process' memory for the bytes of requests and results in flight. */
const DEFAULT_SHARE = 1 / 8;
const MIN_DEFAULT_BYTES = 64 * MIB;
/** More requests at once are not faster: each of them waits for the network. */
const MAX_DEFAULT_BYTES = 256 * MIB;

/** The default budget: a share of the container's memory limit, or of the machine's memory. */
export function defaultByteBudget(): number {
  const limit = process.constrainedMemory();
  const memory = limit > 0 ? Math.min(limit, totalmem()) : totalmem();
  return Math.min(MAX_DEFAULT_BYTES, Math.max(MIN_DEFAULT_BYTES, Math.floor(memory * DEFAULT_SHARE)));
}

interface Waiting {
  bytes: number;
  admit: () => void;
}

/** What a project holds, and its requests that wait, in the order of arrival. */
interface Share {
  used: number;
  queue: Waiting[];
}

/**
 * Limits the bytes in flight in this process, and those of one project. The projects that wait take turns. Nobody
 * overtakes the one whose turn it is, so that small requests cannot starve a large one. A request for more than a project
 * may have counts as that much.
 */
export class MemoryShare {
  #used = 0;
  /** In the order of their turns. */
  readonly #projects = new Map<string, Share>();

  constructor(
    readonly total: number,
    private readonly perProject = total,
  ) {}

  get used(): number {
    return this.#used;
  }

  get waiting(): number {
    return [...this.#projects.values()].reduce((sum, { queue }) => sum + queue.length, 0);
  }

  /**
   * Waits for `bytes` of the budget; returns the function that releases them. @throws the reason of `signal` if it
   * aborts
   */
  async take(bytes: number, signal?: AbortSignal | null, projectId = ''): Promise<() => void> {
    signal?.throwIfAborted();
    const project = this.#projects.get(projectId) ?? { used: 0, queue: [] };
    this.#projects.set(projectId, project);
    const share = Math.min(bytes, this.perProject);
    await this.#wait(projectId, project, share, signal ?? null);
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      this.#used -= share;
      project.used -= share;
      this.#forgetIdle(projectId, project);
      this.#admitNext();
    };
  }

  #wait(projectId: string, project: Share, bytes: number, signal: AbortSignal | null): Promise<void> {
    return new Promise((resolve, reject) => {
      const abort = (): void => {
        project.queue.splice(project.queue.indexOf(waiting), 1);
        reject(signal!.reason as Error);
        this.#forgetIdle(projectId, project);
        this.#admitNext();
      };
      const waiting = {
        bytes,
        admit: () => {
          signal?.removeEventListener('abort', abort);
          resolve();
        },
      };
      project.queue.push(waiting);
      signal?.addEventListener('abort', abort, { once: true });
      this.#admitNext();
    });
  }

  #admitNext(): void {
    while (this.#admitOne());
  }

  #admitOne(): boolean {
    for (const [projectId, project] of this.#projects) {
      const [next] = project.queue;
      // A project that waits for itself does not make others wait.
      if (next === undefined || project.used + next.bytes > this.perProject) continue;
      if (this.#used + next.bytes > this.total) return false;
      project.queue.shift();
      project.used += next.bytes;
      this.#used += next.bytes;
      this.#projects.delete(projectId);
      this.#projects.set(projectId, project);
      next.admit();
      return true;
    }
    return false;
  }

  #forgetIdle(projectId: string, { used, queue }: Share): void {
    if (used === 0 && queue.length === 0) this.#projects.delete(projectId);
  }
}
