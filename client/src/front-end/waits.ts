import type { AgentSessionClient } from '../client.js';
import type { Answer, RequiredAction, StreamEvent } from '../types.js';
import type { Lookahead } from './turn-events.js';

type WaitEvent = Extract<StreamEvent, { type: 'agent.requires_action' }>;

/** @internal A child session asks: its actions are answered there, not in the chat of the parent. */
export function isOfChild(action: RequiredAction): action is RequiredAction & { session_id: string } {
  return action.session_id !== undefined;
}

/** @internal What an answer names: the question, or else the call. A budget is the only one of its turn. */
export function keyOf(action: RequiredAction): string {
  const key =
    'elicitation_id' in action ? action.elicitation_id : 'tool_use_id' in action ? action.tool_use_id : action.type;
  return isOfChild(action) ? `${action.session_id}:${key}` : key;
}

/**
 * @internal Whether everything that a wait lists of the session itself is still open. A replay has old waits: their answers follow at once, or else the
 * session says what is open now.
 */
export async function isStillOpen(
  client: AgentSessionClient,
  sessionId: string,
  wait: WaitEvent,
  events: Lookahead,
  signal: AbortSignal,
): Promise<boolean> {
  const keys = new Set(wait.required_actions.filter((action) => !isOfChild(action)).map(keyOf));
  const next = await events.peek();
  if (next !== null && closes(next, keys)) return false;
  const { required_actions: open } = await client.getSession(sessionId, { signal });
  const openKeys = new Set(open.map(keyOf));
  return [...keys].every((key) => openKeys.has(key));
}

function closes(event: StreamEvent, keys: ReadonlySet<string>): boolean {
  if (event.type === 'agent.requires_action' || event.type.startsWith('turn.')) return true;
  if (event.type === 'user.elicitation_result') return keys.has(event.elicitation_id);
  const isAnswer = event.type === 'user.tool_confirmation' || event.type === 'user.custom_tool_result';
  return (isAnswer || event.type === 'agent.tool_result') && keys.has(event.tool_use_id);
}

/** How often answers are sent again without those that others gave meanwhile. */
const MAX_ATTEMPTS = 3;

/**
 * @internal Sends the answers to what is open now. `answerOf` gives the answer to an action, or null without one. Returns how many
 * were sent. An action that another client answers meanwhile is left out.
 */
export async function sendOpenAnswers(
  client: AgentSessionClient,
  sessionId: string,
  answerOf: (action: RequiredAction) => Answer | null,
  signal?: AbortSignal,
): Promise<number> {
  const options = signal === undefined ? {} : { signal };
  for (let attempt = 1; ; attempt += 1) {
    const { required_actions: open } = await client.getSession(sessionId, options);
    const answers = open.flatMap((action) => (isOfChild(action) ? [] : (answerOf(action) ?? [])));
    if (answers.length === 0) return 0;
    try {
      await client.sendAnswers(sessionId, answers, options);
      return answers.length;
    } catch (error) {
      if (attempt === MAX_ATTEMPTS || !isAnsweredByOthers(error)) throw error;
    }
  }
}

function isAnsweredByOthers(error: unknown): boolean {
  const { type } = error as { type?: string };
  return type === 'tool_use_not_pending' || type === 'elicitation_not_pending';
}
