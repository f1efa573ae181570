/** What an attack may cost: the longest time without an answer, memory in MiB, and another project's turn against a quiet one. */
const MAX_GAP_MS = 1000;
const MAX_PEAK_MIB = 1024;
const MAX_KEPT_MIB = 100;
const MAX_TURN_RATIO = 2;

/** What an attack cost. */
export interface Cost {
  name: string;
  /** How the attack itself ended. */
  outcome: string;
  gapMs: number;
  /** Resident memory of the service in MiB: before the attack, at most, and after the rest. */
  before: number;
  most: number;
  after: number;
  /** The slowest turn of another project; infinite if one did not complete. */
  turnMs: number;
  areSameProcesses: boolean;
}

/** Names what was too much; an empty list if the attack came to nothing. */
export function failuresOf(cost: Cost, quietMs: number): string[] {
  const { gapMs, before, most, after, turnMs, areSameProcesses } = cost;
  return [
    ...(gapMs < MAX_GAP_MS ? [] : ['gap']),
    ...(most < MAX_PEAK_MIB ? [] : ['peak']),
    ...(after - before < MAX_KEPT_MIB ? [] : ['kept memory']),
    ...(turnMs < MAX_TURN_RATIO * quietMs ? [] : ['turn']),
    ...(areSameProcesses ? [] : ['another process']),
  ];
}

/** `quietMs`: the slowest turn without an attack. */
export function tableOf(costs: Cost[], quietMs: number): string {
  const header = [
    'attack',
    '/healthz',
    'before',
    'peak',
    'after',
    'turn',
    'usual',
    'same processes',
    'verdict',
    'attacker',
  ];
  const rows = costs.map((cost) => {
    const failures = failuresOf(cost, quietMs);
    return [
      cost.name,
      ...[`${cost.gapMs.toFixed(0)} ms`, `${cost.before} MiB`, `${cost.most} MiB`, `${cost.after} MiB`],
      ...[`${cost.turnMs.toFixed(0)} ms`, `${quietMs.toFixed(0)} ms`, cost.areSameProcesses ? 'yes' : 'NO'],
      failures.length === 0 ? 'pass' : `FAIL: ${failures.join(', ')}`,
      cost.outcome,
    ];
  });
  const widths = header.map((name, column) => Math.max(name.length, ...rows.map((row) => row[column]!.length)));
  return [header, ...rows].map((row) => row.map((cell, column) => cell.padEnd(widths[column]!)).join('  ')).join('\n');
}
