import type { McpServer } from '../../../client/src/index.js';

/** `3 tools`, `2 of 3 tools` that agents may use, or `2,000 of 2,044 tools` that the service keeps. */
export function toolCount({ tools, tools_left_out: leftOut, allowed_tools: allowed }: McpServer): string {
  const all = tools.length + leftOut;
  const usable = allowed?.length ?? tools.length;
  const counted = `${all.toLocaleString('en')} ${all === 1 ? 'tool' : 'tools'}`;
  return usable === all ? counted : `${usable.toLocaleString('en')} of ${counted}`;
}
