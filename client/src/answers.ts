import { ApiError } from './errors.js';
import type { Answer, Elicitation, StreamEvent, WaitingCall } from './types.js';

/**
 * A person's decision about a call. `{ deny }` gives the agent the reason. `{ allow }` changes the input of the call, or lets later calls
 * of the tool in the session run without asking.
 */
export type Decision =
  | 'allow'
  | 'deny'
  | { deny: string }
  | { allow: { input: Record<string, unknown> } | { remember: 'session' } };

/**
 * Runs a custom tool. The agent gets the returned text, or the returned value as JSON; an exception is an error result
 * with its message. After a crash of the client a call that was not answered yet is made again.
 */
// oxlint-disable-next-line typescript/no-explicit-any -- what the tool's input_schema says, which this type cannot know
export type ToolFunction = (input: any, action: WaitingCall) => unknown;

/** A person's answer to a question of an MCP server. `{ accept }` carries the fields of a form. */
export type ElicitationDecision = 'accept' | 'decline' | 'cancel' | { accept: Record<string, unknown> };

export interface AnswerOptions {
  /**
   * Runs the session's custom tools, by name. A call without a function here stays open, so that another client can
   * answer it.
   */
  tools?: Record<string, ToolFunction>;
  /**
   * Decides about calls that need a person's decision. If it is absent or returns undefined, the call stays open, so that
   * another client can answer it. If it throws, `run` throws, and the call stays open.
   */
  confirm?: (action: WaitingCall) => Decision | undefined | Promise<Decision | undefined>;
  /**
   * Answers questions of MCP servers, as `confirm` decides about calls: shows a form made from `requested_schema`, or a `url`
   * for the person to open.
   */
  elicit?: (question: Elicitation) => ElicitationDecision | undefined | Promise<ElicitationDecision | undefined>;
  /** Who decides, at most 128 characters: stored with each answer. */
  actor?: string;
}

/** @internal Answers each call in a turn's events once, without blocking the stream. */
export class Answers {
  readonly #taken = new Set<string>();
  readonly #work: Promise<void>[] = [];
  readonly #failure = new AbortController();

  constructor(
    private readonly options: AnswerOptions,
    /** `childId`: the child session that asks; undefined for the session of the turn. */
    private readonly send: (answer: Answer, childId?: string) => Promise<unknown>,
  ) {}

  /** Aborts if an answer could not be sent. */
  get failed(): AbortSignal {
    return this.#failure.signal;
  }

  take(event: StreamEvent): void {
    if (event.type !== 'agent.requires_action') return;
    for (const action of event.required_actions) {
      // Whoever owns the budget raises it with updateSession; the user authorizes a server in a browser.
      if (action.type === 'budget' || action.type === 'mcp_authorization') continue;
      const { session_id: childId = '' } = action;
      const id = `${childId} ${action.type === 'elicitation' ? action.elicitation_id : action.tool_use_id}`;
      if (this.#taken.has(id)) continue;
      this.#taken.add(id);
      this.#work.push(this.#answer(action).catch((error: unknown) => this.#failure.abort(error)));
    }
  }

  async finish(): Promise<void> {
    await Promise.all(this.#work);
    this.failed.throwIfAborted();
  }

  async #answer(action: WaitingCall | Elicitation): Promise<void> {
    const { actor } = this.options;
    const answer = await this.#answerOf(action);
    if (answer === null) return;
    if (actor !== undefined) answer.actor = actor;
    try {
      await this.send(answer, action.session_id);
    } catch (error) {
      // Another client answered first, the call has expired, or the turn was cancelled.
      const isClosed =
        error instanceof ApiError && (error.is('tool_use_not_pending') || error.is('elicitation_not_pending'));
      if (!isClosed) throw error;
    }
  }

  #answerOf(action: WaitingCall | Elicitation): Promise<Answer | null> {
    if (action.type === 'elicitation') return this.#elicited(action);
    return action.type === 'custom_tool_result' ? this.#result(action) : this.#decision(action);
  }

  async #elicited(question: Elicitation): Promise<Answer | null> {
    const decision = await this.options.elicit?.(question);
    if (decision === undefined) return null;
    const base = { type: 'user.elicitation_result', elicitation_id: question.elicitation_id } as const;
    if (typeof decision === 'string') return { ...base, action: decision };
    return { ...base, action: 'accept', content: decision.accept };
  }

  async #result(action: WaitingCall): Promise<Answer | null> {
    const tool = this.options.tools?.[action.name];
    if (tool === undefined) return null;
    const base = { type: 'user.custom_tool_result', tool_use_id: action.tool_use_id } as const;
    try {
      return { ...base, content: resultText(await tool(action.input, action)) };
    } catch (error) {
      return { ...base, content: error instanceof Error ? error.message : String(error), is_error: true };
    }
  }

  async #decision(action: WaitingCall): Promise<Answer | null> {
    const decision = await this.options.confirm?.(action);
    if (decision === undefined) return null;
    const base = { type: 'user.tool_confirmation', tool_use_id: action.tool_use_id } as const;
    if (typeof decision === 'string') return { ...base, result: decision };
    if ('allow' in decision) return { ...base, result: 'allow', ...decision.allow };
    return { ...base, result: 'deny', deny_message: decision.deny };
  }
}

/** @throws TypeError for a value that JSON cannot carry */
function resultText(value: unknown): string {
  if (typeof value === 'string') return value;
  return JSON.stringify(value) ?? '';
}
