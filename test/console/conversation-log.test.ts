import { expect } from 'chai';
import type { Event, StreamEvent } from '../../client/src/index.js';
import { ConversationLog, hasEnded } from '../../console/src/conversation/conversation-log.js';
import { openBudget } from '../../console/src/conversation/tool-calls.js';
import { itemsOf } from '../../console/src/conversation/turn-items.js';

const TIMES = { created_at: '2026-11-21T09:48:03.123456Z' };
const usage = { usage: null, usage_details: null };
const timing = {
  timing: {
    queued_ms: 1,
    connect_ms: null,
    first_token_ms: null,
    model_ms: null,
    tools_ms: null,
    waiting_ms: null,
    total_ms: 1,
  },
};

const user = (turn: string): Event => ({
  ...{ id: `evt_${turn}_user`, type: 'user.message', turn_id: turn, ...TIMES },
  ...{ content: 'Hello', files: [], skills: [] },
});
const delta = (
  turn: string,
  messageId: string,
  content: string,
  kind: 'message' | 'thinking' = 'message',
): StreamEvent => ({
  type: `agent.${kind}.delta`,
  turn_id: turn,
  message_id: messageId,
  content,
});
const message = (turn: string, messageId: string, content: string): Event => ({
  ...{ id: `evt_${messageId}`, type: 'agent.message', turn_id: turn, ...TIMES },
  ...{ message_id: messageId, content },
});
const thinking = (turn: string, messageId: string, content: string): Event => ({
  ...{ id: `evt_${messageId}_thinking`, type: 'agent.thinking', turn_id: turn, ...TIMES },
  ...{ message_id: messageId, content },
});
const cancelled = (turn: string): Event => ({
  ...{ id: `evt_${turn}_end`, type: 'turn.cancelled', turn_id: turn, ...TIMES },
  ...usage,
  ...timing,
});

const logOf = (events: StreamEvent[]): ConversationLog => {
  const log = new ConversationLog();
  events.forEach((event) => log.add(event));
  return log;
};
/** Texts as they are shown, a draft's in brackets. */
const textsOf = (log: ConversationLog): string[] =>
  log.turns
    .flatMap((turn) => itemsOf(turn))
    .flatMap((item) =>
      item.kind === 'text' || item.kind === 'thinking' ? (item.streaming ? `[${item.content}]` : item.content) : [],
    );

