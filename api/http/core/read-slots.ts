import type { ServerResponse } from 'node:http';
import { finished } from 'node:stream';
import { ServiceError } from '../../../src/platform/errors.js';
import { FairQueue } from '../../../src/platform/fair-queue.js';
import { MIB } from '../../../src/platform/units.js';
import { waitForRoom } from './wait-for-room.js';

/** Limits of decisions.md "Limits of work". */
const LIMITS = {
  /** Reads of a project under way: being answered, or answered and not read to the end. */
  maxReadsPerProject: 16,
  /** Answers in memory that their clients have not read, of all projects. One project can take half of it. */
  maxUnreadBytes: 64 * MIB,
  /** Counted for an answer until its size is known: a page of 4 MiB, its last item and the rows they come from. */
  reservedBytes: 8 * MIB,
  /** Reads of a project that Postgres and this process work on at once: the others' answers are ready, or have not begun. */
  maxPreparedPerProject: 2,
  /** What a project's answers may cost: a MiB takes some 10 ms of the event loop. Beyond the first bytes they are spread out. */
  bytesPerSecond: 16 * MIB,
  burstBytes: 32 * MIB,
  waitTimeoutMs: 5_000,
  /**
   * A read takes milliseconds. If those of a project take longer than this on average, the service is slow, and a wait is not the
   * project's fault.
   */
  slowReadMs: 500,
};

/** A read under way. It ends with its response. */
export interface Read {
  /** Replaces the reservation by the size of the answer. */
  answer(bytes: number): void;
}

interface Project {
  /** Of its reads, those without an answer yet. */
  preparing: number;
  bytes: number;
  /** Reads that have been prepared since the project had none. */
  prepared: number;
  /** Bytes of answers ahead of the rate, at the time `since`. */
  debt: number;
  since: number;
  /** Runs while a debt is left. */
  timer: NodeJS.Timeout | null;
}

/**
 * Limits the reads under way in this process: for each project their number and the bytes a second of their answers, and the
 * memory of all answers. Further reads wait, those of a project for its own.
 */
export class ReadSlots {
  readonly #projects = new Map<string, Project>();
  readonly #limits: typeof LIMITS;
  readonly #queue: FairQueue;
  #bytes = 0;

