import { eventually } from './eventually.js';
import type { FaultSystem, Turn } from './fault-system.js';
import { text, wait } from './scripted-model.js';

/** The limit of a project's running turns. */
const TURNS_PER_PROJECT = 100;

/** Seconds from the kill of a worker until another one made its model calls again, and until their turns had ended. */
export interface HeldTakeover {
  activities: number;
  first_s: number;
  median_s: number;
  last_s: number;
  ended_s: number;
}

/**
 * Kills the system's only worker while it holds that many model calls, beside one that holds none. Each call must be made
 * again exactly once.
 */
export async function measureHeldTakeover(system: FaultSystem, activities: number): Promise<HeldTakeover> {
  const { model } = system;
  const gate = model.gate();
  const held = new Set<string>();
  model.on(/^held \d+/, ({ userText }) => {
    if (held.has(userText)) return 'Taken over.';
    held.add(userText);
    return text('cut off', { before: { 0: wait(gate) } });
  });
  const keys = await Promise.all(
    Array.from({ length: Math.ceil(activities / TURNS_PER_PROJECT) }, (_, n) => system.newKey(`held-${n}`)),
  );
  const before = model.requests.length;
  const turns: Turn[] = [];
  for (let n = 0; n < activities; n += 1) {
    const key = keys[Math.floor(n / TURNS_PER_PROJECT)]!;
    turns.push(await system.send(await system.session({}, key), `held ${n}`, key));
  }
  await eventually('the worker holds all calls', () => model.requests.length - before === activities);
  const [worker] = system.workers.splice(0, 1);
  const other = await system.addRole('worker');
  await eventually('the other worker lives', async () => {
    const rows = await system.db.query<unknown[]>('SELECT FROM workers WHERE starts_with(id, $1)', [`${other.pid}@`]);
    return rows.length === 1;
  });
  const killed = performance.now();
  await worker!.kill();
  await Promise.all(turns.map((turn) => system.ended(turn, 180_000)));
  const ended = performance.now();
  gate.open();
  const again = model.requests
    .slice(before + activities)
    .map(({ receivedAt }) => (receivedAt - killed) / 1000)
    .sort((a, b) => a - b);
  if (again.length !== activities) throw new Error(`${activities} calls were cut off, ${again.length} were made again`);
  const rounded = (seconds: number): number => Math.round(seconds * 10) / 10;
  return {
    activities,
    first_s: rounded(again[0]!),
    median_s: rounded(again[Math.floor(again.length / 2)]!),
    last_s: rounded(again.at(-1)!),
    ended_s: rounded((ended - killed) / 1000),
  };
}
