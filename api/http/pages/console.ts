import type Router from '@koa/router';
import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { temporalSettings } from '../../../src/temporal/connection.js';
import { VERSION } from '../../../src/platform/version.js';
import { namesOfKey } from '../../../src/projects/api-keys.js';
import type { ApiDeps } from '../../deps.js';
import { authenticate } from '../core/authenticate.js';
import type { Caller } from '../core/operation.js';
import { compress, sendAsset } from './asset.js';

/** The output folder of `npm run build` for the console. The path also works when this file runs from its sources. */
const BUILT = fileURLToPath(
  new URL(import.meta.url.endsWith('.ts') ? '../../../dist/console' : '../../../console', import.meta.url),
);
/**
 * The page needs only its own script, styles and icon, and the API: nothing inline, no other host. The script has a nonce,
 * because 'self' would also allow the files of clients, which links of this host serve.
 */
const policyOf = (nonce: string): string =>
  [
    "default-src 'none'",
    `script-src 'nonce-${nonce}'`,
    "style-src 'self'",
    "font-src 'self'",
    // The preview of a file, which the page has read with its key.
    "img-src 'self' blob:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ');

const PAGE = 'index.html';

/** `/console`: the built files of the console, and for requests with a key its names and the address of the Temporal UI. */
export function addConsole(
  router: Router,
  { config, db, log, keyLookup }: Pick<ApiDeps, 'config' | 'db' | 'log' | 'keyLookup'>,
): void {
  if (!existsSync(BUILT)) {
    log.warn(
      { folder: BUILT },
      'the console is not built, /console answers 404: run `npm run build` or set CONSOLE=off',
    );
    return;
  }
  router.get('/console', (ctx) => {
    ctx.status = 308;
    // A relative redirect, because a proxy may add a path prefix.
    ctx.set('Location', 'console/');
  });
  router.get('/console/config.json', authenticate(keyLookup), async (ctx) => {
    const { keyId } = ctx.state.caller as Caller;
    ctx.set('Cache-Control', 'no-store');
    ctx.body = { workflow_url: workflowUrl(config.temporalUiUrl), ...(await namesOfKey(db, keyId)), version: VERSION };
  });
  const page = readFileSync(join(BUILT, PAGE), 'utf8');
  router.get('/console/', (ctx) => {
    const nonce = randomBytes(16).toString('base64');
    ctx.set('Content-Security-Policy', policyOf(nonce));
    ctx.set('Cache-Control', 'no-store');
    sendAsset(ctx, PAGE, compress(Buffer.from(page.replaceAll('<script ', `<script nonce="${nonce}" `))));
  });
  for (const name of fileNames().filter((found) => found !== PAGE)) {
    const asset = compress(readFileSync(join(BUILT, name)));
    router.get(`/console/${name}`, (ctx) => {
      // The names of built assets contain a content hash, so they can be cached forever.
      ctx.set('Cache-Control', name.startsWith('assets/') ? 'public, max-age=31536000, immutable' : 'no-cache');
      sendAsset(ctx, name, asset);
    });
  }
}

/** The address of a turn's workflow in the Temporal UI. The workflow id is the turn id. */
function workflowUrl(temporalUiUrl: string | null): string | null {
  if (temporalUiUrl === null) return null;
  return `${temporalUiUrl}/namespaces/${encodeURIComponent(temporalSettings().namespace)}/workflows/{turn_id}`;
}

function fileNames(): string[] {
  return readdirSync(BUILT, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(BUILT, join(entry.parentPath, entry.name)).replaceAll(sep, '/'));
}
