import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { message, toolUse, type Reply } from '../scripted-model.js';
import { inSeconds, newSchedule } from '../schedules.js';
import { confirmation, customResult, customTool } from '../waiting-turns.js';
import { call, keyOf, say, saySlowly } from './outside.js';
import type { Talk } from './talk.js';

const APPENDS = 3;
const AHEAD_S = 5;
/** Into a slow answer. */
const MEANWHILE_MS = 600;
const ASK = { permission_policy: { type: 'always_ask' } };

/** A kind of load. */
interface Kind {
  /** What the model replies to its messages, step by step. `key` is that of the conversation, `message` the whole text. */
  replies(key: string, message: string): Reply[];
  /** A client from its first request to the end of its last turn. */
  run(talk: Talk): Promise<void>;
}

const both = (text: Reply, use: Reply): Reply => message([text, use].flat() as Parameters<typeof message>[0]);
const withShop = ({ outside }: Talk): { mcp_servers: string[] } => ({ mcp_servers: [outside.shop] });
const toolset = ({ outside }: Talk, more: object): object => ({
  ...{ type: 'mcp_toolset', mcp_server_id: outside.shop },
  ...more,
});
/** The second message of a conversation is answered at once. */
const isSecond = (text: string): boolean => keyOf(text) !== text;

