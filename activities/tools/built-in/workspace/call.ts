import pRetry from 'p-retry';
import type { EventData } from '../../../../src/events/schema.js';
import { requireStorage } from '../../../../src/files/storage-limit.js';
import { insertFile } from '../../../../src/files/store.js';
import type { ResultBlock } from '../../../../src/models/content.js';
import { ServiceError } from '../../../../src/platform/errors.js';
import {
  workspaceCommands,
  workspaceCommandSeconds,
  workspaceCommitSeconds,
  workspaceStopped,
} from '../../../../src/platform/metrics.js';
import { OvertakenError } from '../../../../src/turns/errors.js';
import { keptBytes, sizeOfTree } from '../../../../src/workspaces/manifest.js';
import type { Stopped } from '../../../../src/workspaces/sandbox.js';
import { commitVersion, forgetKeptIfFull } from '../../../../src/workspaces/store.js';
import { deliveredEvent } from '../delivery.js';
import type { ToolCall, ToolDeps, ToolResult } from '../../tool.js';
import { notDelivered, type Delivery } from './deliveries.js';
import { inSandbox, type OpenSandbox } from './sandbox.js';
import { storeTree, UNCHANGED, type StoredTree } from './store-tree.js';

/** Paths of each kind in an event. */
const MAX_PATHS = 20;

type WorkspaceResult = NonNullable<EventData['agent.tool_result']['workspace']>;

/** What a tool has done in the sandbox. */
export interface Ran {
  /** Without the notes on how it ended. */
  content: ResultBlock[];
  isError: boolean;
  /** The exit code of `bash`; null if it was stopped, and of the other tools. */
  exitCode: number | null;
  stopped: Stopped | null;
  /** The working directory of the next call. */
  cwd: string;
  /** False for a call that only reads. */
  mayChange: boolean;
}

/**
 * Runs a call in a sandbox that begins with the newest version. What it changed and what it delivers is stored in the
 * transaction that stores its result, or not at all: a call that runs again begins with the same version.
 */
export function callInWorkspace(
  call: ToolCall,
  deps: ToolDeps,
  work: (sandbox: OpenSandbox) => Promise<Ran>,
): Promise<ToolResult> {
  return inSandbox(call, deps, async (sandbox) => {
    const ran = await work(sandbox);
    workspaceCommandSeconds.observe({ tool: call.name }, sandbox.durationMs / 1000);
    const tree = await treeAfter(call, deps, sandbox, ran);
    const { base, durationMs } = sandbox;
    const result =
      tree === 'over'
        ? stoppedForDisk({ call, ran, base, durationMs }, limitsOf(deps))
        : resultOf(
            { call, deps, ran, base, durationMs, wasBytes: keptBytes(await sizeOfTree(sandbox.manifest.entries)) },
            tree,
          );
    const outcome = result.shown!.workspace!.stopped ?? (ran.isError ? 'error' : 'ok');
    workspaceCommands.inc({ tool: call.name, outcome });
    return result;
  });
}

/** Stores the tree of a call; `over` if it is over a limit, so that nothing of the call is kept. */
async function treeAfter(
  call: ToolCall,
  deps: ToolDeps,
  sandbox: OpenSandbox,
  { stopped, mayChange }: Ran,
): Promise<StoredTree | 'over'> {
  if (stopped === 'disk') return 'over';
  if (!mayChange) return sandbox.close(() => Promise.resolve(UNCHANGED));
  const began = performance.now();
  const tree = await sandbox.close(async (scanned) =>
    scanned.isOver
      ? 'over'
      : retryStorage(call, () => storeTree(call, deps, sandbox.manifest, scanned, { delivers: stopped === null })),
  );
  workspaceCommitSeconds.observe((performance.now() - began) / 1000);
  return tree;
}

/** While the storage is unreachable the result stays in memory: the command does not run again for it. */
export function retryStorage<T>({ signal }: Pick<ToolCall, 'signal'>, work: () => Promise<T>): Promise<T> {
  return pRetry(work, {
    retries: 1000,
    minTimeout: 100,
    maxTimeout: 2000,
    signal,
    shouldRetry: ({ error }) => error instanceof ServiceError && error.type === 'storage_error',
  });
}

interface Outcome {
  call: ToolCall;
  ran: Ran;
  base: OpenSandbox['base'];
  durationMs: number;
}

/** The storage of the project has no room for the tree (`delivery` is null) or for a delivered file. */
class NoRoomError extends Error {
  constructor(
    readonly delivery: Delivery | null,
    readonly reason: ServiceError,
  ) {
    super('the storage of the project is full');
    this.name = 'NoRoomError';
  }
}

