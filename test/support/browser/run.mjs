/**
 * `npm run check -- docs-page`, `npm run check -- console`: runs a test file that needs a browser, with Chromium (CHROMIUM, else
 * the one on the PATH). `npm test` only says that it skips it, and so does this where there is no browser.
 */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];
const chromium = process.env.CHROMIUM || NAMES.map(findOnPath).find((path) => path !== undefined);
if (chromium === undefined) {
  console.error(`Skipped: none of ${NAMES.join(', ')} is on the PATH. Install Chromium, or name it in CHROMIUM.`);
  process.exit(0);
}
const { status } = spawnSync(process.execPath, ['node_modules/mocha/bin/mocha.js', ...process.argv.slice(2)], {
  cwd: root,
  env: { ...process.env, CHROMIUM: chromium },
  stdio: 'inherit',
});
process.exit(status ?? 1);

/** @param {string} name */
function findOnPath(name) {
  return (process.env.PATH ?? '')
    .split(delimiter)
    .map((folder) => join(folder, name))
    .find((path) => existsSync(path));
}
