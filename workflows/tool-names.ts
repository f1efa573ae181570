/** Limit for a piece of text in `setCurrentDetails`, to keep it readable in the UI. */
const SHOWN_TOOLS = 5;

export function formatToolNames(tools: string[], indices: number[]): string {
  const more = indices.length - SHOWN_TOOLS;
  const shown = indices.slice(0, SHOWN_TOOLS).map((index) => tools[index]);
  return `tools ${shown.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}
