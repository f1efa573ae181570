/** A call that a message asks for: `call TOOL with {…}`. */
export interface Call {
  /** Where in the message it stands. */
  at: number;
  name: string;
  /** Whether "with {…}" follows the name. */
  explicit: boolean;
  /** Undefined when it is no JSON object. */
  input: Record<string, unknown> | undefined;
}

/** The calls of a text, in order; "and TOOL with {…}" goes on after the first. */
export function parseCalls(text: string): Call[] {
  const calls: Call[] = [];
  const pattern = /\b(?:call|and)\s+`?([\w.-]*\w)`?(\s+with\s+`*(?=\{))?/gi;
  for (let found = pattern.exec(text); found; found = pattern.exec(text)) {
    const [all, name = '', explicit] = found;
    if (explicit === undefined) {
      if (/^call/i.test(all)) calls.push({ at: found.index, name, explicit: false, input: {} });
      continue;
    }
    const end = endOfObject(text, pattern.lastIndex);
    calls.push({ at: found.index, name, explicit: true, input: parseObject(text.slice(pattern.lastIndex, end)) });
    pattern.lastIndex = end;
  }
  return calls;
}

/** The position after the object that begins at `start`: braces inside of strings do not count. */
function endOfObject(text: string, start: number): number {
  let depth = 0;
  for (const token of text.slice(start).matchAll(/"(?:\\.|[^"\\])*"|[{}]/gs)) {
    if (token[0] === '{') depth += 1;
    if (token[0] === '}') depth -= 1;
    if (depth === 0) return start + token.index + 1;
  }
  return text.length;
}

function parseObject(json: string): Record<string, unknown> | undefined {
  try {
    return JSON.parse(json) as Record<string, unknown>;
  } catch {
    return undefined;
  }
}
