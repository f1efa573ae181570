// Prints the list of contents of the image in which it runs (CycloneDX 1.5): the packages in /app/node_modules as they lie there, and those
// of Debian. The same image gives the same text. docker run --rm --interactive --entrypoint node IMAGE - < deploy/image/contents.mjs
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** @type {Map<string, object>} */
const components = new Map();

/** @param {string} folder a node_modules */
function walk(folder) {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    if (!entry.isDirectory() || entry.name.startsWith('.')) continue;
    const path = join(folder, entry.name);
    if (entry.name.startsWith('@')) walk(path);
    else add(path);
  }
}

/** @param {string} path of a package */
function add(path) {
  let described;
  try {
    described = JSON.parse(readFileSync(join(path, 'package.json'), 'utf8'));
  } catch {
    return;
  }
  const { name, version, license, licenses } = described;
  const named = license?.type ?? license ?? licenses?.map((/** @type {any} */ one) => one.type ?? one).join(' OR ');
  const purl = `pkg:npm/${name.replace('@', '%40')}@${version}`;
  components.set(purl, { type: 'library', name, version, purl, ...(named && { licenses: [{ expression: named }] }) });
  try {
    walk(join(path, 'node_modules'));
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'ENOENT') throw error;
  }
}

walk('/app/node_modules');
const debian = execFileSync('dpkg-query', ['-W', '-f', '${Package} ${Version} ${Architecture}\n'], {
  encoding: 'utf8',
});
for (const line of debian.trim().split('\n')) {
  const [name, version, arch] = line.split(' ');
  const purl = `pkg:deb/debian/${name}@${encodeURIComponent(String(version))}?arch=${arch}`;
  components.set(purl, { type: 'library', name, version, purl });
}
const node = {
  type: 'application',
  name: 'node',
  version: process.version,
  purl: `pkg:generic/node@${process.version}`,
};
const sorted = [...components].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, component]) => component);
process.stdout.write(
  `${JSON.stringify({ bomFormat: 'CycloneDX', specVersion: '1.5', version: 1, components: [node, ...sorted] }, null, 2)}\n`,
);
