import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { installClient } from './packed-client.js';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const PACKAGES = ['ai', '@ai-sdk/react', 'react', 'react-dom'];

/** The page in two files of docs/front-ends.md, in a folder of its own with the packed client. Its back end runs. */
export async function startPageOfDocs(env: Record<string, string>): Promise<{ close(): Promise<void> }> {
  const { folder, remove } = await installClient();
  for (const name of PACKAGES) {
    const installed = join(folder, 'node_modules', name);
    await mkdir(dirname(installed), { recursive: true });
    await symlink(join(ROOT, 'node_modules', name), installed);
  }
  const page = await readFile(join(ROOT, 'docs/front-ends.md'), 'utf8');
  const [, server] = /^`server\.js`[^]*?^```js\n([^]*?)^```/m.exec(page)!;
  const [, jsx] = /^`page\.jsx`[^]*?^```jsx\n([^]*?)^```/m.exec(page)!;
  const [, build] = /^\$ npx esbuild (.*)$/m.exec(page)!;
  await writeFile(join(folder, 'package.json'), '{"type": "module"}');
  await writeFile(join(folder, 'server.js'), server!);
  await writeFile(join(folder, 'page.jsx'), jsx!);
  await promisify(execFile)('sh', ['-c', `${join(ROOT, 'node_modules/.bin/esbuild')} ${build}`], { cwd: folder });
  const child = spawn(process.execPath, ['server.js'], { cwd: folder, env: { PATH: process.env.PATH, ...env } });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += String(chunk)));
  const exit = once(child, 'exit');
  while (!output.includes('http://127.0.0.1')) {
    await Promise.race([once(child.stdout, 'data'), exit]);
    if (child.exitCode !== null) throw new Error(`the page's back end ended:\n${output}`);
  }
  return {
    async close() {
      child.kill('SIGKILL');
      await exit;
      await remove();
    },
  };
}
