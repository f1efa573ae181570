/** The guides, in the order of reading. Each is loaded when it is read. */
const FILES = import.meta.glob<string>('../../../docs/*.md', { query: '?raw', import: 'default' });

export const GUIDES = [
  ['quick-start', 'Quick start'],
  ['interface', 'The interface'],
  ['talking', 'Talking to a session'],
  ['streaming', 'Streaming'],
  ['results', 'Results and timelines'],
  ['person-in-the-loop', 'A person in the loop'],
  ['mcp', 'MCP servers'],
  ['skills', 'Skills'],
  ['files', 'Files'],
  ['schedules', 'Schedules'],
  ['webhooks', 'Webhooks'],
  ['models', 'Models'],
  ['money', 'Money'],
  ['errors', 'Errors'],
  ['limits', 'Limits'],
  ['python', 'Python without a client'],
  ['console', 'The console'],
] as const;

/** Null for a page that is no guide, or does not exist. */
export function loadGuide(name: string): Promise<string> | null {
  return FILES[`../../../docs/${name}.md`]?.() ?? null;
}