export const KINDS: Record<string, Kind> = {
  answer: {
    replies: (_, text) => [say(text)],
    run: async (talk) => talk.run(await talk.session()),
  },
  tool: {
    replies: (key, text) => [both(say('look'), call('buy', key)), say(text)],
    run: async (talk) => talk.run(await talk.session(withShop(talk))),
  },
  task: {
    replies: (key, text) => [call('build', key), say(text)],
    run: async (talk) => talk.run(await talk.session(withShop(talk))),
  },
  question: {
    replies: (key, text) => [call('ask', key), say(text)],
    async run(talk) {
      const tools = [toolset(talk, { elicitation: true })];
      const session = await talk.session({ ...withShop(talk), tools });
      const turn = await talk.send(session);
      await talk.act(session, 'elicitation', ({ elicitation_id }) =>
        talk.answer(session, {
          ...{ type: 'user.elicitation_result', elicitation_id },
          ...{ action: 'accept', content: { branch: 'main' } },
        }),
      );
      await talk.watch(session, turn);
    },
  },
  approval: {
    replies: (key, text) => [call('send', key), say(text)],
    async run(talk) {
      const session = await talk.session({ ...withShop(talk), tools: [toolset(talk, { default_config: ASK })] });
      const turn = await talk.send(session);
      talk.entry.isDenied = talk.number % 3 === 0;
      await talk.act(session, 'tool_confirmation', ({ tool_use_id }) =>
        talk.answer(session, confirmation(tool_use_id as string, talk.entry.isDenied ? 'deny' : 'allow')),
      );
      await talk.watch(session, turn);
    },
  },
  custom: {
    replies: (key, text) => [toolUse('get_weather', { city: key }), say(text)],
    async run(talk) {
      const session = await talk.session({ tools: [customTool('get_weather')] });
      const turn = await talk.send(session);
      await talk.act(session, 'custom_tool_result', ({ tool_use_id }) =>
        talk.answer(session, customResult(tool_use_id as string, 'Sun.')),
      );
      await talk.watch(session, turn);
    },
  },
  queue: {
    replies: (_, text) => [isSecond(text) ? say(text) : saySlowly(text)],
    async run(talk) {
      const session = await talk.session();
      const followed = talk.follow(session);
      followed.catch(() => undefined);
      await talk.send(session);
      await talk.send(session, `${talk.key} second`, { when_running: 'queue' });
      await talk.send(session, `${talk.key} third`, { when_running: 'queue' });
      await followed;
    },
  },
  steer: {
    replies: (key, text) => (isSecond(text) ? [say(text)] : [call('pack', key), say(text)]),
    async run(talk) {
      const session = await talk.session(withShop(talk));
      const followed = talk.follow(session);
      followed.catch(() => undefined);
      await talk.send(session);
      await sleep(MEANWHILE_MS);
      await talk.send(session, `${talk.key} second`, { when_running: 'steer' });
      await followed;
    },
  },
  cancel: {
    replies: (_, text) => [saySlowly(text)],
    async run(talk) {
      const session = await talk.session();
      session.ends = ['turn.cancelled', 'turn.completed'];
      const turn = await talk.send(session);
      await sleep(MEANWHILE_MS);
      await talk.tryTo('POST', `/v1/sessions/${session.id}/cancel`);
      await talk.watch(session, turn);
    },
  },
  schedule: {
    replies: (key, text) => [call('buy', key), say(text)],
    async run(talk) {
      const target = { type: 'new_session', session: { model_id: 'scripted', ...withShop(talk) } };
      // An API whose clock is ahead refuses a time that is past for it.
      const { id } = await talk.until('a schedule', async () => {
        const fields = { at: inSeconds(AHEAD_S), target, message: { content: talk.key } };
        const { status, body } = await talk.tryTo('POST', '/v1/schedules', newSchedule(fields));
        expect(status, JSON.stringify(body)).to.be.oneOf([201, 422]);
        return status === 201 ? body : null;
      });
      await talk.until('its time', async () => {
        const { state } = await talk.ask('GET', `/v1/schedules/${id}`);
        return state === 'ended' ? state : null;
      });
      const { items } = await talk.ask('GET', `/v1/schedules/${id}/runs`);
      expect(items).to.have.length(1);
      expect(items[0].state, JSON.stringify(items[0])).to.equal('started');
      const { session_id: sessionId, turn_id: turnId } = items[0];
      const session = talk.joins(sessionId as string);
      session.messages.push({ content: talk.key, at: session.at });
      await talk.watch(session, { sessionId, turnId });
    },
  },
  workspace: {
    replies: (key, text) => {
      const n = /append (\d+)$/.exec(text)![1]!;
      const command = `: soak-${process.pid} ${key}; echo ${n} >> log; echo ${n} > /mnt/session/outputs/${n}.txt`;
      return [toolUse('bash', { command }), say(text)];
    },
    async run(talk) {
      const session = await talk.session({ tools: [{ type: 'workspace' }] });
      session.appends = true;
      for (let n = 0; n < APPENDS; n += 1) await talk.run(session, `${talk.key} append ${n}`);
    },
  },
  token: {
    replies: (_, text) => [say(text)],
    async run(talk) {
      const session = await talk.session();
      const scopes = ['read', 'send'];
      const { token } = await talk.ask('POST', `/v1/sessions/${session.id}/tokens`, { scopes });
      await talk.run(session, talk.key, token as string);
    },
  },
  credential: {
    replies: (key, text) => [toolUse('mcp__notes__read', { key }), say(text)],
    async run(talk) {
      const user = `user-${talk.number}`;
      const session = await talk.session({ user, mcp_servers: [talk.outside.notes] });
      const turn = await talk.send(session);
      const auth = { type: 'BEARER', token: `token-of-${user}` };
      await talk.act(session, 'mcp_authorization', () =>
        talk.ask('POST', '/v1/credentials', { mcp_server_id: talk.outside.notes, user, auth }),
      );
      await talk.watch(session, turn);
    },
  },
  fork: {
    replies: (key, text) => (isSecond(text) ? [say(text)] : [call('buy', key), say(text)]),
    async run(talk) {
      const old = await talk.session(withShop(talk));
      await talk.run(old);
      const { id } = await talk.ask('POST', `/v1/sessions/${old.id}/fork`);
      const fork = talk.joins(id as string);
      fork.copied = [talk.key];
      await talk.run(fork, `${talk.key} in the fork`);
    },
  },
};

/** What the model replies to a message of any kind. */
export function replies(text: string): Reply[] {
  const key = keyOf(text);
  const kind = KINDS[key.split(' ')[0]!];
  if (kind === undefined) throw new Error(`a message of no kind: ${text}`);
  return kind.replies(key, text);
}
