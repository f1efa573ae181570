import {
  isTerminal,
  type BudgetAction,
  type Elicitation,
  type Event,
  type McpAuthorizationAction,
  type RequiredAction,
  type WaitingCall,
} from '../../../client/src/index.js';
import type { Turn } from './conversation-log.js';

type EventOf<Type extends Event['type']> = Extract<Event, { type: Type }>;

export type WorkspaceResult = NonNullable<EventOf<'agent.tool_result'>['workspace']>;

export interface ToolCall {
  use: EventOf<'agent.tool_use' | 'agent.custom_tool_use'>;
  confirmation: EventOf<'user.tool_confirmation'> | null;
  /** Of a custom tool that the client has answered, the client's own. */
  result: EventOf<'agent.tool_result' | 'user.custom_tool_result'> | null;
  waitsFor: WaitingCall | McpAuthorizationAction | null;
  questions: Elicitation[];
  /** The agent waits during the call. */
  wait: EventOf<'agent.wait'> | null;
  progress: EventOf<'agent.tool_progress'> | null;
  /** The call has begun a turn of another agent. */
  delegated: EventOf<'agent.delegated'> | null;
  /** That agent asks a person, in its own session. */
  childAsks: boolean;
  turnEnded: boolean;
}

export function toolCallsOf(events: Event[]): Map<string, ToolCall> {
  const calls = new Map<string, ToolCall>();
  const turnEnded = events.some(isTerminal);
  for (const event of events) {
    if (event.type === 'agent.tool_use' || event.type === 'agent.custom_tool_use') {
      const none = { confirmation: null, result: null, waitsFor: null, questions: [], wait: null, progress: null };
      calls.set(event.tool_use_id, { use: event, ...none, delegated: null, childAsks: false, turnEnded });
    } else if (event.type === 'agent.requires_action') {
      // It names all that is open: a question that is missing was withdrawn.
      const asking = new Set(event.required_actions.map(({ session_id: id }) => id));
      for (const [id, { delegated }] of calls)
        change(calls, id, { questions: [], childAsks: delegated !== null && asking.has(delegated.child_session_id) });
      for (const action of event.required_actions) {
        // Those of child sessions are answered there.
        if (action.session_id !== undefined) continue;
        if (action.type === 'elicitation') addQuestion(calls, action);
        else if (action.type !== 'budget') change(calls, action.tool_use_id, { waitsFor: action });
      }
    } else if (event.type === 'user.elicitation_result') {
      for (const [id, { questions }] of calls) {
        const left = questions.filter(({ elicitation_id }) => elicitation_id !== event.elicitation_id);
        change(calls, id, { questions: left });
      }
    } else if (event.type === 'agent.wait') {
      change(calls, event.tool_use_id, { wait: event });
    } else if (event.type === 'agent.delegated') {
      change(calls, event.tool_use_id, { delegated: event });
    } else if (event.type === 'agent.tool_progress') {
      change(calls, event.tool_use_id, { progress: event });
    } else if (event.type === 'user.tool_confirmation') {
      change(calls, event.tool_use_id, { confirmation: event, waitsFor: null });
    } else if (event.type === 'user.custom_tool_result' || event.type === 'agent.tool_result') {
      change(calls, event.tool_use_id, { result: event, waitsFor: null, questions: [], childAsks: false });
    }
  }
  if (turnEnded) for (const id of calls.keys()) change(calls, id, { waitsFor: null, questions: [], childAsks: false });
  return calls;
}

function change(calls: Map<string, ToolCall>, id: string, to: Partial<ToolCall>): void {
  const call = calls.get(id);
  if (call !== undefined) calls.set(id, { ...call, ...to });
}

function addQuestion(calls: Map<string, ToolCall>, question: Elicitation): void {
  const { questions = [] } = calls.get(question.tool_use_id) ?? {};
  change(calls, question.tool_use_id, { questions: [...questions, question] });
}

/** The command of a call of `bash`, which runs in the session's workspace; null of every other call. */
export function commandOf({ type, name, input }: ToolCall['use']): string | null {
  const isBash = type === 'agent.tool_use' && name === 'bash';
  return isBash && typeof input.command === 'string' ? input.command : null;
}

/** What a call did to the workspace; null of one that did not run in it. */
export function workspaceOf({ result }: ToolCall): WorkspaceResult | null {
  return (result?.type === 'agent.tool_result' && result.workspace) || null;
}

export function openBudget({ events, draft, decided }: Turn): BudgetAction | null {
  const last = events.at(-1);
  if (last?.type !== 'agent.requires_action' || draft !== null || decided === last.id) return null;
  return last.required_actions.find((action) => action.type === 'budget') ?? null;
}

export function openActions(turn: Turn): RequiredAction[] {
  const budget = openBudget(turn);
  if (budget !== null) return [budget];
  return [...toolCallsOf(turn.events).values()].flatMap(({ waitsFor, questions }) => [
    ...(waitsFor === null ? [] : [waitsFor]),
    ...questions,
  ]);
}
