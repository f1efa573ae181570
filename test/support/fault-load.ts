import { expect } from 'chai';
import type { FaultSystem, Turn } from './fault-system.js';
import { steps, text, toolUse } from './scripted-model.js';
import type { StoredEvent } from './turn-checker.js';

/** How long each of the two answers of a turn takes: words, and milliseconds from word to word. */
export interface Pace {
  words: number;
  everyMs: number;
}

/** Turns that stream thinking, call an MCP tool that must not be called twice, and answer. */
export interface Load {
  turns: Promise<Turn[]>;
  /** Resolves when that many answers are under way. */
  underWay(count: number): Promise<void>;
  /** Has the system verified, and its own turns checked. */
  verify(): Promise<void>;
  /** Checks those of the ends that are its own: completed, with the whole answer, each tool called at most once. */
  check(ends: StoredEvent[]): Promise<void>;
}

/** Prepares a system for loads: its MCP server registered, its model scripted. Returns how to start one. */
export async function prepareLoad(system: FaultSystem): Promise<(turns: number, pace: Pace) => Promise<Load>> {
  const { model, mcp } = system;
  mcp.options.tools = [{ name: 'buy', run: () => new Promise((resolve) => setTimeout(() => resolve('bought'), 50)) }];
  const registered = await system.insist('POST', '/v1/mcp-servers', { name: 'shop', url: mcp.url });
  if (registered.status !== 201) throw new Error(JSON.stringify(registered.body));
  const mcp_servers = [registered.body.id as string];
  let made = 0;

  return async (count, { words, everyMs }) => {
    const before = model.requests.length;
    model.on(/^load \d+/, (request, index) => {
      const n = numberOf(request.userText);
      const said = (what: string) => text(sentence(what, n, words), { every: everyMs });
      return steps([said('look'), toolUse('mcp__shop__buy', { n })], said('answer'))(request, index);
    });
    const sessions = await Promise.all(Array.from({ length: count }, () => system.session({ mcp_servers })));
    const numbers = new Map<string, number>();
    const turns = Promise.all(
      sessions.map(async (sessionId) => {
        made += 1;
        const number = made;
        const turn = await system.send(sessionId, `load ${number}`);
        numbers.set(turn.turnId, number);
        void system.watch(turn);
        return turn;
      }),
    );
    const load: Load = {
      turns,
      underWay: async (wanted) => void (await model.request(before + wanted - 1)),
      async verify() {
        // Those that are still being sent are part of it.
        await turns;
        await load.check(await system.verify());
      },
      async check(all) {
        const mine = new Set((await turns).map(({ turnId }) => turnId));
        const ends = all.filter((end) => mine.has(end.turn_id as string));
        expect(ends.map((end) => end.type as string)).to.deep.equal(ends.map(() => 'turn.completed'));
        for (const { sessionId, turnId } of await turns) {
          const n = numbers.get(turnId)!;
          const answer = (await system.history(sessionId)).findLast((event) => event.type === 'agent.message');
          expect(answer.content).to.equal(sentence('answer', n, words));
          expect(mcp.calls.filter((call) => call.arguments.n === n).length, `calls of load ${n}`).to.be.at.most(1);
        }
      },
    };
    return load;
  };
}

function numberOf(userText: string): number {
  return Number(/^load (\d+)/.exec(userText)![1]);
}

function sentence(what: string, n: number, words: number): string {
  return Array.from({ length: words }, (_, word) => `${what}-${n}-${word}`).join(' ');
}
