import type { StoredFile } from '../../src/skills/content.js';

/** Characters of a list of files; a skill has 500 at most, but their paths may be long. */
const LIST_LENGTH = 32_000;

/** A line for each file, path and size; of very many the first ones and how many there are more. */
export function fileList(files: StoredFile[]): string {
  const lines: string[] = [];
  let length = 0;
  for (const { path, size } of files) {
    const line = `- ${path} (${size} bytes)`;
    length += line.length + 1;
    if (length > LIST_LENGTH) break;
    lines.push(line);
  }
  if (lines.length < files.length) lines.push(`- … and ${files.length - lines.length} more`);
  return lines.join('\n');
}
