import type { Agent, AgentVersion } from '../../../client/src/index.js';

/** A line of a comparison: of both texts, or of one of them. */
export interface Line {
  kind: 'same' | 'removed' | 'added';
  text: string;
}

/** Longer texts are shown whole, first the one and then the other: the table of a comparison has a cell for each pair of lines. */
const MAX_CELLS = 1_000_000;

/** What changed from one text to another, line by line. */
export function compareLines(before: string, after: string): Line[] {
  const [old, next] = [before.split('\n'), after.split('\n')];
  if (old.length * next.length > MAX_CELLS) {
    return [
      ...old.map((text): Line => ({ kind: 'removed', text })),
      ...next.map((text): Line => ({ kind: 'added', text })),
    ];
  }
  // common[i][j]: how many lines the rests from i and from j have in common, in order.
  const common = Array.from({ length: old.length + 1 }, () => new Uint32Array(next.length + 1));
  for (let i = old.length - 1; i >= 0; i -= 1) {
    for (let j = next.length - 1; j >= 0; j -= 1) {
      common[i]![j] =
        old[i] === next[j] ? common[i + 1]![j + 1]! + 1 : Math.max(common[i + 1]![j]!, common[i]![j + 1]!);
    }
  }
  const lines: Line[] = [];
  let [i, j] = [0, 0];
  while (i < old.length || j < next.length) {
    if (i < old.length && j < next.length && old[i] === next[j]) {
      lines.push({ kind: 'same', text: old[i]! });
      i += 1;
      j += 1;
    } else if (j === next.length || (i < old.length && common[i + 1]![j]! >= common[i]![j + 1]!)) {
      lines.push({ kind: 'removed', text: old[i]! });
      i += 1;
    } else {
      lines.push({ kind: 'added', text: next[j]! });
      j += 1;
    }
  }
  return lines;
}

type Configured = Pick<
  Agent | AgentVersion,
  | 'description'
  | 'model_id'
  | 'thinking_enabled'
  | 'instruction'
  | 'mcp_servers'
  | 'tools'
  | 'fallback_model_ids'
  | 'skills'
>;

/** The part of a version that a PATCH can change. */
export function configurationOf(version: Configured): Configured {
  const { description, model_id, thinking_enabled, instruction, mcp_servers, tools, fallback_model_ids, skills } =
    version;
  return { description, model_id, thinking_enabled, instruction, mcp_servers, tools, fallback_model_ids, skills };
}

/** A version as text: each line of its instruction is a line. */
export function textOf(version: Configured): string {
  const { instruction, ...others } = configurationOf(version);
  return `${JSON.stringify(others, null, 2)}\n\n${instruction ?? ''}`.trimEnd();
}
