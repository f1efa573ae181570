import type { SeenFrame, StoredEvent } from '../turn-checker.js';

/** What a client did and saw in one conversation: the judge knows nothing else. Times are of `performance.now()`. */
export interface Entry {
  /** The kind of the load and its number, such as `tool 17`: the messages of the conversation begin with it, and tools get it. */
  key: string;
  /** When the client began. */
  at: number;
  sessions: SessionEntry[];
  /** When the client was done; null while it is not. */
  doneAt: number | null;
  /** The person refused the tool call. */
  isDenied: boolean;
}

export interface SessionEntry {
  id: string;
  /** When its creation was answered. */
  at: number;
  messages: SentMessage[];
  /** All frames of each watcher, over all its connections, and the turns that it saw. */
  watched: WatchedFrame[][];
  /** Types of the terminal events that the client accepts. */
  ends: string[];
  /** Messages that were copied into it, as it is a fork. */
  copied: string[];
  /** Numbers that commands of its workspace have written, one for each turn. */
  appends: boolean;
}

export interface SentMessage {
  content: string;
  /** When it was accepted. */
  at: number;
}

/** A frame as a watcher got it. */
export interface WatchedFrame extends SeenFrame {
  at: number;
}

export type History = StoredEvent[];

/** A call as an MCP server saw it. */
export interface SeenCall {
  key: string;
  tool: string;
  /** The user whose token came with it; null where the server does not ask for one. */
  user: string | null;
}

/** When the backup began, from which the database was restored later. */
export interface Restore {
  backupAt: number;
  restoredAt: number;
}

/**
 * What may be demanded of a conversation. `whole`: everything. `begun`: the backup has its beginning; what was answered until then is
 * still there, and its turns end. `lost`: the backup cannot have it.
 */
export function claimOf(entry: Entry, restore: Restore | null): 'whole' | 'begun' | 'lost' {
  if (restore === null || entry.at > restore.restoredAt) return 'whole';
  if (entry.doneAt !== null && entry.doneAt < restore.backupAt) return 'whole';
  return entry.at < restore.backupAt ? 'begun' : 'lost';
}
