import { expect } from 'chai';
import { MAX_REMEMBERED } from '../../src/sessions/remembered-approvals.js';
import { MAX_INPUT_BYTES } from '../../src/waits/changed-input.js';
import type { ApiResponse } from '../support/client.js';
import { eventually } from '../support/eventually.js';
import type { TestTool } from '../support/mcp-server.js';
import { message, steps, toolUse } from '../support/scripted-model.js';
import { reachedLimit } from '../support/rows.js';
import { expectAcceptedRequests, useRegisteredMcp } from '../support/use.js';
import { confirmation, customResult, customTool, requiredActions, sendAnswers } from '../support/waiting-turns.js';

/** The results that the model got last. */
interface Told {
  content: { content: { text: string }[] }[];
}

const LONG = '1189238471982374913';
const PAY = {
  name: 'pay',
  title: `Pay\u202E a\u0007 bill${'!'.repeat(300)}`,
  description: 'Pays.',
  inputSchema: {
    type: 'object' as const,
    properties: { amount: { type: 'integer' }, note: { type: 'string' } },
    required: ['amount'],
  },
  annotations: { destructiveHint: true, readOnlyHint: false, title: 'Other' },
};
const TOOLS: TestTool[] = [
  PAY,
  { name: 'look', annotations: { title: 'Look up', readOnlyHint: true, idempotentHint: true, openWorldHint: false } },
  { name: 'odd', inputSchema: { type: 'object', properties: { a: { pattern: '(' } } } as never },
];

const outcomeOf = ({ status, body }: ApiResponse): unknown[] => [
  status,
  body.error?.details?.errors?.[0]?.path ?? body.error?.type ?? 'ok',
];

