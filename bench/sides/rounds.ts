import { loadavg } from 'node:os';
import { meanOf, type Figures } from '../table.js';
import type { Side } from './side.js';

/** A part of a round: which sides it measures (null: not installed), and how. */
export type Part = [name: string, sides: (Side | null)[], measure: (side: Side) => Promise<Figures>];

/**
 * Measures the parts whose names begin with `only`, of one side after the other, so that all meet the same machine. `settle` runs
 * before each measurement. Returns the means of the rounds for each side that was measured.
 */
export async function measureRounds(
  parts: Part[],
  { rounds, only }: { rounds: number; only: string },
  settle: (side: Side) => Promise<void>,
): Promise<Partial<Record<Side['name'], Figures>>> {
  const measured = new Map<Side['name'], Figures[]>();
  for (let round = 1; round <= rounds; round += 1) {
    console.log(`round ${round} of ${rounds}, load ${loadavg()[0]!.toFixed(1)}`);
    for (const [name, sides, measure] of parts) {
      if (!name.startsWith(only)) continue;
      for (const side of sides) {
        if (side === null) continue;
        try {
          await settle(side);
          measured.set(side.name, [...(measured.get(side.name) ?? []), await measure(side)]);
        } catch (error) {
          // The others are still worth their time.
          console.log(`${name} of ${side.name} failed: ${String(error)}`);
          process.exitCode = 1;
        }
      }
    }
  }
  return Object.fromEntries([...measured].map(([name, figures]) => [name, meanOf(figures)]));
}
