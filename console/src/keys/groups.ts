/** `finance, legal` → the names. */
export function groupsOf(text: string): string[] {
  return [...new Set(text.split(',').map((name) => name.trim()))].filter((name) => name !== '');
}
