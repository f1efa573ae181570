import type { DataSource } from 'typeorm';
import type { DeltaRun } from '../../src/stream/delta-batch.js';

/** The stored deltas of a turn, in order. */
export async function storedDeltas(
  db: DataSource,
  turnId: string,
): Promise<{ attempt: number; type: string; content: string }[]> {
  const rows = await db.query<{ attempt: number; runs: string }[]>(
    'SELECT attempt, runs FROM deltas WHERE turn_id = $1 ORDER BY position, attempt, last',
    [turnId],
  );
  return rows.flatMap(({ attempt, runs }) =>
    (JSON.parse(runs) as DeltaRun[]).flatMap(([type, ...contents]) =>
      contents.map((content) => ({ attempt, type, content })),
    ),
  );
}
