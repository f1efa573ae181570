import { exactText } from '../../../src/platform/exact-json.js';
import type { Turn } from './conversation-log.js';

/** A conversation as Markdown: what was said, and each call with its result. */
export function markdownOf(turns: readonly Turn[]): string {
  return turns
    .flatMap(({ events }) => events)
    .flatMap((event): string[] => {
      switch (event.type) {
        case 'user.message':
          return [`## User\n\n${event.content}`];
        case 'agent.message':
          return [`## Agent\n\n${event.content}`];
        case 'agent.tool_use':
        case 'agent.custom_tool_use':
          return [`### Call of \`${event.name}\`\n\n${fenced(exactText(event.input, 2), 'json')}`];
        case 'agent.tool_result':
        case 'user.custom_tool_result':
          return [`### ${event.is_error ? 'Error' : 'Result'}\n\n${fenced(event.content)}`];
        case 'turn.failed':
          return [`> ${event.error.type}: ${event.error.message}`];
        default:
          return [];
      }
    })
    .join('\n\n');
}

/** The fence is longer than every row of backticks in the text. */
function fenced(text: string, language = ''): string {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([ticks]) => ticks.length));
  const fence = '`'.repeat(longest + 1);
  return `${fence}${language}\n${text}\n${fence}`;
}