/** docs/decisions.md "Approvals". */
describe('an approval', function () {
  this.timeout(60_000);
  const { mcp, service, registered } = useRegisteredMcp('bank', { tools: TOOLS });
  expectAcceptedRequests(service);
  beforeEach(() => {
    mcp.calls.length = 0;
  });

  let number = 0;
  const use = (name: string, input: object | string = {}, id = `toolu_${(number += 1)}`) =>
    toolUse(`mcp__bank__${name}`, input as never, { id });
  const ask = { permission_policy: { type: 'always_ask' } };
  const session = (more: object = {}): Promise<string> =>
    service.session({
      thinking_enabled: false,
      mcp_servers: [registered.id],
      tools: [{ type: 'mcp_toolset', mcp_server_id: registered.id, default_config: ask }, customTool('get_weather')],
      ...more,
    });
  /** Sends a message whose turn makes these calls, and waits until `count` of them wait. */
  const call = async (sessionId: string, calls: ReturnType<typeof use>[], count = calls.length, then: never[] = []) => {
    const word = `Go${(number += 1)}.`;
    service.model.on(new RegExp(word), steps(message(calls), ...then, 'Done.'));
    await service.send(sessionId, word);
    return requiredActions(service, sessionId, count);
  };
  const answer = (sessionId: string, ...events: object[]) => sendAnswers(service, sessionId, events);
  const allow = (id: string, more: object = {}): object => ({ ...confirmation(id, 'allow'), ...more });
  const of = async (sessionId: string) => (await service.api('GET', `/v1/sessions/${sessionId}`)).body;
  const events = async (sessionId: string, type: string) =>
    (await service.history(sessionId)).filter((event) => event.type === type);
  const told = (): string => JSON.stringify(service.model.requests.at(-1)!.body.messages);
  const inputs = (): unknown[] => mcp.calls.map((call) => call.arguments);

  describe('is asked for', () => {
    it('an approval is asked for with the title of the tool and what it may do, as its server says', async () => {
      const id = await session();
      const [pay, look, odd] = await call(id, [use('pay', { amount: 1 }), use('look'), use('odd')]);
      expect(pay.title).to.equal(`Pay a bill${'!'.repeat(190)}`);
      expect(pay.annotations).to.deep.equal({
        read_only: false,
        destructive: true,
        idempotent: null,
        open_world: null,
      });
      expect([look.title, look.annotations]).to.deep.equal([
        'Look up',
        { read_only: true, destructive: null, idempotent: true, open_world: false },
      ]);
      expect([odd.title, odd.annotations]).to.deep.equal([
        null,
        { read_only: null, destructive: null, idempotent: null, open_world: null },
      ]);
      const [asked] = await events(id, 'agent.requires_action');
      expect(asked.required_actions).to.deep.equal([pay, look, odd]);
    });
  });

  describe('with a changed input', () => {
    it('an approval with a changed input runs the call with it, shows both, and says so to the model alone', async () => {
      const id = await session();
      const [action] = await call(id, [use('pay', { amount: 100, note: 'rent' })]);
      const input = { amount: 10, note: 'rent' };
      const sent = await answer(id, allow(action.tool_use_id, { input }));
      expect(sent.status).to.equal(201);
      expect(sent.body.items[0]).to.deep.include({ input, remember: null, result: 'allow' });
      await service.ended(id);
      expect(inputs()).to.deep.equal([input]);
      expect((await events(id, 'agent.tool_use'))[0].input).to.deep.equal({ amount: 100, note: 'rent' });
      const [result] = await events(id, 'agent.tool_result');
      expect(result.input).to.deep.equal(input);
      expect(result.content).to.not.include('changed the input');
      const last = service.model.requests.at(-1)!.body.messages.at(-1) as unknown as Told;
      expect(last.content[0]!.content[0]!.text).to.equal(
        '[A person changed the input of this call to: {"amount":10,"note":"rent"}]',
      );
      // An identical repeat is the stored event, another input is not.
      expect((await answer(id, allow(action.tool_use_id, { input }))).body).to.deep.equal(sent.body);
      expect((await answer(id, allow(action.tool_use_id, { input: { amount: 11 } }))).status).to.equal(409);
      expect((await answer(id, allow(action.tool_use_id))).status).to.equal(409);
    });

    it('an approval with a changed input keeps each digit of its numbers, and tells the model the first 2 KiB', async () => {
      const id = await session();
      const [action] = await call(id, [use('pay', { amount: 1 })]);
      const note = 'ä'.repeat(3000);
      const response = await fetch(`${service.url}/v1/sessions/${id}/events`, {
        method: 'POST',
        headers: { Authorization: `Bearer ${service.key}`, 'Content-Type': 'application/json' },
        body: `{"events":[{"type":"user.tool_confirmation","tool_use_id":"${action.tool_use_id}","result":"allow","input":{"amount":${LONG},"note":"${note}"}}]}`,
      });
      expect(response.status).to.equal(201);
      expect(await response.text()).to.include(`"amount":${LONG}`);
      await service.ended(id);
      const history = await fetch(`${service.url}/v1/sessions/${id}/events`, {
        headers: { Authorization: `Bearer ${service.key}` },
      });
      expect((await history.text()).split(`"amount":${LONG}`)).to.have.length(3);
      const last = service.model.requests.at(-1)!.body.messages.at(-1) as unknown as Told;
      const line = last.content[0]!.content[0]!.text;
      expect(line)
        .to.include(`"amount":${LONG}`)
        .and.match(/ä…\]$/);
      expect(Buffer.byteLength(line)).to.be.within(2000, 2200);
    });

    it('an approval with a changed input is none if the input is what the model wrote, also beside remember', async () => {
      const id = await session();
      const [action] = await call(id, [use('pay', { amount: 5, note: 'a' })]);
      const same = { note: 'a', amount: 5 };
      const { status, body } = await answer(id, allow(action.tool_use_id, { input: same, remember: 'session' }));
      expect([status, body.items[0].input, body.items[0].remember]).to.deep.equal([201, null, 'session']);
      await service.ended(id);
      expect((await events(id, 'agent.tool_result'))[0]).to.not.have.property('input');
      expect(told()).to.not.include('changed the input');
      expect((await answer(id, allow(action.tool_use_id, { remember: 'session' }))).status).to.equal(201);
      expect((await answer(id, allow(action.tool_use_id))).status).to.equal(409);
    });

    it('an approval with a changed input is refused where the input does not fit, and nothing of the request is stored', async () => {
      const id = await session();
      const [pay, look, odd, weather] = await call(id, [
        use('pay', { amount: 1 }),
        use('look'),
        use('odd'),
        toolUse('get_weather', {}, { id: 'toolu_weather' }),
      ]);
      const big = { note: 'x'.repeat(MAX_INPUT_BYTES) };
      for (const [event, place] of [
        [allow(pay.tool_use_id, { input: { amount: 'ten' } }), '/events/1/input'],
        [allow(pay.tool_use_id, { input: {} }), '/events/1/input'],
        [allow(pay.tool_use_id, { input: [] }), '/events/1/input'],
        [allow(look.tool_use_id, { input: big }), '/events/1/input'],
        [{ ...confirmation(pay.tool_use_id, 'deny'), input: { amount: 1 } }, '/events/1/input'],
        [{ ...confirmation(pay.tool_use_id, 'deny'), remember: 'session' }, '/events/1/remember'],
        [allow(pay.tool_use_id, { remember: 'turn' }), '/events/1/remember'],
        [allow(pay.tool_use_id, { input: { amount: 2 }, remember: 'session' }), '/events/1/remember'],
        [allow(weather.tool_use_id, { input: {} }), '/events/1/type'],
      ] as const) {
        expect(
          outcomeOf(await answer(id, allow(odd.tool_use_id), event)),
          JSON.stringify(event).slice(0, 200),
        ).to.deep.equal([422, place]);
      }
      const unfit = await answer(id, allow(pay.tool_use_id, { input: { amount: 'ten' } }));
      expect(unfit.body.error.message).to.match(/^\/events\/0\/input must fit .*[^.]\.$/);
      expect((await of(id)).required_actions).to.have.length(4);
      reachedLimit('changed input: 256 KiB as compact JSON');
      // A schema by which nothing can be checked takes any object.
      const { status } = await answer(
        id,
        allow(odd.tool_use_id, { input: { a: 1 } }),
        allow(pay.tool_use_id, { input: { amount: 2 } }),
        allow(look.tool_use_id, { input: { any: 'thing' } }),
        customResult(weather.tool_use_id, 'Rain.'),
      );
      expect(status).to.equal(201);
      await service.ended(id);
      expect(inputs()).to.have.deep.members([{ a: 1 }, { amount: 2 }, { any: 'thing' }]);
    });
  });

  describe('that is remembered', () => {
    const remembered = async (sessionId: string) =>
      ((await of(sessionId)).remembered_approvals as { name: string; tool_use_id: string }[]).map(
        ({ name, tool_use_id }) => [name, tool_use_id],
      );
    const remember = async (sessionId: string, name: string, input: object = { amount: 1 }) => {
      const [action] = await call(sessionId, [use(name, input)]);
      const sent = await answer(sessionId, allow(action.tool_use_id, { remember: 'session', actor: 'ada' }));
      expect(sent.status).to.equal(201);
      await service.ended(sessionId);
      return action.tool_use_id as string;
    };
    /** A turn that calls the tool; returns whether a person was asked. */
    const isAsked = async (sessionId: string, name: string, input: object = { amount: 2 }): Promise<boolean> => {
      const word = `Go${(number += 1)}.`;
      service.model.on(new RegExp(word), steps(message([use(name, input)]), 'Done.'));
      await service.send(sessionId, word);
      await eventually('the call waits, or the turn has ended', async () => {
        const { status, required_actions: actions } = await of(sessionId);
        return status !== 'RUNNING' || actions.length > 0;
      });
      const permission = (await events(sessionId, 'agent.tool_use')).at(-1).evaluated_permission as string;
      if (permission === 'ask') await service.api('POST', `/v1/sessions/${sessionId}/cancel`);
      await service.ended(sessionId);
      return permission !== 'remembered';
    };

    it('an approval that is remembered lets later calls of the tool in the session run, until it is taken back', async () => {
      const id = await session();
      const toolUseId = await remember(id, 'pay');
      const before = await of(id);
      expect(before.remembered_approvals).to.have.length(1);
      expect(before.remembered_approvals[0]).to.deep.include({
        name: 'mcp__bank__pay',
        tool_use_id: toolUseId,
        actor: 'ada',
      });
      expect(await isAsked(id, 'pay')).to.equal(false);
      expect(inputs()).to.deep.equal([{ amount: 1 }, { amount: 2 }]);
      expect(await isAsked(id, 'look')).to.equal(true);
      expect(await isAsked(await session(), 'pay')).to.equal(true);

      const patch = (body: object) => service.api('PATCH', `/v1/sessions/${id}`, body);
      const { updated_at } = await of(id);
      expect((await patch({ forget_approvals: ['toolu_none'] })).body).to.deep.include({ updated_at });
      const { status, body } = await patch({ forget_approvals: [toolUseId, 'toolu_none'] });
      expect([status, body.remembered_approvals]).to.deep.equal([200, []]);
      expect(await isAsked(id, 'pay')).to.equal(true);
    });

    it('an approval that is remembered leaves calls that are open as they are, and a denial wins within its turn', async () => {
      const id = await session();
      const [first, second] = await call(id, [use('pay', { amount: 1 }), use('pay', { amount: 3 })], 2, [
        message([use('pay', { amount: 3 }), use('pay', { amount: 4 })]),
      ] as never[]);
      await answer(id, allow(first.tool_use_id, { remember: 'session' }));
      expect((await requiredActions(service, id, 1))[0].tool_use_id).to.equal(second.tool_use_id);
      await answer(id, confirmation(second.tool_use_id, 'deny'));
      await service.ended(id);
      expect(inputs()).to.deep.equal([{ amount: 1 }, { amount: 4 }]);
      const permissions = (await events(id, 'agent.tool_use')).map((event) => event.evaluated_permission);
      expect(permissions).to.deep.equal(['ask', 'ask', 'ask', 'remembered']);
    });

    it('an approval that is remembered does not outlive a change of the tool’s description, schema or annotations', async () => {
      const id = await session();
      const probe = async (tool: object): Promise<void> => {
        mcp.options.tools = [tool as TestTool, ...TOOLS.slice(1)];
        expect((await service.api('POST', `/v1/mcp-servers/${registered.id}/probe`)).status).to.equal(200);
      };
      try {
        await remember(id, 'pay');
        for (const change of [
          { description: 'Pays all.' },
          { inputSchema: { type: 'object', properties: { amount: { type: 'number' } } } },
          { annotations: { destructiveHint: false } },
        ]) {
          await probe({ ...PAY, ...change });
          expect(await isAsked(id, 'pay'), JSON.stringify(change)).to.equal(true);
          await probe(PAY);
          expect(await isAsked(id, 'pay')).to.equal(false);
        }
      } finally {
        await probe(PAY);
      }
    });

    it('an approval that is remembered is one of a tool, as it was last; they are listed oldest first, and no fork has them', async () => {
      const id = await session();
      const look = await remember(id, 'look', {});
      const [one, two] = await call(id, [use('pay', { amount: 1 }), use('pay', { amount: 2 })]);
      await answer(
        id,
        allow(one.tool_use_id, { remember: 'session' }),
        allow(two.tool_use_id, { remember: 'session' }),
      );
      await service.ended(id);
      expect(await remembered(id)).to.deep.equal([
        ['mcp__bank__look', look],
        ['mcp__bank__pay', two.tool_use_id],
      ]);
      const fork = (await service.api('POST', `/v1/sessions/${id}/fork`)).body;
      expect(fork.remembered_approvals).to.deep.equal([]);
      expect(await isAsked(fork.id, 'pay')).to.equal(true);
    });

    it('an approval that is remembered is one of at most 100 in a session', async () => {
      const id = await session();
      await service.db.query(
        `INSERT INTO remembered_approvals (session_id, server_id, tool_name, digest, name, tool_use_id, created_at)
         SELECT $1, '', 'tool_' || n, '', 'tool_' || n, 'toolu_old_' || n, now() FROM generate_series(1, $2) AS n`,
        [id, MAX_REMEMBERED],
      );
      const [action] = await call(id, [use('pay', { amount: 1 })]);
      const wanted = allow(action.tool_use_id, { remember: 'session' });
      expect(outcomeOf(await answer(id, wanted))).to.deep.equal([422, '/events/0/remember']);
      reachedLimit('remembered approvals: 100');
      await service.api('PATCH', `/v1/sessions/${id}`, { forget_approvals: ['toolu_old_1'] });
      expect((await answer(id, wanted)).status).to.equal(201);
    });
  });
});
