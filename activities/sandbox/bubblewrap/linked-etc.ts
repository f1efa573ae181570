import { execFile } from 'node:child_process';
import { realpath } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
/** What every sandbox has of /etc, if it is there. */
export const SHOWN_ETC = ['alternatives', 'ld.so.cache', 'ssl/certs', 'fonts', 'magic', 'mime.types'];
/** What tells of the machine or its accounts, or may hold keys and passwords, whoever can read it there. */
const NEVER =
  /^\/etc\/(environment|fstab|group|gshadow|host.*|krb5.*|letsencrypt|machine-id|mtab|passwd|profile|resolv\.conf|shadow|ssh|sudo.*)(\/|$)|private|secret|credential|password|keytab|\.key$/;
const SEARCH_TIMEOUT_MS = 60_000;
const MAX_OUTPUT_BYTES = 16 * 1024 * 1024;
/** A machine with all of Debian's languages and tools has some twenty. */
const MAX_LINKED = 200;

const found = new Map<string, Promise<string[]>>();

/**
 * Finds, once in a process, the files and folders of /etc to which programs have links: a JDK, OpenSSL and others keep their settings there. Left out is
 * what not everybody on the machine may read, and a folder with such a file in it: keys and passwords.
 * @param root the folder whose `usr` and `etc` have the programs
 * @returns paths that begin with /etc/, in order, without those in another one
 */
export function findLinkedEtc(root: string): Promise<string[]> {
  const known = found.get(root) ?? searchLinkedEtc(root);
  found.set(root, known);
  return known;
}

async function searchLinkedEtc(root: string): Promise<string[]> {
  const links = await search(
    ['usr', 'etc/alternatives'].map((folder) => join(root, folder)),
    [...['-xdev', '-type', 'l', '-lname', '*etc/*', '-printf', '%p\\0%l\\0']],
  );
  const targets = new Set<string>();
  for (let at = 0; at + 1 < links.length; at += 2) {
    // A link of an unpacked image leads from its root.
    const place = `/${links[at]!.slice(root.length)}`;
    const target = resolve(dirname(place), links[at + 1]!);
    if (target.startsWith('/etc/') && !NEVER.test(target)) targets.add(target);
  }
  const shown = SHOWN_ETC.map((name) => `/etc/${name}`);
  const candidates = [...targets].sort().filter((path, _, all) => !isInside(path, [...shown, ...all]));
  const open = await Promise.all(
    candidates.slice(0, MAX_LINKED).map(async (path) => ((await isOpenToAll(root, path)) ? [path] : [])),
  );
  return open.flat();
}

function isInside(path: string, others: string[]): boolean {
  return others.some((other) => path.startsWith(`${other}/`)) || SHOWN_ETC.includes(path.slice('/etc/'.length));
}

async function isOpenToAll(root: string, path: string): Promise<boolean> {
  const place = await realpath(join(root, path)).catch(() => null);
  if (place === null || !['etc', 'usr'].some((folder) => place.startsWith(`${join(root, folder)}/`))) return false;
  const closed = ['!', '-type', 'l', '(', '!', '-perm', '-o=r', '-o', '-type', 'd', '!', '-perm', '-o=x', ')'];
  const found = await search([place], [...closed, '-printf', 'closed\\0', '-quit']);
  return found.length === 0;
}

/** Runs find. What cannot be searched counts as not found there. */
async function search(folders: string[], expression: string[]): Promise<string[]> {
  const options = { timeout: SEARCH_TIMEOUT_MS, maxBuffer: MAX_OUTPUT_BYTES };
  const { stdout } = await run('find', [...folders, ...expression], options).catch((error: { stdout?: string }) => ({
    stdout: error.stdout ?? '',
  }));
  return stdout.split('\0').slice(0, -1);
}
