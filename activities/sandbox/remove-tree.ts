import { execFile, spawn } from 'node:child_process';
import { promisify } from 'node:util';
import { ignored } from '../../src/platform/ignored.js';

/** `rm` also removes folders that are nested deeper than a path can say. An ordinary user cannot empty closed folders. */
function removal(folder: string): [command: string, ...args: string[]] {
  if (process.getuid?.() === 0) return ['rm', '-rf', '--', folder];
  return ['sh', '-c', 'chmod -R u+rwx -- "$1" 2>/dev/null; rm -rf -- "$1"', 'sh', folder];
}

/** Removes a folder in which a command may have written anything. */
export async function removeTree(folder: string): Promise<void> {
  const [command, ...args] = removal(folder);
  await promisify(execFile)(command, args);
}

/** Begins to remove a folder, after the file systems that are mounted in it; goes on when this process ends. */
export function beginRemoval(folder: string, mounts: string[]): void {
  // Only root has any.
  const unmounting = [
    'sh',
    '-c',
    'folder=$1; shift; umount -l -- "$@"; exec rm -rf -- "$folder"',
    'sh',
    folder,
    ...mounts,
  ];
  const [command, ...args] = mounts.length === 0 ? removal(folder) : (unmounting as [string, ...string[]]);
  const child = spawn(command, args, { stdio: 'ignore', detached: true });
  child.on('error', ignored('a later process removes it'));
  child.unref();
}
