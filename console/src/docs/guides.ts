/** Each guide is loaded when it is read. */
const FILES = import.meta.glob<string>('../../../docs/*.md', { query: '?raw', import: 'default' });

/** Null for a page that is no guide, or does not exist. */
export function loadGuide(name: string): Promise<string> | null {
  return FILES[`../../../docs/${name}.md`]?.() ?? null;
}
