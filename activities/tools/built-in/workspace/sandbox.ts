import pRetry from 'p-retry';
import { ObjectMissingError } from '../../../../src/files/storage.js';
import { workspaceOpenSeconds } from '../../../../src/platform/metrics.js';
import type { Manifest } from '../../../../src/workspaces/manifest.js';
import {
  SandboxFailedError,
  type CommandEnd,
  type CommandIo,
  type Sandbox,
  type SandboxProvider,
  type ScannedTree,
} from '../../../../src/workspaces/sandbox.js';
import { readManifest, type Workspace } from '../../../../src/workspaces/store.js';
import { textResult, type ToolCall, type ToolDeps, type ToolResult } from '../../tool.js';
import { mountsOf } from './mounts.js';

/** Time of the service's own commands: of `read`, `write`, `edit` and `deliver_file`. */
const OWN_COMMAND_MS = 60_000;
/** How often a call begins again whose sandbox failed, or which needs an object that is missing. */
const RETRIES = 2;

/** A sandbox that begins with the newest version of the session's workspace. */
export class OpenSandbox {
  /** How long its commands ran. */
  durationMs = 0;
  #isOpen = true;

  constructor(
    private readonly sandbox: Sandbox,
    private readonly signal: AbortSignal,
    readonly base: Workspace,
    readonly manifest: Manifest,
  ) {}

  async run(argv: string[], io: Partial<CommandIo> = {}): Promise<CommandEnd> {
    const end = await this.sandbox.run(argv, {
      ...{ cwd: this.base.cwd, stdin: null, timeoutMs: OWN_COMMAND_MS, onOutput: () => undefined, signal: this.signal },
      ...io,
    });
    this.durationMs += end.ms;
    return end;
  }

  /** Ends it and passes what the tree is now. */
  async close<T>(store: (scanned: ScannedTree) => Promise<T>): Promise<T> {
    this.#isOpen = false;
    return (await this.sandbox.close(store)) as T;
  }

  /** Ends it, unless it has ended, and throws its changes away. */
  async discard(): Promise<void> {
    if (this.#isOpen) await this.sandbox.close(null);
    this.#isOpen = false;
  }
}

/**
 * Does a call's work in a sandbox. A sandbox that fails is never the result of a command: the call begins again, with the same
 * version. It also begins again where an object is missing: a file or a skill may have just been deleted.
 */
export async function inSandbox(
  call: ToolCall,
  deps: ToolDeps,
  work: (sandbox: OpenSandbox) => Promise<ToolResult>,
): Promise<ToolResult> {
  const { sandbox: provider } = deps;
  const { workspace } = call.turn;
  if (provider === null || workspace === null) return unavailable();
  const attempt = async (): Promise<ToolResult> => {
    const opened = await open(call, deps, provider, workspace);
    try {
      return await work(opened);
    } finally {
      await opened.discard();
    }
  };
  try {
    return await pRetry(attempt, {
      retries: RETRIES,
      minTimeout: 200,
      signal: call.signal,
      shouldRetry: ({ error }) => error instanceof SandboxFailedError || error instanceof ObjectMissingError,
    });
  } catch (err) {
    const { id: turnId, sessionId } = call.turn;
    const ids = { turn_id: turnId, session_id: sessionId };
    if (err instanceof ObjectMissingError) {
      deps.log.error({ err, ...ids }, 'the storage has lost an object of a workspace: its calls get an error result');
      return textResult(lost(err), true);
    }
    if (!(err instanceof SandboxFailedError)) throw err;
    deps.log.error({ err, ...ids }, 'a sandbox failed: its call gets an error result');
    return unavailable();
  }
}

function lost({ key }: ObjectMissingError): string {
  const what = key.startsWith('workspaces/')
    ? 'files of this workspace. Until the operator of the service restores them, no command can run in this session; commands work in a new session'
    : 'an attachment of this session or a skill of this turn. Commands can run again when the operator of the service has restored it, or when it is deleted';
  return `The workspace cannot be opened: the file storage has lost ${what}. Nothing of this call was kept.`;
}

async function open(call: ToolCall, deps: ToolDeps, provider: SandboxProvider, base: Workspace): Promise<OpenSandbox> {
  const began = performance.now();
  const manifest = await deps.manifests.read(base.manifestKey, (key) => readManifest(deps.storage, key));
  const mounts = await mountsOf(call, deps);
  const { sessionId, projectId } = call.turn;
  const sandbox = await provider.open({ sessionId, projectId, base: manifest, mounts }, call.signal);
  workspaceOpenSeconds.observe((performance.now() - began) / 1000);
  return new OpenSandbox(sandbox, call.signal, base, manifest);
}

function unavailable(): ToolResult {
  return textResult('The workspace is unavailable: no command can be run now. Nothing of this call was kept.', true);
}
