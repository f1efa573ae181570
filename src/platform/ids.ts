import { randomInt } from 'node:crypto';
import { decodeTime, encodeTime, monotonicFactory } from 'ulid';

/** The prefix of every kind of id (decisions.md "Resources"). */
const ID_PREFIXES = {
  skill: 'skill_',
  mcpServer: 'mcp_',
  session: 'ses_',
  event: 'evt_',
  turn: 'turn_',
  file: 'file_',
  message: 'msg_',
  request: 'req_',
  project: 'proj_',
  apiKey: 'key_',
  webhook: 'whk_',
  delivery: 'dlv_',
  schedule: 'sched_',
  elicitation: 'elic_',
  /** Other waits than questions. Clients never see it. */
  wait: 'wait_',
  credential: 'cred_',
  agent: 'agent_',
  auditEntry: 'aud_',
  memory: 'mem_',
  erasure: 'era_',
} as const;

export type IdKind = keyof typeof ID_PREFIXES;

const RANGE = 2 ** 48 - 1;
/** ulid's own random source makes a system call for each character. This one uses a buffer of random bytes. */
const ulid = monotonicFactory(() => randomInt(RANGE) / RANGE);

/** A new id: the kind's prefix and 26 characters of lower-case Crockford base32, time-ordered. */
export function newId(kind: IdKind): string {
  return ID_PREFIXES[kind] + uniqueName();
}

/** A name for a file or an object that no other one has: an id without a kind. */
export function uniqueName(): string {
  return ulid().toLowerCase();
}

/** The pattern of the ids of a kind. */
export function idPattern(kind: IdKind): string {
  return `^${ID_PREFIXES[kind]}`;
}

/** When an id of ours was made, in ms since 1970. */
export function createdAt(id: string): number {
  return decodeTime(id.slice(-26).toUpperCase());
}

/** Smaller than each id of the kind that is made from this time on, in ms since 1970. */
export function firstIdAt(kind: IdKind, ms: number): string {
  return ID_PREFIXES[kind] + encodeTime(ms).toLowerCase();
}
