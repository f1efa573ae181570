/**
 * The attacker, as a process of its own: its clients, its model and its MCP server do not share the event loop of those who
 * measure. Runs each attack that it is told, or with `seconds` the pressure of images, lists, probes, uploads and streams, or with
 * `mix` the attacks of these names, all at once, until `stop`.
 */
import { startSinkModel } from '../../test/support/sink-model.js';
import { pause } from '../measure.js';
import { attack, callOf, imageTurns, pressApi, tally, type Attacker } from './attacks.js';
import { startEvilMcp } from './evil-mcp.js';
import { mix, type Targets } from './mix.js';

export type Order = Pick<Attacker, 'url' | 'key'> &
  ({ name: string } | { seconds: number } | { mix: string[]; targets: Targets });

const [mcp, model] = await Promise.all([startEvilMcp(), startSinkModel()]);
process.send!({ mcpHost: mcp.host, modelUrl: model.url });
let isOver = false;
process.on('message', (order: Order | 'stop') => {
  isOver = order === 'stop';
  if (order === 'stop') return;
  run(order, { ...order, mcpUrl: mcp.url }).then(
    (outcome) => process.send!({ outcome }),
    (error: unknown) => process.send!({ outcome: String(error).slice(0, 100) }),
  );
});

async function run(order: Order, attacker: Attacker): Promise<string> {
  if ('name' in order) return attack(order.name, attacker).then(() => 'done');
  if ('seconds' in order) return press(attacker, order.seconds);
  return JSON.stringify(await mix(order.mix, attacker, order.targets, () => isOver));
}

/** Returns how often each answer came. */
async function press(attacker: Attacker, seconds: number): Promise<string> {
  const answers: string[] = [];
  const end = performance.now() + seconds * 1000;
  const repeat = async (work: () => Promise<string[]>): Promise<void> => {
    while (performance.now() < end) {
      try {
        answers.push(...(await work()));
      } catch (error) {
        answers.push(`failed: ${String(error).slice(0, 80)}`);
        await pause(100);
      }
    }
  };
  const call = callOf(attacker);
  await Promise.all([repeat(() => imageTurns(call, 40)), repeat(() => pressApi(call, attacker, 200))]);
  return JSON.stringify(tally(answers));
}
