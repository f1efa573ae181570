import { isUtf8 } from 'node:buffer';
import type { OpenSandbox } from './sandbox.js';
import { cleanText } from './output.js';

/** A file or folder as the sandbox sees it, or the reason why it cannot be read. */
export type Found = { kind: 'folder' | 'file' } | { kind: 'error'; reason: string };

/** Why a path cannot be used, by the exit code of the scripts below. */
const REASONS: Record<number, string> = {
  10: 'does not exist',
  11: 'is neither a file nor a folder',
  12: 'may not be read',
  13: 'is a folder',
};
const CHECKS = `[ -e "$1" ] || exit 10`;
const READ = `${CHECKS}
if [ -d "$1" ]; then
  cd -- "$1" || exit 12
  shopt -s dotglob nullglob
  echo folder
  for e in *; do if [ -d "$e" ] && [ ! -L "$e" ]; then printf '%s/\\0' "$e"; else printf '%s\\0' "$e"; fi; done
else
  [ -f "$1" ] || exit 11
  [ -r "$1" ] || exit 12
  echo file
  exec cat -- "$1"
fi`;
const WRITE = `if [ -e "$1" ] || [ -L "$1" ]; then [ ! -d "$1" ] || exit 13; [ -f "$1" ] || [ ! -e "$1" ] || exit 11; fi
mkdir -p -- "\${1%/*}/" && exec cat > "$1"`;
const RESOLVE = `${CHECKS}
[ -f "$1" ] || exit 11
exec realpath -e -- "$1"`;

/** A path as an argument of a program: relative ones stay so, and are resolved in the sandbox, links included. */
const argument = (path: string): string => (path.startsWith('/') ? path : `./${path}`);

/** Reads a file or folder; `onContent` gets its bytes, names of a folder each with a NUL behind it. */
export async function readPath(
  sandbox: Pick<OpenSandbox, 'run'>,
  path: string,
  onContent: (chunk: Buffer, kind: 'file' | 'folder') => void,
): Promise<Found> {
  let head = Buffer.alloc(0);
  let found: Exclude<Found, { kind: 'error' }> | null = null;
  const onOutput = (chunk: Buffer): void => {
    if (found !== null) return onContent(chunk, found.kind);
    head = Buffer.concat([head, chunk]);
    const end = head.indexOf(10);
    if (end < 0) return;
    found = { kind: head.toString('latin1', 0, end) as 'file' | 'folder' };
    onContent(head.subarray(end + 1), found.kind);
  };
  const { code } = await sandbox.run(['bash', '-c', READ, 'bash', argument(path)], { onOutput });
  if (code === 0 && found !== null) return found;
  return { kind: 'error', reason: REASONS[code ?? 0] ?? reasonOf(head) };
}

/** Writes a file and its folders. Returns why it could not; null if it could. */
export async function writePath(
  sandbox: Pick<OpenSandbox, 'run'>,
  path: string,
  content: Buffer,
): Promise<string | null> {
  const output: Buffer[] = [];
  const io = { stdin: content, onOutput: (chunk: Buffer): unknown => output.push(chunk) };
  const { code } = await sandbox.run(['bash', '-c', WRITE, 'bash', argument(path)], io);
  return code === 0 ? null : (REASONS[code ?? 0] ?? reasonOf(Buffer.concat(output)));
}

/** The path of a regular file without links. */
export async function resolvePath(
  sandbox: Pick<OpenSandbox, 'run'>,
  path: string,
): Promise<{ path: string } | { reason: string }> {
  const output: Buffer[] = [];
  const onOutput = (chunk: Buffer): unknown => output.push(chunk);
  const { code } = await sandbox.run(['bash', '-c', RESOLVE, 'bash', argument(path)], { onOutput });
  const text = Buffer.concat(output);
  if (code !== 0) return { reason: REASONS[code ?? 0] ?? reasonOf(text) };
  return { path: text.toString().replace(/\n$/, '') };
}

function reasonOf(output: Buffer): string {
  const lines = cleanText(output).trim().split('\n');
  return `cannot be used (${lines.at(-1)!.replace(/^.*: /, '').slice(0, 200) || 'unknown reason'})`;
}

/** Whether bytes are a text: without NUL, and UTF-8. */
export function isText(bytes: Buffer): boolean {
  return !bytes.includes(0) && isUtf8(bytes);
}
