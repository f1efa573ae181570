import type { ServerResponse } from 'node:http';
import { finished } from 'node:stream';
import { ServiceError } from '../../../src/platform/errors.js';
import { MIB } from '../../../src/platform/units.js';

/** Limits of contract.md §14. */
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
};

/** A read under way. It ends with its response. */
export interface Read {
  /** Replaces the reservation by the size of the answer. */
  answer(bytes: number): void;
}

interface Project {
  reads: number;
  /** Of them, those without an answer yet. */
  preparing: number;
  bytes: number;
  /** Bytes of answers ahead of the rate, at the time `since`. */
  debt: number;
  since: number;
  /** Runs while a debt is left. */
  timer: NodeJS.Timeout | null;
  /** Admits the first waiting read, in the order of arrival. */
  waiting: (() => void)[];
}

/**
 * Limits the reads under way in this process: for each project their number and the bytes a second of their answers, and the
 * memory of all answers. Further reads wait, those of a project for its own.
 */
export class ReadSlots {
  readonly #projects = new Map<string, Project>();
  readonly #limits: typeof LIMITS;
  #bytes = 0;

  constructor(limits: Partial<typeof LIMITS> = {}) {
    this.#limits = { ...LIMITS, ...limits };
  }

  /**
   * Waits until a read of the project may begin. It ends when `res` has been read or its connection is lost.
   * @throws ServiceError `too_many_requests` if that takes too long
   */
  async enter(projectId: string, res: ServerResponse): Promise<Read> {
    const project = this.#projects.get(projectId) ?? newProject();
    this.#projects.set(projectId, project);
    if (project.waiting.length === 0 && this.#hasRoom(project)) this.#take(project);
    else await this.#wait(project, res);

    let held = this.#limits.reservedBytes;
    const hold = (bytes: number): void => {
      project.bytes += bytes - held;
      this.#bytes += bytes - held;
      held = bytes;
    };
    let isPreparing = true;
    const endPreparing = (): void => {
      if (isPreparing) project.preparing -= 1;
      isPreparing = false;
    };
    let hasEnded = false;
    finished(res, () => {
      hasEnded = true;
      endPreparing();
      hold(0);
      project.reads -= 1;
      this.#forgetIdle(projectId, project);
      this.#admit();
    });
    return {
      answer: (bytes) => {
        this.#charge(projectId, project, bytes);
        if (hasEnded) return;
        endPreparing();
        hold(bytes);
        // After other work of this process: the next answers are built one after the other.
        setImmediate(() => this.#admit());
      },
    };
  }

  #hasRoom(project: Project): boolean {
    const { maxReadsPerProject, maxUnreadBytes, reservedBytes, maxPreparedPerProject, burstBytes } = this.#limits;
    if (project.preparing >= maxPreparedPerProject || this.#debtOf(project) >= burstBytes) return false;
    if (project.reads === 0) return true;
    return (
      project.reads < maxReadsPerProject &&
      project.bytes + reservedBytes <= maxUnreadBytes / 2 &&
      this.#bytes + reservedBytes <= maxUnreadBytes
    );
  }

  #debtOf({ debt, since }: Project): number {
    return Math.max(0, debt - ((performance.now() - since) / 1000) * this.#limits.bytesPerSecond);
  }

  /** Adds an answer to what the project's reads have cost, and admits waiting ones when they may go on. */
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
      this.#admit();
    };
    clearTimeout(project.timer ?? undefined);
    project.timer = setTimeout(again, Math.ceil((excess / bytesPerSecond) * 1000)).unref();
  }

  #forgetIdle(projectId: string, { reads, waiting, timer }: Project): void {
    if (reads === 0 && waiting.length === 0 && timer === null) this.#projects.delete(projectId);
  }

  #take(project: Project): void {
    project.reads += 1;
    project.preparing += 1;
    project.bytes += this.#limits.reservedBytes;
    this.#bytes += this.#limits.reservedBytes;
  }

  #wait(project: Project, res: ServerResponse): Promise<void> {
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        clearTimeout(timer);
        res.off('close', giveUp);
      };
      const admit = (): void => {
        leave();
        this.#take(project);
        resolve();
      };
      const giveUp = (): void => {
        leave();
        project.waiting.splice(project.waiting.indexOf(admit), 1);
        reject(tooManyRequests());
      };
      const timer = setTimeout(giveUp, this.#limits.waitTimeoutMs);
      res.once('close', giveUp);
      project.waiting.push(admit);
    });
  }

  #admit(): void {
    for (const project of this.#projects.values()) {
      while (project.waiting.length > 0 && this.#hasRoom(project)) project.waiting.shift()!();
    }
  }
}

function newProject(): Project {
  return { reads: 0, preparing: 0, bytes: 0, debt: 0, since: 0, timer: null, waiting: [] };
}

function tooManyRequests(): ServiceError {
  return new ServiceError(
    'too_many_requests',
    'Too many reads of the project are under way, or their answers are not being read. Read them, then try again.',
    undefined,
    { 'Retry-After': '1' },
  );
}
