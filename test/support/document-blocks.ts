import { readFile } from 'node:fs/promises';

/** What stands in the fenced blocks of a language in a page of the project. */
export async function blocks(page: string, language: string): Promise<string[]> {
  const text = await readFile(new URL(`../../${page}`, import.meta.url), 'utf8');
  return [...text.matchAll(new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\``, 'gms'))].map(([, code]) => code!);
}
