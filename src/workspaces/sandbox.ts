import type { Readable } from 'node:stream';
import type { Manifest } from './manifest.js';

/**
 * Where commands run. A provider holds no truth: every sandbox may be thrown away, and the next command begins with the stored
 * version. activities/sandbox has the providers; the tools know this interface alone.
 */
export interface SandboxProvider {
  /** Tries whether commands can run here, and removes what processes that are gone have left. Null: they can. */
  check(): Promise<SandboxProblem | null>;
  /**
   * Makes a sandbox with this version of the tree.
   * @throws SandboxFailedError, ObjectMissingError, ServiceError `storage_error`, the signal's reason
   */
  open(at: SandboxAt, signal: AbortSignal): Promise<Sandbox>;
  /** Removes what is cached for a session. */
  dispose(sessionId: string): Promise<void>;
  /** What keeps the limits of commands here; null before the first check that worked. */
  readonly limits: SandboxLimits | null;
  /** Bytes on this machine that the next commands may use. */
  readonly cacheBytes: number;
  /** Removes all that this process has cached. */
  close(): void;
}

/**
 * What keeps the limits of commands: the kernel by a group for each command (`cgroup`), by a file system for each tree, by the count
 * of processes of a user, by priorities (`nice`); the kernel and the limits of a pod; or looks at what is used, which come after it.
 */
export interface SandboxLimits {
  memory: 'cgroup' | 'pod' | 'watched';
  processes: 'cgroup' | 'pod' | 'user';
  cpu: 'cgroup' | 'pod' | 'nice';
  disk: 'file system' | 'pod' | 'watched';
}

const KEPT_BY = {
  cgroup: 'cgroups',
  pod: 'pods',
  'file system': 'file systems of their own',
  user: 'the number of processes of a user',
  nice: 'priorities',
};

/** A sentence for operators. */
export function formatLimits(limits: SandboxLimits): string {
  const kept = new Map<string, string[]>();
  for (const [limit, by] of Object.entries(limits) as [string, SandboxLimits[keyof SandboxLimits]][]) {
    const group = by === 'watched' ? 'watched, not kept by the kernel' : `kept by ${KEPT_BY[by]}`;
    kept.set(group, [...(kept.get(group) ?? []), limit]);
  }
  return `limits of commands: ${[...kept].map(([by, names]) => `${names.join(', ')} ${by}`).join('; ')}`;
}

/** Why no command can run: a sentence, and another one that says what to do. */
export interface SandboxProblem {
  reason: string;
  remedy: string;
}

export interface SandboxAt {
  sessionId: string;
  /** Whose share of the sandboxes it takes. */
  projectId: string;
  base: Manifest;
  mounts: Mount[];
}

/** Files that a command may read and nobody may change. */
export interface Mount {
  /** Its content never changes under this id. */
  id: string;
  /** Its path in the sandbox: of a file, or of the folder that holds the files. */
  target: string;
  kind: 'file' | 'folder';
  /** Of its contents, about. */
  bytes: number;
  /** Opens what is in it; called once for each id while a worker has it cached. The path of a file's only content is empty. */
  contents(): AsyncIterable<{ path: string; content: Readable | Buffer }>;
}

export interface Sandbox {
  /** Runs one command to its end, and ends all processes that it leaves. @throws SandboxFailedError, the signal's reason */
  run(argv: string[], io: CommandIo): Promise<CommandEnd>;
  /**
   * Ends the sandbox. With `store` it first passes what the tree is now; the tree is kept for the next command if `store`
   * returns. Without, all changes are thrown away.
   */
  close<T>(store: ((scanned: ScannedTree) => Promise<T>) | null): Promise<T | null>;
}

export interface CommandIo {
  /** Where it begins; `/workspace` if the folder is gone. */
  cwd: string;
  stdin: Buffer | null;
  timeoutMs: number;
  /** Of a promise that it returns: further output waits for it. */
  onOutput: (chunk: Buffer) => unknown;
  signal: AbortSignal;
}

export type Stopped = 'timeout' | 'memory' | 'disk';

export interface CommandEnd {
  /** Its exit code, 128 + n if signal n ended it; null if it was stopped. */
  code: number | null;
  stopped: Stopped | null;
  /** Its last working directory; null if it is not known. */
  cwd: string | null;
  ms: number;
}

export interface ScannedTree {
  /** In the order of their paths; contents have no place yet. Not complete if `isOver`. */
  entries: Manifest['entries'];
  /** How many entries were removed: pipes, sockets, and names that are not UTF-8. */
  notKept: number;
  /** The tree is over a limit: it cannot be stored. */
  isOver: boolean;
  contentOf: (path: string) => Readable;
}

/** The sandbox could not begin or keep a command, for no reason of the command's. It may run again. */
export class SandboxFailedError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'SandboxFailedError';
  }
}
