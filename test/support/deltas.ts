import type { Database } from '../../src/db/db.js';
import type { DeltaType } from '../../src/events/stream-schema.js';
import type { DeltaRun, DeltaSource } from '../../src/stream/delta-batch.js';
import type { DeltaStore, UnstoredDeltas } from '../../src/stream/deltas.js';

export interface DeltaWriter {
  write(type: DeltaType, content: string): void;
  flush(): Promise<void>;
  takeUnstored(): Promise<UnstoredDeltas>;
}

/** The deltas of one call, written to a store. */
export function writeDeltas(store: DeltaStore, call: DeltaSource, onStopped = (): void => undefined): DeltaWriter {
  const deltas = store.open(call, onStopped);
  return {
    write: (type, content) => store.write(deltas, type, content),
    flush: () => store.flush(),
    takeUnstored: () => store.takeUnstored(deltas),
  };
}

/** The stored deltas of a turn, in order. */
export async function storedDeltas(
  db: Database,
  turnId: string,
): Promise<{ call: number; type: string; content: string }[]> {
  const rows = await db.query<{ call: number; runs: string }[]>(
    'SELECT call, runs FROM deltas WHERE turn_id = $1 ORDER BY position, call, last',
    [turnId],
  );
  return rows.flatMap(({ call, runs }) =>
    (JSON.parse(runs) as DeltaRun[]).flatMap(([type, ...contents]) =>
      contents.map((content) => ({ call, type, content })),
    ),
  );
}