  constructor(limits: Partial<typeof LIMITS> = {}) {
    this.#limits = { ...LIMITS, ...limits };
    this.#queue = new FairQueue({
      perProject: this.#limits.maxReadsPerProject,
      takeMore: (projectId) => this.#takeMemory(projectId),
    });
  }

  /**
   * Waits until a read of the project may begin. It ends when `res` has been read or its connection is lost.
   * @throws ServiceError if that takes too long: `too_many_requests` where the project holds its share, `service_unavailable` where
   * its reads are slow or other projects hold the memory
   */
  async enter(projectId: string, res: ServerResponse): Promise<Read> {
    await this.#wait(projectId, res);
    const project = this.#projects.get(projectId)!;

    let held = this.#limits.reservedBytes;
    const hold = (bytes: number): void => {
      project.bytes += bytes - held;
      this.#bytes += bytes - held;
      held = bytes;
    };
    let isPreparing = true;
    const endPreparing = (): void => {
      if (!isPreparing) return;
      isPreparing = false;
      project.preparing -= 1;
      project.prepared += 1;
    };
    let hasEnded = false;
    finished(res, () => {
      hasEnded = true;
      endPreparing();
      hold(0);
      this.#queue.free(projectId);
      this.#forgetIdle(projectId, project);
    });
    return {
      answer: (bytes) => {
        this.#charge(projectId, project, bytes);
        if (hasEnded) return;
        endPreparing();
        hold(bytes);
        // After other work of this process: the next answers are built one after the other.
        setImmediate(() => this.#queue.serve());
      },
    };
  }

  /** Takes memory for the answer of a read. Each project may have one read, however little memory is left. */
  #takeMemory(projectId: string): boolean {
    const { maxUnreadBytes, reservedBytes, maxPreparedPerProject, burstBytes } = this.#limits;
    const project = this.#projects.get(projectId) ?? {
      preparing: 0,
      bytes: 0,
      prepared: 0,
      debt: 0,
      since: 0,
      timer: null,
    };
    if (project.preparing >= maxPreparedPerProject || this.#debtOf(project) >= burstBytes) return false;
    const hasMemory =
      project.bytes + reservedBytes <= maxUnreadBytes / 2 && this.#bytes + reservedBytes <= maxUnreadBytes;
    if (!hasMemory && this.#queue.usedBy(projectId) > 0) return false;
    project.preparing += 1;
    project.bytes += reservedBytes;
    this.#bytes += reservedBytes;
    this.#projects.set(projectId, project);
    return true;
  }

  /** Why a read of the project, which began to wait when so many had been prepared, has not begun. */
  #reasonToWait(projectId: string, preparedBefore: number): ReasonToWait {
    const {
      maxReadsPerProject,
      maxUnreadBytes,
      reservedBytes,
      maxPreparedPerProject,
      burstBytes,
      waitTimeoutMs,
      slowReadMs,
    } = this.#limits;
    const project = this.#projects.get(projectId);
    if (project === undefined) return 'memory';
    if (this.#debtOf(project) >= burstBytes) return 'bytes';
    if (project.preparing >= maxPreparedPerProject) {
      const prepared = project.prepared - preparedBefore;
      return prepared < (waitTimeoutMs / slowReadMs) * maxPreparedPerProject ? 'slow' : 'many';
    }
    if (this.#queue.usedBy(projectId) >= maxReadsPerProject) return 'unread';
    return project.bytes + reservedBytes > maxUnreadBytes / 2 ? 'unread' : 'memory';
  }

  #debtOf({ debt, since }: Project): number {
    return Math.max(0, debt - ((performance.now() - since) / 1000) * this.#limits.bytesPerSecond);
  }

  /** Adds an answer to what the project's reads have cost, and serves waiting ones when they may begin. */
  #charge(projectId: string, project: Project, bytes: number): void {
    project.debt = this.#debtOf(project) + bytes;
    project.since = performance.now();
    this.#admitLater(projectId, project);
  }

  #admitLater(projectId: string, project: Project): void {
    const { bytesPerSecond, burstBytes } = this.#limits;
    const debt = this.#debtOf(project);
    const excess = debt >= burstBytes ? debt - burstBytes + 1 : debt;
    const again = (): void => {
      project.timer = null;
      if (this.#debtOf(project) > 0) this.#admitLater(projectId, project);
      else this.#forgetIdle(projectId, project);
      this.#queue.serve();
    };
    clearTimeout(project.timer ?? undefined);
    project.timer = setTimeout(again, Math.ceil((excess / bytesPerSecond) * 1000)).unref();
  }

  #forgetIdle(projectId: string, { timer }: Project): void {
    if (this.#queue.usedBy(projectId) === 0 && timer === null) this.#projects.delete(projectId);
  }

  async #wait(projectId: string, res: ServerResponse): Promise<void> {
    const before = this.#projects.get(projectId)?.prepared ?? 0;
    const take = (signal: AbortSignal): Promise<unknown> => this.#queue.take(projectId, signal);
    await waitForRoom(res, this.#limits.waitTimeoutMs, take, () => refusal(this.#reasonToWait(projectId, before)));
  }
}

/**
 * Why a read waits: its project's reads are many, their answers large, or not read; or, which is the service's fault, they are slow, or
 * unread answers of other projects fill the memory.
 */
type ReasonToWait = 'many' | 'bytes' | 'unread' | 'slow' | 'memory';

function refusal(reason: ReasonToWait): ServiceError {
  const label = `reads_${reason}`;
  if (reason === 'slow' || reason === 'memory') {
    const message = 'The service is busy: reads take long at the moment. Try again.';
    return new ServiceError('service_unavailable', message, undefined, { 'Retry-After': '5' }, label);
  }
  const message =
    'Too many reads of the project are under way, or their answers are not being read. Read them, then try again.';
  return new ServiceError('too_many_requests', message, undefined, { 'Retry-After': '1' }, label);
}
