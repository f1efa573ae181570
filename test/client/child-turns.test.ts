import { expect } from 'chai';
import type { UIMessage } from 'ai';
import { TurnChunks, shownIn } from '../../client/src/ai-sdk/chunks.js';
import { messagesOf } from '../../client/src/ag-ui/messages.js';
import { Answers } from '../../client/src/answers.js';
import type { Answer, Event, RequiredAction, StreamEvent } from '../../client/src/types.js';
import { keyOf } from '../../client/src/front-end/waits.js';

const base = { turn_id: 'turn_1', created_at: '2026-11-29T00:00:00.000000Z' };
const event = (fields: object, id = 'evt_1') => ({ id, ...base, ...fields }) as StreamEvent;
const USE = event({ type: 'agent.tool_use', tool_use_id: 'toolu_1', name: 'agent__a', input: { message: 'x' } });
const DELEGATED = event({
  ...{ type: 'agent.delegated', tool_use_id: 'toolu_1', agent_id: 'agent_1', agent_version: 1 },
  ...{ child_session_id: 'ses_2', child_turn_id: 'turn_2' },
});
const ACTION: Extract<RequiredAction, { type: 'tool_confirmation' }> = {
  ...{ type: 'tool_confirmation', tool_use_id: 'toolu_1', name: 'send', input: {} },
  ...{
    title: null,
    annotations: { read_only: null, destructive: null, idempotent: null, open_world: null },
    expires_at: base.created_at,
    session_id: 'ses_2',
  },
};
const ASKS = event({ type: 'agent.requires_action', required_actions: [ACTION] });
const RESULT = event({
  ...{ type: 'agent.tool_result', tool_use_id: 'toolu_1', name: 'agent__a', is_error: false, content: 'Done.' },
  delegation: { session_id: 'ses_2', turn_id: 'turn_2', status: 'completed', stop_reason: 'end_turn', cost: null },
});

/** decisions.md "Agents that call agents", for pages. */
describe('child turns in front ends', () => {
  it('child turns in front ends are a part of the call that a page can open until its result comes', () => {
    const turn = new TurnChunks();
    const chunks = [USE, DELEGATED, RESULT].flatMap((one) => turn.take(one));
    const outputs = chunks.filter(({ type }) => type === 'tool-output-available');
    expect(outputs).to.deep.equal([
      {
        ...{ type: 'tool-output-available', toolCallId: 'toolu_1', dynamic: true, preliminary: true },
        output: { agentId: 'agent_1', sessionId: 'ses_2', turnId: 'turn_2' },
      },
      { type: 'tool-output-available', toolCallId: 'toolu_1', output: 'Done.' },
    ]);
  });

  it('child turns in front ends are shown once after a reload, and their result still comes', () => {
    const part = {
      ...{ type: 'dynamic-tool', toolName: 'agent__a', toolCallId: 'toolu_1', state: 'output-available', input: {} },
      ...{ output: { sessionId: 'ses_2' }, preliminary: true },
    };
    const turn = new TurnChunks(shownIn({ id: 'turn_1', role: 'assistant', parts: [part] } as unknown as UIMessage));
    const chunks = [USE, DELEGATED, RESULT].flatMap((one) => turn.take(one));
    expect(chunks.filter(({ type }) => type.startsWith('tool-'))).to.deep.equal([
      { type: 'tool-output-available', toolCallId: 'toolu_1', output: 'Done.' },
    ]);
  });

  it('what child turns ask is data beside the chat, no approval of the call with the same id, and goes with the result', () => {
    const turn = new TurnChunks();
    const chunks = [USE, DELEGATED, ASKS, RESULT].flatMap((one) => turn.take(one));
    const id = keyOf(ACTION);
    expect(id).to.equal('ses_2:toolu_1');
    expect(chunks.filter(({ type }) => type === 'data-required-action')).to.deep.equal([
      { type: 'data-required-action', id, data: ACTION },
      { type: 'data-required-action', id, data: null },
    ]);
    expect(chunks.map(({ type }) => type)).to.not.include('tool-approval-request');
  });

  it('child turns are activities of AG-UI', () => {
    const [activity] = messagesOf([DELEGATED as Event]);
    expect(activity).to.deep.equal({
      ...{ id: 'delegation:toolu_1', role: 'activity', activityType: 'agent.delegated' },
      content: { toolCallId: 'toolu_1', agentId: 'agent_1', sessionId: 'ses_2', turnId: 'turn_2' },
    });
  });

  it('what child turns ask is decided by run and answered in their session, once for each session', async () => {
    const sent: [Answer, string | undefined][] = [];
    const answers = new Answers({ confirm: () => 'allow' }, (answer, childId) => {
      sent.push([answer, childId]);
      return Promise.resolve();
    });
    const { session_id: _, ...own } = ACTION;
    answers.take(event({ type: 'agent.requires_action', required_actions: [own, ACTION, ACTION] }));
    await answers.finish();
    expect(sent.map(([, childId]) => childId)).to.deep.equal([undefined, 'ses_2']);
  });
});
