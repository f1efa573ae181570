import type { Db } from '../db/db.js';
import { runSql, sql } from '../db/sql.js';
import { MCP_TOOL_PREFIX, SEARCH_TOOLS } from '../sessions/tools.js';

const MAX_DESCRIPTION_LENGTH = 200;
/** A hit stands on a line of its own, and no other line begins like it. */
const HIT = /^([a-zA-Z0-9_-]{1,64})(?:: .*)?$/gm;

/** The result of `search_tools`: each hit with the name under which it is called, and the start of its description. */
export function formatHits(hits: readonly { name: string; description: string }[], matching: number): string {
  const lines = hits.map(({ name, description }) => {
    const start = [...description.replace(/\s+/g, ' ').trim()].slice(0, MAX_DESCRIPTION_LENGTH).join('');
    return start === '' ? name : `${name}: ${start}`;
  });
  const count = `${matching} ${matching === 1 ? 'tool has' : 'tools have'} some of these words`;
  const rest = matching > hits.length ? `; the best ${hits.length} can be called now:` : '; they can be called now:';
  return `[${count}${rest}]\n${lines.join('\n')}`;
}

/** The names of the hits in a result of `search_tools`, as the model knows them. */
export function namesOfHits(result: string): string[] {
  return [...result.matchAll(HIT)].map(([, name]) => name!);
}

/** The same result without descriptions, which are left out to save room. */
export function shortenHits(result: string, note: string): string {
  return [note, ...namesOfHits(result)].join('\n');
}

/** What a session's calls in one turn say about tools that are found. */
interface FoundInTurn {
  /** Number of the turn. */
  turn: number;
  /** Step and index of the last such call in the turn. They come in the order of the first ones. */
  last: [step: number, index: number];
  /** Full name of the tool of an MCP server that was called; null for a search. */
  called: string | null;
  /** Result of a search. */
  result: string | null;
}

/** Reads what the calls of a session up to a turn have found, in order, whatever of it is summarised by now. */
export async function loadFound(
  db: Db,
  { sessionId, number }: { sessionId: string; number: number },
): Promise<FoundInTurn[]> {
  return runSql<FoundInTurn>(
    db,
    sql`WITH calls AS (
          SELECT number AS turn, name, ARRAY[step, index] AS place, is_error, content
          FROM turns JOIN tool_calls ON turn_id = id
          WHERE session_id = ${sessionId} AND number <= ${number}::integer
            AND (name = ${SEARCH_TOOLS} OR starts_with(name, ${MCP_TOOL_PREFIX})))
        SELECT turn, last, called, result FROM (
          SELECT turn, min(place) AS first, max(place) AS last, name AS called, NULL AS result
          FROM calls WHERE name <> ${SEARCH_TOOLS} GROUP BY turn, name
          UNION ALL
          SELECT turn, place, place, NULL, content->0->>'text' FROM calls WHERE name = ${SEARCH_TOOLS} AND NOT is_error) AS found
        ORDER BY turn, first`,
  );
}

interface FoundTools {
  /** Bytes of a tool's definition; undefined for one that is not deferred, or not offered any more. */
  bytesOf: (name: string) => number | undefined;
  /** Full name of a tool by the name that the model knows. */
  toFull: (alias: string) => string | undefined;
  /** Limit of their definitions at the start of a turn. */
  maxBytes: number;
  /** Number of the current turn. */
  turn: number;
}

/**
 * The found tools of the current turn, in the order of finding. When a turn starts with more than fits, those that were not
 * called for longest are forgotten until they are found again.
 */
export function foundTools(found: readonly FoundInTurn[], { bytesOf, toFull, maxBytes, turn }: FoundTools): string[] {
  const uses: Uses = new Map();
  let inTurn = 0;
  for (const part of found) {
    if (part.turn !== inTurn) forget(uses, bytesOf, maxBytes);
    inTurn = part.turn;
    const names = part.called === null ? namesOfHits(part.result ?? '').map(toFull) : [part.called];
    for (const name of names) {
      if (name !== undefined && bytesOf(name) !== undefined) uses.set(name, [part.turn, ...part.last]);
    }
  }
  if (inTurn !== turn) forget(uses, bytesOf, maxBytes);
  return [...uses.keys()];
}

/** Names in the order of finding, each with turn, step and index of its last use. */
type Uses = Map<string, [turn: number, step: number, index: number]>;

function forget(uses: Uses, bytesOf: FoundTools['bytesOf'], maxBytes: number): void {
  let bytes = [...uses.keys()].reduce((sum, name) => sum + bytesOf(name)!, 0);
  if (bytes <= maxBytes) return;
  // Of the hits of one search, the last ones go first.
  const oldest = [...uses].reverse().sort(([, a], [, b]) => a[0] - b[0] || a[1] - b[1] || a[2] - b[2]);
  for (const [name] of oldest) {
    if (bytes <= maxBytes) return;
    uses.delete(name);
    bytes -= bytesOf(name)!;
  }
}
