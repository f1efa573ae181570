import type { Tx } from '../db/db.js';
import { foldersOf, planCommand, runCommand, viewRoot, type CommandResult, type MemoryInput } from './commands.js';
import type { TurnMemory } from './entries.js';
import { findMemoryOf, insertMemory, lockMemoryOf, readFiles, storeChanges, type ChangedBy } from './store.js';

/** A command that ran: the result for the model, and the version of the memory that it made; null if it changed nothing. */
export type RanCommand = Pick<CommandResult, 'text' | 'isError'> & {
  made: { memory_id: string; version: number } | null;
};

/**
 * Runs a command in a transaction, on what is there when it has the lock of the memory.
 * @param maxStorageBytes of the project; 0 for no limit
 * @throws ServiceError `storage_limit_reached`; the transaction must then be rolled back
 */
export async function runInMemory(
  tx: Tx,
  memories: readonly TurnMemory[],
  input: MemoryInput,
  by: ChangedBy,
  maxStorageBytes: number,
): Promise<RanCommand> {
  const planned = planCommand(memories, input);
  if ('isError' in planned) return { ...planned, made: null };
  const idOf = (of: TurnMemory['of']): Promise<string | null> =>
    findMemoryOf(tx, memories.find((memory) => memory.of === of)!.owner);
  if (planned.of === null) {
    const files = new Map<TurnMemory['of'], ReadonlyMap<string, number>>();
    for (const of of foldersOf(memories, planned)) files.set(of, (await readFiles(tx, await idOf(of), null)).files);
    return { ...viewRoot(files), made: null };
  }
  if (input.command === 'view') {
    const { files, text } = await readFiles(tx, await idOf(planned.of), planned.path);
    return { ...(await runCommand(planned, files, text)), made: null };
  }
  const { owner } = memories.find(({ of }) => of === planned.of)!;
  for (;;) {
    const found = await lockMemoryOf(tx, owner);
    const { files, text } = await readFiles(tx, found?.id ?? null, planned.path);
    const { changes, ...result } = await runCommand(planned, files, text);
    if (changes.length === 0) return { ...result, made: null };
    const memory = found ?? (await insertMemory(tx, owner));
    // Another transaction has just made it: the command runs on what that has written.
    if (memory === null) continue;
    const version = await storeChanges(tx, memory, files, changes, by, maxStorageBytes);
    return { ...result, made: { memory_id: memory.id, version } };
  }
}