describe("the console's conversation log", () => {
  it('the console’s conversation log leaves out frames of the stream alone that have no text', () => {
    const notice = { type: 'agent.retry.delta', turn_id: 'turn_1', reason: 'model_overloaded', attempt: 1 };
    const log = logOf([user('turn_1'), notice as unknown as StreamEvent, delta('turn_1', 'msg_1', 'Here')]);
    expect(log.turns[0]!.events.map(({ type }) => type)).to.deep.equal(['user.message']);
    expect(textsOf(log)).to.deep.equal(['[Here]']);
  });

  it('the console’s conversation log shows an event once, whether history or stream bring it', () => {
    const events = [user('turn_1'), message('turn_1', 'msg_1', 'Hi')];
    expect(textsOf(logOf([...events, ...events]))).to.deep.equal(['Hi']);
  });

  it('the console’s conversation log keeps the key of a text when its draft becomes an event', () => {
    const log = logOf([user('turn_1'), delta('turn_1', 'msg_1', 'H'), delta('turn_1', 'msg_1', 'i')]);
    const draft = itemsOf(log.turns[0]!).at(-1)!;
    expect(textsOf(log)).to.deep.equal(['[Hi]']);
    log.add(message('turn_1', 'msg_1', 'Hi'));
    expect(textsOf(log)).to.deep.equal(['Hi']);
    expect(itemsOf(log.turns[0]!).at(-1)!.key).to.equal(draft.key);
  });

  it('the console’s conversation log keeps streamed text while only the thinking before it is stored', () => {
    const log = logOf([
      delta('turn_1', 'msg_1', 'Hm', 'thinking'),
      delta('turn_1', 'msg_1', 'Hi'),
      thinking('turn_1', 'msg_1', 'Hm'),
    ]);
    expect(textsOf(log)).to.deep.equal(['Hm', '[Hi]']);
  });

  it('the console’s conversation log drops the text of a model call that was tried again', () => {
    const log = logOf([delta('turn_1', 'msg_1', 'Broken'), delta('turn_1', 'msg_2', 'Good')]);
    expect(textsOf(log)).to.deep.equal(['[Good]']);
  });

  it('the console’s conversation log drops it also when the second call is in the history already', () => {
    const stored = [user('turn_1'), message('turn_1', 'msg_2', 'Good')];
    const replay = [user('turn_1'), delta('turn_1', 'msg_1', 'Broken'), delta('turn_1', 'msg_2', 'Good'), stored[1]!];
    expect(textsOf(logOf([...stored, ...replay]))).to.deep.equal(['Good']);
  });

  it('the console’s conversation log drops a draft when the turn ends', () => {
    const log = logOf([user('turn_1'), delta('turn_1', 'msg_1', 'Cut'), cancelled('turn_1')]);
    expect(textsOf(log)).to.deep.equal([]);
    expect(hasEnded(log.turns[0]!)).to.equal(true);
  });

  it('the console’s conversation log drops the answer of a model whose turn goes on with another one', () => {
    const change: Event = {
      ...{ id: 'evt_change', type: 'agent.model_changed', turn_id: 'turn_1', ...TIMES },
      ...{ from: 'a', to: 'b', reason: 'model_error' },
    };
    const log = logOf([user('turn_1'), delta('turn_1', 'msg_1', 'Dropped'), change]);
    expect(textsOf(log)).to.deep.equal([]);
    log.add(delta('turn_1', 'msg_2', 'Kept'));
    expect(textsOf(log)).to.deep.equal(['[Kept]']);
  });

  it('the console’s conversation log counts a tool call and its result as one step', () => {
    const id = { message_id: 'msg_1', tool_use_id: 'toolu_1' };
    const call = { ...id, name: 'list_files', input: {} };
    const log = logOf([
      user('turn_1'),
      { id: 'evt_use', type: 'agent.tool_use', turn_id: 'turn_1', ...TIMES, ...call } as unknown as Event,
      { id: 'evt_result', type: 'agent.tool_result', turn_id: 'turn_1', ...TIMES, ...id } as unknown as Event,
      cancelled('turn_1'),
    ]);
    const keys = itemsOf(log.turns[0]!).map(({ key }) => key);
    expect(keys).to.deep.equal(['evt_turn_1_user', 'evt_use', 'evt_turn_1_end']);
  });

  it('the console’s conversation log asks for a larger budget until somebody decides, or the next call answers', () => {
    const cost = { amount: '1', currency: 'USD' };
    const action = { type: 'budget' as const, spent: cost, max_cost: cost, expires_at: '2026-11-22T09:48:03.123456Z' };
    const asks: Event = {
      ...{ id: 'evt_asks', type: 'agent.requires_action', turn_id: 'turn_1', ...TIMES },
      required_actions: [action],
    };
    const log = logOf([user('turn_1'), asks]);
    const isOpen = (): boolean => openBudget(log.turns[0]!) !== null;
    // Read before the turn asked, and while it still waits.
    log.settle({ updated_at: TIMES.created_at, required_actions: [] });
    log.settle({ updated_at: '2026-11-21T09:50:00.000000Z', required_actions: [action] });
    expect(isOpen()).to.equal(true);
    log.settle({ updated_at: '2026-11-21T09:51:00.000000Z', required_actions: [] });
    expect(isOpen()).to.equal(false);

    const other = logOf([user('turn_1'), asks, delta('turn_1', 'msg_1', 'Hi')]);
    expect(openBudget(other.turns[0]!)).to.equal(null);
  });

  it('the console’s conversation log puts a turn that is read late before the later ones', () => {
    const log = logOf([user('turn_1'), user('turn_3'), user('turn_2')]);
    expect(log.turns.map(({ id }) => id)).to.deep.equal(['turn_1', 'turn_2', 'turn_3']);
  });

  it('the console’s conversation log leaves unchanged turns the same objects', () => {
    const log = logOf([user('turn_1'), cancelled('turn_1'), user('turn_2')]);
    const [first] = log.turns;
    log.add(delta('turn_2', 'msg_1', 'Hi'));
    log.add(user('turn_1'));
    expect(log.turns[0]).to.equal(first);
  });
});
