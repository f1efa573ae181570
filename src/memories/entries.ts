import type { MemoryTool, PermissionPolicy } from '../db/entities/sessions.js';
import type { MemoryFolder } from './commands.js';
import { ownerOf, type MemoryOwner } from './owner.js';

/** A memory that a turn reaches. */
export interface TurnMemory extends MemoryFolder {
  owner: MemoryOwner;
  /** What each command but `view` needs; not given: nothing. */
  policy: PermissionPolicy | undefined;
}

/** A memory that one user would write for all others is read only, unless the entry says otherwise. */
export function isWritable({ of, access }: MemoryTool): boolean {
  return (access ?? (of === 'agent' || of === 'project' ? 'read_only' : 'read_write')) === 'read_write';
}

/** The memories of a turn, in the order of the entries. One whose owner the session lacks is left out. */
export function memoriesOf({ memories, ...session }: MemoryOwner & { memories: readonly MemoryTool[] }): TurnMemory[] {
  return memories.flatMap((entry) => {
    const owner = ownerOf(entry.of, session);
    if (owner === null) return [];
    return [{ of: entry.of, isWritable: isWritable(entry), owner, policy: entry.permission_policy }];
  });
}
