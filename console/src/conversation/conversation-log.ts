import {
  isTerminal,
  type DeltaEvent,
  type Event,
  type RetryEvent,
  type Session,
  type StreamEvent,
} from '../../../client/src/index.js';

/** A model call's text while it streams. Its stored events replace it; a call that is tried again drops it. */
interface Draft {
  messageId: string;
  thinking: string;
  text: string;
}

/** What is known of a turn. A change makes a new object: what is unchanged need not be rendered again. */
export interface Turn {
  id: string;
  /** Stored events, in order, each once. */
  events: Event[];
  draft: Draft | null;
  /** The model is away, and is called again: the newest notice, until the turn goes on. */
  retry: RetryEvent | null;
  /** The event that asked for a larger budget, when somebody has decided: no event tells of it. */
  decided: string | null;
}

/**
 * The turns of a session, put together from its history and its streams, which overlap. Turn ids are ordered by time, and
 * within a turn both sources keep the order of its events.
 */
export class ConversationLog {
  #turns: Turn[] = [];
  readonly #seen = new Set<string>();

  get turns(): readonly Turn[] {
    return this.#turns;
  }

  add(event: StreamEvent): void {
    if (isDelta(event)) return this.#addDelta(event);
    // The text of the call that failed is dropped: another call follows.
    if (!('id' in event)) return this.#change(event.turn_id, (turn) => ({ ...turn, draft: null, retry: event }));
    const isNew = !this.#seen.has(event.id);
    this.#seen.add(event.id);
    this.#change(event.turn_id, (turn) => {
      const draft = turn.draft && restOfDraft(turn.draft, event);
      if (!isNew && draft === turn.draft) return turn;
      return {
        ...turn,
        events: isNew ? [...turn.events, event] : turn.events,
        draft,
        retry: isNew ? null : turn.retry,
      };
    });
  }

  /** Takes what a session says of a turn that has asked for a larger budget, if it was read later than that. */
  settle({ updated_at: readAt, required_actions: actions }: Pick<Session, 'updated_at' | 'required_actions'>): void {
    const turn = this.#turns.at(-1);
    const last = turn?.events.at(-1);
    if (last?.type !== 'agent.requires_action' || readAt <= last.created_at) return;
    if (actions.some(({ type }) => type === 'budget')) return;
    this.#change(turn!.id, (before) => ({ ...before, decided: last.id }));
  }

  #addDelta({ turn_id: turnId, message_id: messageId, type, content }: DeltaEvent): void {
    this.#change(turnId, (turn) => {
      const draft = turn.draft?.messageId === messageId ? turn.draft : { messageId, thinking: '', text: '' };
      if (turn.events.some((event) => isTerminal(event) || ('message_id' in event && event.message_id === messageId))) {
        return turn.draft === null ? turn : { ...turn, draft: null };
      }
      const part = type === 'agent.thinking.delta' ? 'thinking' : 'text';
      return { ...turn, draft: { ...draft, [part]: draft[part] + content }, retry: null };
    });
  }

  #change(turnId: string, change: (turn: Turn) => Turn): void {
    const index = this.#turns.findLastIndex(({ id }) => id === turnId);
    if (index === -1) {
      const later = this.#turns.findIndex(({ id }) => id > turnId);
      const turn = change({ id: turnId, events: [], draft: null, retry: null, decided: null });
      this.#turns = this.#turns.toSpliced(later === -1 ? this.#turns.length : later, 0, turn);
    } else {
      const changed = change(this.#turns[index]!);
      if (changed !== this.#turns[index]) this.#turns = this.#turns.with(index, changed);
    }
  }
}

export function hasEnded({ events }: Turn): boolean {
  const last = events.at(-1);
  return last !== undefined && isTerminal(last);
}

function isDelta(event: StreamEvent): event is DeltaEvent {
  return event.type === 'agent.message.delta' || event.type === 'agent.thinking.delta';
}

/** A model call has ended when one of these is stored; thinking alone does not end it. */
const CALL_ENDS = new Set<Event['type']>([
  'agent.message',
  'agent.tool_use',
  'agent.custom_tool_use',
  // The answer of the model before is dropped.
  'agent.model_changed',
]);

/** What a stored event leaves of a draft. Events of one model call come in the order thinking, message, tool uses. */
function restOfDraft(draft: Draft, event: Event): Draft | null {
  if (event.type === 'agent.thinking' && event.message_id === draft.messageId) return { ...draft, thinking: '' };
  return isTerminal(event) || CALL_ENDS.has(event.type) ? null : draft;
}