function resultOf(outcome: Outcome & { deps: ToolDeps; wasBytes: number }, tree: StoredTree): ToolResult {
  const { call, deps, ran, base, durationMs, wasBytes } = outcome;
  const { next, changes, deliveries, notes } = tree;
  const workspace = {
    version: base.version + (next?.changesTree === true ? 1 : 0),
    ...{ exit_code: ran.exitCode, stopped: ran.stopped, duration_ms: durationMs },
    changes: shownChanges(changes),
  };
  if (ran.stopped !== null) workspaceStopped.inc({ reason: ran.stopped });
  const end = ran.stopped === null ? exitNote(ran.exitCode) : [`[stopped: ${ran.stopped}]`];
  const result = { content: withNotes(ran.content, [...end, ...notes]), isError: ran.isError, shown: { workspace } };
  if (next === null && ran.cwd === base.cwd) return result;
  const { sessionId, projectId, number: turnNumber } = call.turn;
  return {
    ...result,
    eventsBefore: () => Promise.resolve(deliveries.map(({ file }) => deliveredEvent(file))),
    commit: async (tx) => {
      const isStored = await commitVersion(tx, { sessionId, turnNumber, base, cwd: ran.cwd, next });
      if (!isStored) throw new OvertakenError(call.turn.id);
      if (next !== null) await forgetKeptIfFull(tx, { sessionId, projectId }, deps.config.maxStoragePerProject);
      const requireRoom = (delivery: Delivery | null): Promise<void> =>
        requireStorage(tx, projectId, deps.config.maxStoragePerProject).catch((error: unknown) => {
          throw error instanceof ServiceError ? new NoRoomError(delivery, error) : error;
        });
      // A tree that does not grow is stored also where the project is over its limit.
      if (next !== null && keptBytes(next.size) > wasBytes) await requireRoom(null);
      for (const delivery of deliveries) {
        await insertFile(tx, delivery.file);
        await requireRoom(delivery);
      }
    },
    refused: (error) => {
      if (!(error instanceof NoRoomError)) throw error;
      const { delivery, reason } = error;
      if (delivery === null) return stoppedForDisk(outcome, reason.type);
      return resultOf(outcome, {
        ...tree,
        deliveries: deliveries.filter((one) => one !== delivery),
        notes: [...notes, notDelivered(delivery.path, reason.message)],
      });
    },
  };
}

/** Nothing of the call is kept. @param limit the one that it would pass */
function stoppedForDisk({ call, ran, base, durationMs }: Outcome, limit: string): ToolResult {
  workspaceStopped.inc({ reason: 'disk' });
  return {
    content: withNotes(call.name === 'bash' ? ran.content : [], [
      '[stopped: disk]',
      `[nothing of it was kept: ${limit}]`,
    ]),
    isError: true,
    shown: {
      workspace: {
        version: base.version,
        ...{ exit_code: null, stopped: 'disk', duration_ms: durationMs },
        changes: { created: [], modified: [], deleted: [], more: 0 },
      },
    },
  };
}

function limitsOf({ config: { sandboxDiskMb } }: ToolDeps): string {
  return `a workspace may have ${sandboxDiskMb} MiB, 20,000 entries, paths of 1,024 bytes, and 8 MiB of paths and link targets`;
}

function exitNote(code: number | null): string[] {
  return code === null || code === 0 ? [] : [`[exit code ${code}]`];
}

/** Adds notes to the text of a result, each on its own line. */
function withNotes(content: ResultBlock[], notes: string[]): ResultBlock[] {
  const [first, ...others] = content;
  const text = first?.type === 'text' ? first.text : null;
  const shown = text === '' ? '(no output)' : text;
  const lines = notes.length === 0 ? [shown] : [shown?.replace(/\n$/, '') ?? null, ...notes];
  const noted = lines.filter((line) => line !== null).join('\n');
  return [...(noted === '' ? [] : [{ type: 'text' as const, text: noted }]), ...(text === null ? content : others)];
}

function shownChanges({ created, modified, deleted }: StoredTree['changes']): WorkspaceResult['changes'] {
  const more = [created, modified, deleted].reduce((sum, paths) => sum + Math.max(0, paths.length - MAX_PATHS), 0);
  const shown = (paths: string[]): string[] => paths.slice(0, MAX_PATHS);
  return { created: shown(created), modified: shown(modified), deleted: shown(deleted), more };
}
