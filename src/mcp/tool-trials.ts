import { McpError } from '@modelcontextprotocol/sdk/types.js';
import type { GuardedNetwork } from '../network/network.js';
import type { MemoryShare } from '../platform/memory-share.js';
import { ServiceError } from '../platform/errors.js';
import { FairQueue } from '../platform/fair-queue.js';
import type { JsonObject } from '../platform/json-object.js';
import { storableText } from '../platform/text.js';
import { lostCallText, mayHaveRunAfter, protocolErrorText } from './call-failure.js';
import { Cleaner } from './cleaner.js';
import { McpConnection } from './client.js';
import { withDeadline } from './deadline.js';
import { withLargeAnswer } from './large-answer.js';
import { refusedCredential } from './reasons.js';
import type { RequestAuth } from './request-auth.js';
import { readToolAnswer } from './tool-answer.js';
import { MAX_ANSWER_VALUES, type OnLarge } from './transport/answer-body.js';
import { pacerOfRequest } from './transport/pacer.js';

/** Time limit of a whole call, in which a person waits for the response (docs/limits.md). */
const TRIAL_SECONDS = 60;
/** Of it, for the connection: as in a turn. */
const CONNECT_SECONDS = 8;
/** Calls of a project at a time in this process. */
const MAX_TRIALS_PER_PROJECT = 4;
/** Characters of a shown result, with images in base64. */
const MAX_SHOWN = 1024 * 1024;

interface Trial {
  projectId: string;
  /** Runs before anything is sent. What it throws ends the trial. */
  begin: () => Promise<void>;
  server: { name: string; url: string };
  toolName: string;
  input: JsonObject;
  idempotencyKey: string;
  authorize: () => RequestAuth;
  /** The call uses the credential of a user, not the server's own. */
  asUser: boolean;
  /** Aborts when the person does not wait any more. */
  signal: AbortSignal;
}

type ShownBlock = { type: 'text'; text: string } | { type: 'image'; media_type: string; data: string };

/** The server did not take the credential of the user, and has not run the call. The message is the reason. */
export class UserRefusedError extends Error {
  override readonly name = 'UserRefusedError';
}

interface TrialState {
  sent: boolean;
  auth: RequestAuth | null;
}

interface TrialResult {
  content: ShownBlock[];
  isError: boolean;
}

/** Calls of tools by people who try them out: of an API process, limited for each project, and in the memory of their answers. */
export class ToolTrials {
  readonly #limits = new FairQueue({ perProject: MAX_TRIALS_PER_PROJECT });

  constructor(
    private readonly network: GuardedNetwork,
    private readonly memory: MemoryShare,
    private readonly seconds = TRIAL_SECONDS,
  ) {}

  /**
   * Calls a tool once, in an MCP session of its own which cannot be asked questions. It is never sent again. A failure is a result
   * that says what happened, as the agent would read it.
   * @throws ServiceError `too_many_requests`; UserRefusedError; what `begin` throws
   */
  async run(trial: Trial): Promise<TrialResult> {
    if (!this.#limits.tryTake(trial.projectId)) throw tooManyTrials();
    const { projectId, signal: left } = trial;
    await trial.begin().catch((error: unknown) => {
      this.#limits.free(projectId);
      throw error;
    });
    const state: TrialState = { sent: false, auth: null };
    const cleaner = new Cleaner(() => state.auth?.secrets() ?? []);
    try {
      return await withDeadline(this.seconds, left, (signal) =>
        withLargeAnswer({ memory: this.memory, projectId, signal, maxValues: MAX_ANSWER_VALUES }, (onLarge) =>
          this.#call(trial, { state, cleaner, signal, onLarge }),
        ),
      );
    } catch (error) {
      const called = { serverName: trial.server.name, toolName: trial.toolName };
      if (error instanceof McpError && state.sent) return errorResult(protocolErrorText(error, called, cleaner));
      const reason = trial.asUser ? refusedCredential(error) : null;
      if (reason !== null) throw new UserRefusedError(reason);
      return errorResult(storableText(lostCallText(error, called, state.sent && mayHaveRunAfter(error))));
    } finally {
      this.#limits.free(projectId);
    }
  }

  async #call(
    { server, toolName, input, idempotencyKey, authorize }: Trial,
    { state, cleaner, signal, onLarge }: { state: TrialState; cleaner: Cleaner; signal: AbortSignal; onLarge: OnLarge },
  ): Promise<TrialResult> {
    const auth = (state.auth = authorize());
    const pacer = pacerOfRequest();
    const options = { url: new URL(server.url), auth, network: this.network, listen: true, pacer };
    const connection = await withDeadline(CONNECT_SECONDS, signal, (bounded) => McpConnection.open(options, bounded));
    try {
      state.sent = true;
      const onProgress = (): void => undefined;
      const answer = await connection.callTool(toolName, input, { signal, idempotencyKey, onProgress, onLarge });
      return await show(answer, cleaner, signal);
    } finally {
      await connection.close();
    }
  }
}

/** The answer as the agent would read it, within the limit for what is shown. */
async function show(answer: JsonObject, cleaner: Cleaner, signal: AbortSignal): Promise<TrialResult> {
  let room = MAX_SHOWN;
  const { content, isError } = await readToolAnswer<Extract<ShownBlock, { type: 'image' }>>(answer, {
    cleaner,
    signal,
    keepImage: ({ bytes, mediaType }) => {
      const data = bytes.toString('base64');
      if (data.length > room) return `${mediaType}, ${bytes.length} bytes, left out: the result is too large to show`;
      room -= data.length;
      return { type: 'image', media_type: mediaType, data };
    },
  });
  const shown = content.map((block): ShownBlock => {
    if (block.type === 'image') return block;
    const text = cutText(block.text, room);
    room -= Math.min(room, block.text.length);
    return { type: 'text', text };
  });
  return { content: shown, isError };
}

function cutText(text: string, room: number): string {
  if (text.length <= room) return text;
  const start = text.slice(0, room).replace(/[\ud800-\udbff]$/, '');
  return `${start}\n[${text.length - start.length} more characters left out: the result is too large to show]`.trim();
}

function errorResult(text: string): TrialResult {
  return { content: [{ type: 'text', text }], isError: true };
}

function tooManyTrials(): ServiceError {
  return new ServiceError(
    'too_many_requests',
    `${MAX_TRIALS_PER_PROJECT} calls of tools of the project are under way. Wait for one of them, then try again.`,
    undefined,
    { 'Retry-After': '1' },
  );
}
