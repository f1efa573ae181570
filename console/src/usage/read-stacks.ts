import type { AgentSessionClient, UsageGroup } from '../../../client/src/index.js';
import { DAY_MS, type Period } from './period.js';

/** So many days are read at once: lists of a project have a bounded share of the service. */
const AT_ONCE = 4;

/** A day with what each model took of it. */
export interface Stack {
  day: string;
  models: UsageGroup[];
}

/** Every day of the period, in order. Days without a turn are not asked for. */
export async function readStacks(
  client: AgentSessionClient,
  days: UsageGroup[],
  { from, to }: Period,
  signal: AbortSignal,
): Promise<Stack[]> {
  const stacks: Stack[] = [];
  for (let time = from.getTime(); time < Math.min(to.getTime(), Date.now()); time += DAY_MS) {
    stacks.push({ day: new Date(time).toISOString().slice(0, 10), models: [] });
  }
  const used = stacks.filter(({ day }) => days.some(({ group }) => group === day));
  const readOne = async (stack: Stack): Promise<void> => {
    const begin = Date.parse(stack.day);
    const window = { from: new Date(begin).toISOString(), to: new Date(begin + DAY_MS).toISOString() };
    stack.models = await Array.fromAsync(client.eachUsage({ ...window, group_by: 'model' }, { signal }));
  };
  const rest = used.values();
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      for (const stack of rest) await readOne(stack);
    }),
  );
  return stacks;
}
