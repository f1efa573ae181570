/**
 * `npm run check:docs-page`: opens /docs of a live service in headless Chromium (CHROMIUM, else the one on the PATH), checks
 * what it shows and leaves a picture of it. `npm test` only says that it skips it.
 */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];
const chromium =
  process.env.CHROMIUM || NAMES.find((name) => spawnSync(name, ['--version'], { stdio: 'ignore' }).status === 0);
if (chromium === undefined) {
  console.error(`None of ${NAMES.join(', ')} is on the PATH. Install Chromium, or name it in CHROMIUM.`);
  process.exit(1);
}
const { status } = spawnSync(process.execPath, ['node_modules/mocha/bin/mocha.js', 'test/docs-page.test.ts'], {
  cwd: root,
  env: { ...process.env, CHROMIUM: chromium },
  stdio: 'inherit',
});
process.exit(status ?? 1);
