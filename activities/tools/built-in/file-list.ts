import type { StoredFile } from '../../../src/skills/content.js';

/** Formats one line per file with path and size. If they exceed `maxBytes`, a last line says how to list the rest. */
export function fileList(files: StoredFile[], maxBytes: number): string {
  const lines: string[] = [];
  let bytes = 0;
  for (const { path, size } of files) {
    const line = `- ${path} (${size} bytes)`;
    bytes += Buffer.byteLength(line) + 1;
    if (bytes > maxBytes) break;
    lines.push(line);
  }
  const more = files.length - lines.length;
  if (more > 0) lines.push(`- … and ${more} more; read_skill_file with the path of a folder lists that folder`);
  return lines.join('\n');
}
