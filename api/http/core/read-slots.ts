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
  waitTimeoutMs: 5_000,
};

/** A read under way. It ends with its response. */
export interface Read {
  /** Replaces the reservation by the size of the answer. */
  answer(bytes: number): void;
}

interface Project {
  reads: number;
  bytes: number;
  /** Admits the first waiting read, in the order of arrival. */
  waiting: (() => void)[];
}

/**
 * Limits the reads under way in this process: their number for each project, and the memory of their answers. Further
 * reads wait, those of a project for its own. A project that has no read under way never waits.
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
    const project = this.#projects.get(projectId) ?? { reads: 0, bytes: 0, waiting: [] };
    this.#projects.set(projectId, project);
    if (project.waiting.length === 0 && this.#hasRoom(project)) this.#take(project);
    else await this.#wait(project, res);

    let held = this.#limits.reservedBytes;
    const hold = (bytes: number): void => {
      project.bytes += bytes - held;
      this.#bytes += bytes - held;
      held = bytes;
    };
    let hasEnded = false;
    finished(res, () => {
      hasEnded = true;
      hold(0);
      project.reads -= 1;
      if (project.reads === 0 && project.waiting.length === 0) this.#projects.delete(projectId);
      this.#admit();
    });
    return {
      answer: (bytes) => {
        if (hasEnded) return;
        hold(bytes);
        this.#admit();
      },
    };
  }

  #hasRoom({ reads, bytes }: Project): boolean {
    const { maxReadsPerProject, maxUnreadBytes, reservedBytes } = this.#limits;
    if (reads === 0) return true;
    return (
      reads < maxReadsPerProject &&
      bytes + reservedBytes <= maxUnreadBytes / 2 &&
      this.#bytes + reservedBytes <= maxUnreadBytes
    );
  }

  #take(project: Project): void {
    project.reads += 1;
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

function tooManyRequests(): ServiceError {
  return new ServiceError(
    'too_many_requests',
    'Too many reads of the project are under way, or their answers are not being read. Read them, then try again.',
    undefined,
    { 'Retry-After': '1' },
  );
}
