import { expect } from 'chai';
import { readFileSync } from 'node:fs';
import { CORE_PATH, countFeatureWords } from '../dev/scripts/core-path.js';
import { BUILT_IN_TOOL_NAMES, WAIT, WORKSPACE_TOOL_NAMES } from '../src/sessions/tools.js';

/** The names of kinds and sources of tools (activities/tools). */
const KINDS = ['built-in', 'mcp', 'workspace', 'sandbox', 'custom', 'client', 'output', 'wait', 'unknown'];
/** What decides by the kind of a tool, or by its name. */
const DECISIONS = [
  new RegExp(`\\bkind(?:\\.name)?\\s*[=!]==?\\s*'(?:${KINDS.join('|')})'`, 'g'),
  new RegExp(`[=!]==?\\s*'(?:${[...BUILT_IN_TOOL_NAMES, ...WORKSPACE_TOOL_NAMES, WAIT].join('|')})'`, 'g'),
  /\b(?:isWorkspaceTool|WORKSPACE_TOOL_NAMES|BUILT_IN_TOOL_NAMES|DELIVER_FILE|SEARCH_TOOLS|GIVE_OUTPUT|MCP_TOOL_PREFIX)\b/g,
];

function decisionsIn(text: string): string[] {
  return DECISIONS.flatMap((pattern) => [...text.matchAll(pattern)].map(([found]) => found));
}

describe('the path of a message', () => {
  it('the path of a message decides nothing by the kind of a tool or by its name', () => {
    expect(CORE_PATH.length).to.be.above(30);
    const found = CORE_PATH.flatMap((file) =>
      decisionsIn(readFileSync(file, 'utf8')).map((decision) => `${file}: ${decision}`),
    );
    expect(found).to.deep.equal([]);
  });

  it('the path of a message has few words of features: what attaches to it is named where it is built', () => {
    const words = countFeatureWords();
    const sum = words.reduce((all, { count }) => all + count, 0);
    const largest = words.slice(0, 5).map(({ name, count }) => `${name}: ${count}`);
    expect(sum, largest.join('\n')).to.be.at.most(250);
  });

  it('the path of a message: the rule on kinds finds what it forbids', () => {
    for (const line of [
      "if (found.kind === 'mcp') call()",
      "kind.name !== 'built-in'",
      "name === 'deliver_file'",
      "name === 'bash'",
      "name === 'wait'",
      'isWorkspaceTool(name)',
    ])
      // oxfmt-ignore
      expect(decisionsIn(line), line).not.to.deep.equal([]);
    expect(decisionsIn("outcome.kind === 'tools'")).to.deep.equal([]);
  });
});
