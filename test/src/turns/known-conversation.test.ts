import { expect } from 'chai';
import type { Database } from '../../../src/db/db.js';
import type { AssistantBlock } from '../../../src/models/content.js';
import { ConversationCache, type KnownConversation } from '../../../src/steps/conversation-cache.js';
import { loadConversation, type RequestContext } from '../../../src/steps/conversation.js';
import type { ModelCall } from '../../../src/steps/model-call.js';
import { seedSession, type TurnSeed } from '../../support/conversations.js';
import { useDatabase, usePool } from '../../support/use.js';

const use = (id: string): AssistantBlock => ({ type: 'tool_use', id, name: 'list_files', input: {} });
const toolStep = (id: string, result: string) => ({
  content: [use(id)],
  calls: [{ content: [{ type: 'text' as const, text: result }] }],
});
const answer = (text: string): TurnSeed['steps'] => [{ content: [{ type: 'text', text }] }];

describe('a conversation that a worker keeps in memory', () => {
  const db = usePool(useDatabase(), 2);

  const beginCall = (turnId: string, step: number, messageId: string): Promise<unknown> =>
    db.query(
      `INSERT INTO model_calls (turn_id, step, position, call, message_id, worker_id, task_token, model_id)
       VALUES ($1, $2, $2, 1, $3, 'w', '\\x01', 'scripted')`,
      [turnId, step, messageId],
    );
  /** What the worker keeps when the call of this step begins: the steps before it. */
  const knownAt = async (turnId: string, step: number): Promise<KnownConversation> => {
    const { conversation, bytes } = await loadConversation(db, turnId);
    const last = conversation.turns.at(-1)!;
    const turns = [...conversation.turns.slice(0, -1), { ...last, steps: last.steps.filter((s) => s.step < step) }];
    await beginCall(turnId, step, `msg_${turnId}_${step}`);
    return { turns, messageId: `msg_${turnId}_${step}`, bytes };
  };
  /** Loads it with and without the worker's copy; both must be equal. Returns the texts that the statement read. */
  const reload = async (turnId: string, known: KnownConversation): Promise<RequestContext & { read: string }> => {
    const whole = await loadConversation(db, turnId);
    let read = '';
    const spied = {
      query: async (text: string, values: unknown[]): Promise<unknown> => {
        const rows: unknown = await db.query(text, values);
        read += JSON.stringify(rows);
        return rows;
      },
    } as unknown as Database;
    const rest = await loadConversation(spied, turnId, known);
    expect(rest.conversation).to.deep.equal(whole.conversation);
    expect(rest.turn).to.deep.equal(whole.turn);
    return { ...rest, read };
  };

  it('a conversation that a worker keeps in memory is read from its last step on', async () => {
    const { turnId } = await seedSession(db, [
      { state: 'completed', steps: answer('an old answer') },
      { state: 'running', steps: [toolStep('one', 'result one'), toolStep('two', 'result two')] },
    ]);
    const { read } = await reload(turnId, await knownAt(turnId, 2));
    expect(read).to.include('result two').and.not.include('result one').and.not.include('an old answer');
  });

  it('a conversation that a worker keeps in memory is read from its last turn on in a later turn of the session', async () => {
    const { sessionId, turnId } = await seedSession(db, [
      { state: 'completed', steps: answer('an old answer') },
      { state: 'running', steps: [toolStep('one', 'result one'), { content: [{ type: 'text', text: 'cut' }] }] },
      { state: 'completed', content: 'asked elsewhere', steps: answer('answered elsewhere') },
      { state: 'running', content: 'and now?' },
    ]);
    const [second] = await db.query<{ id: string }[]>('SELECT id FROM turns WHERE session_id = $1 AND number = 2', [
      sessionId,
    ]);
    const known = await knownAt(second!.id, 2);
    await db.query(`UPDATE turns SET state = 'cancelled' WHERE id = $1`, [second!.id]);
    const { read, conversation } = await reload(turnId, known);
    expect(conversation.turns.map(({ state }) => state)).to.deep.equal([
      'completed',
      'cancelled',
      'completed',
      'running',
    ]);
    expect(read).to.include('answered elsewhere').and.not.include('an old answer').and.not.include('result one');
  });

  it('a conversation that a worker keeps in memory is read again once another call has begun, which may have shortened it', async () => {
    const { turnId } = await seedSession(db, [
      { state: 'running', steps: [toolStep('one', 'result one'), toolStep('two', 'result two')] },
    ]);
    const known = await knownAt(turnId, 2);
    await db.query(`UPDATE tool_calls SET content = '[{"type":"text","text":"[Left out]"}]' WHERE turn_id = $1`, [
      turnId,
    ]);
    await beginCall(turnId, 3, 'msg_of_another_worker');
    const { read } = await reload(turnId, known);
    expect(read).to.include('Left out').and.not.include('result one');
  });

  it('a conversation that a worker keeps in memory is read again if the tables do not have the call: they were restored from a backup', async () => {
    const { turnId } = await seedSession(db, [{ state: 'running', steps: [toolStep('one', 'result one')] }]);
    const known = await knownAt(turnId, 2);
    await db.query('DELETE FROM model_calls WHERE turn_id = $1', [turnId]);
    await db.query(`UPDATE tool_calls SET content = '[{"type":"text","text":"as restored"}]' WHERE turn_id = $1`, [
      turnId,
    ]);
    const { read } = await reload(turnId, known);
    expect(read).to.include('as restored');
  });

  it('a conversation that a worker keeps in memory drops the turns that were summarised meanwhile', async () => {
    const { sessionId, turnId } = await seedSession(db, [
      { state: 'completed', steps: answer('first') },
      { state: 'completed', steps: answer('second') },
      { state: 'running', steps: [toolStep('one', 'result one')] },
    ]);
    const known = await knownAt(turnId, 1);
    await db.query(`INSERT INTO compactions (session_id, turn_number, summary) VALUES ($1, 1, 'summary')`, [sessionId]);
    const { conversation } = await reload(turnId, known);
    expect(conversation.summary).to.equal('summary');
    expect(conversation.turns).to.have.length(2);
  });

  it('a conversation that a worker keeps in memory is kept within a limit, the oldest goes first', async () => {
    const cache = new ConversationCache();
    const keep = (n: number, bytes: number): void => {
      const call = { turnId: `turn_${n}`, sessionId: `ses_${n}`, messageId: `msg_${n}` } as ModelCall;
      cache.keep(call, [], bytes);
    };
    const MIB = 1024 * 1024;
    for (let n = 0; n < 4; n += 1) keep(n, 8 * MIB);
    // Used again: it is no longer the oldest.
    keep(0, 8 * MIB);
    keep(4, 8 * MIB);
    keep(5, 9 * MIB);
    const found = [0, 1, 2, 3, 4, 5].map((n) => cache.find(`ses_${n}`)?.messageId ?? null);
    expect(found).to.deep.equal(['msg_0', null, 'msg_2', 'msg_3', 'msg_4', null]);
    keep(0, 9 * MIB);
    expect(cache.find('ses_0')).to.equal(null);
  });
});
