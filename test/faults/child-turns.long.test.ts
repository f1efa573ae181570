import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { agentTool, callAgent, createAgent } from '../support/child-agents.js';
import { eventually } from '../support/eventually.js';
import type { Turn } from '../support/fault-system.js';
import { budget, PRICE, tokens } from '../support/money.js';
import { RandomKiller } from '../support/random-killer.js';
import { message, text, toolUse } from '../support/scripted-model.js';
import { useFaultSystem } from '../support/use.js';
import { confirmation } from '../support/waiting-turns.js';

/** Turns with 2 to 16 children each. More by hand: CHILD_FAULT_TURNS=300. */
const TURNS = Number(process.env.CHILD_FAULT_TURNS ?? 12);
const AT_A_TIME = 6;
const KILL_PAUSE_MS = 4000;
/**
 * A worker may have died after it stored the end of a turn: the workflow goes on after the heartbeat timeout of 90 s. One that never heard
 * of the end of its turn is ended three minutes after it (src/reconciler/ended-turns).
 */
const WORKFLOWS_END_MS = 240_000;
const MAX_COSTS = { stop: '30', pause: '20', raised: '60' };

/** Everything dies again and again while agents call agents (decisions.md "Agents that call agents"). */
describe('agents that call agents, while processes are killed', function () {
  this.timeout(300_000 + TURNS * 15_000);
  const system = useFaultSystem({
    ...{ ownPostgres: true, ownTemporal: { persistent: true }, workers: 2, price: PRICE },
    env: { MODEL_RETRY_SECONDS: '600' },
  });

  const chance = (of: number): boolean => Math.random() < of;
  const childrenOf = (n: number): number => 2 + ((n * 5) % 15);

  it('agents that call agents lose no turn, begin none twice, leave none running, and stay within their budgets', async () => {
    const { model, mcp } = system;
    mcp.options.tools = [{ name: 'buy', run: () => sleep(30).then(() => 'bought') }];
    const registered = await system.insist('POST', '/v1/mcp-servers', { name: 'shop', url: mcp.url });
    const servers = { mcp_servers: [registered.body.id as string] };
    const toolset = { type: 'mcp_toolset', mcp_server_id: registered.body.id };
    const asking = { ...toolset, default_config: { permission_policy: { type: 'always_ask' } } };
    const free = await createAgent(system, 'free', { ...servers, tools: [toolset] });
    const asker = await createAgent(system, 'asker', { ...servers, tools: [asking] });
    model.on(/parent \d+/, ({ step, userText }) => {
      const n = Number(/parent (\d+)/.exec(userText)![1]);
      if (step > 0) return message([text('All done.')], tokens(100));
      const calls = Array.from({ length: childrenOf(n) }, (_, index) =>
        callAgent(index % 4 === 1 ? 'asker' : 'free', `child ${n}.${index}`),
      );
      return message(calls, tokens(100));
    });
    model.on(/child \d+\.\d+/, ({ step, userText }) => {
      const [, n] = /child (\d+\.\d+)/.exec(userText)!;
      const words = text(`Answer of ${n}: one two three four five six.`, { chunk: 4, every: 20 });
      return message(step === 0 ? [toolUse('mcp__shop__buy', { n })] : [words], tokens(1000));
    });

    const killer = RandomKiller.of(system, 0.4);
    const state = { isOver: false };
    const killing = (async () => {
      while (!state.isOver) {
        await sleep(KILL_PAUSE_MS);
        // Often two are away at a time. On a busy machine a start takes longer than the pause.
        if (!state.isOver) await killer.kill();
        if (!state.isOver && chance(0.5)) await killer.kill();
        await killer.allStarted();
      }
    })();
    const turns: Turn[] = [];
    let next = 0;
    const parents = async (): Promise<void> => {
      for (let n = next++; n < TURNS; n = next++) turns.push(await runParent(n));
    };
    const runParent = async (n: number): Promise<Turn> => {
      const of = [null, budget(MAX_COSTS.stop, 'stop'), null, budget(MAX_COSTS.pause, 'pause')][n % 4]!;
      const sessionId = await system.session({ tools: [agentTool(free), agentTool(asker)], budget: of });
      const turn = await system.send(sessionId, `parent ${n}`);
      void system.watch(turn);
      const cancelAt = chance(0.2) ? Date.now() + Math.random() * 6000 : Infinity;
      const cancelsChild = chance(0.3);
      for (let isCancelled = false; ; await sleep(300)) {
        const { body } = await system.insist('GET', `/v1/sessions/${sessionId}`);
        if (body.status !== 'RUNNING') return turn;
        if (!isCancelled && Date.now() > cancelAt) {
          isCancelled = true;
          await system.insist('POST', `/v1/sessions/${sessionId}/cancel`);
        }
        for (const action of body.required_actions as Record<string, string>[]) {
          if (action.type === 'budget')
            await system.insist('PATCH', `/v1/sessions/${sessionId}`, { budget: budget(MAX_COSTS.raised, 'stop') });
          else if (cancelsChild && chance(0.2)) await system.insist('POST', `/v1/sessions/${action.session_id}/cancel`);
          else {
            const events = [confirmation(action.tool_use_id!, chance(0.8) ? 'allow' : 'deny')];
            await system.insist('POST', `/v1/sessions/${action.session_id}/events`, { events });
          }
        }
      }
    };
    await Promise.all(Array.from({ length: AT_A_TIME }, parents));
    state.isOver = true;
    await killing;
    await system.verify();

    type Row = Record<string, number | string | boolean>;
    const count = async (sql: string): Promise<number> =>
      (await system.db.query<[{ n: number }]>(`SELECT count(*)::integer AS n FROM ${sql}`))[0].n;
    // Each call began one turn, and each event names a turn of its own.
    const children = await count('turns WHERE parent_turn_id IS NOT NULL');
    expect(children).to.be.above(TURNS);
    expect(await count('delegations')).to.equal(children);
    expect(await count(`events WHERE type = 'agent.delegated'`)).to.equal(children);
    expect(
      await count(
        `(SELECT DISTINCT data->>'child_turn_id', data->>'tool_use_id' FROM events WHERE type = 'agent.delegated') AS d`,
      ),
    ).to.equal(children);
    // Each child turn has one end, no later than that of its parent.
    const late = await system.db.query(
      `SELECT c.id, c.state, c.ended_at - p.ended_at AS later_by FROM turns c JOIN turns p ON p.id = c.parent_turn_id
       WHERE c.ended_at IS NULL OR c.ended_at > p.ended_at`,
    );
    expect(late).to.deep.equal([]);
    expect(
      await count(`(SELECT turn_id FROM events WHERE type IN ('turn.completed', 'turn.cancelled', 'turn.failed')
        GROUP BY turn_id HAVING count(*) = 1) AS ended JOIN turns ON turns.id = turn_id WHERE parent_turn_id IS NOT NULL`),
    ).to.equal(children);
    const unknown = await count(
      `events WHERE type = 'agent.tool_result' AND data->>'name' LIKE 'agent%' AND data->>'content' LIKE '%unknown%'`,
    );
    expect(unknown, 'calls of agents whose outcome is unknown').to.equal(0);
    expect(await count(`delegations WHERE done_at IS NULL`)).to.equal(0);
    expect(await count(`waits WHERE state <> 'closed'`)).to.equal(0);
    // Money: what the rows of calls say is what the sessions and the usage say, and within the budget.
    const sums = await system.db.query<Row[]>(
      `SELECT s.id, s.budget->'max_cost'->>'amount' AS max, coalesce(sum(a.cost), 0)::text AS cost
       FROM sessions s JOIN turns t ON t.session_id = s.id OR t.parent_turn_id = s.last_turn_id LEFT JOIN model_calls a ON a.turn_id = t.id
       WHERE s.parent_session_id IS NULL AND s.last_turn_id IS NOT NULL GROUP BY s.id`,
    );
    const used = await system.db.query<Row[]>(
      'SELECT session_id AS id, sum(cost)::text AS cost FROM turn_usage GROUP BY 1',
    );
    const usedBy = new Map(used.map(({ id, cost }) => [id, Number(cost)]));
    expect(sums).to.have.length(TURNS);
    for (const { id, max, cost } of sums) {
      const { body } = await system.insist('GET', `/v1/sessions/${id as string}`);
      expect(Number(body.cost.amount), id as string).to.equal(Number(cost));
      expect(usedBy.get(id), id as string).to.be.closeTo(Number(cost), 1e-9);
      if (max !== null) expect(Number(cost), id as string).to.be.at.most(Number(max));
    }
    const bought = mcp.calls.map(({ arguments: { n } }) => n as string);
    expect(new Set(bought).size, 'tools that were called twice').to.equal(bought.length);
    // Nothing is left running in Temporal.
    const query = `WorkflowType = 'turn' AND ExecutionStatus = 'Running'`;
    await eventually(
      'no workflow of a turn runs',
      async () => {
        for await (const _ of system.client.workflow.list({ query })) return false;
        return true;
      },
      WORKFLOWS_END_MS,
    );
    console.log(`      ${TURNS} turns with ${children} children, ${killer.kills} kills`);
  });
});
