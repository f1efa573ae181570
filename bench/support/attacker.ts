/**
 * One project that does all of it at once, as a process of its own: a real attacker's client, model and MCP server do not
 * share the event loop of those who measure. Forked by `bench/hostile/pressure.ts neighbour`.
 */
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { startMcpServer } from '../../test/support/mcp-server.js';
import { startSinkModel } from '../../test/support/sink-model.js';
import { imageTurns, pressApi, tally } from './attacks.js';
import { callerOf } from './hostile-system.js';

export interface Attack {
  url: string;
  key: string;
  seconds: number;
}

const [model, mcp] = await Promise.all([startSinkModel(), startMcpServer()]);
process.send!({ modelUrl: model.url, mcpHost: mcp.host });
const [{ url, key, seconds }] = (await once(process, 'message')) as [Attack];

const call = callerOf({ url }, key);
const answers: string[] = [];
const until = performance.now() + seconds * 1000;
await Promise.all([
  attack(() => imageTurns(call, 40)),
  attack(() => pressApi(call, { url, key, mcpUrl: mcp.url, streams: 200 })),
]);
process.send!(tally(answers));
process.exit();

async function attack(work: () => Promise<string[]>): Promise<void> {
  while (performance.now() < until) {
    try {
      answers.push(...(await work()));
    } catch (error) {
      answers.push(`failed: ${String(error).slice(0, 80)}`);
      await pause(100);
    }
  }
}
