import type Router from '@koa/router';
import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { temporalSettings } from '../../../src/temporal/connection.js';
import { VERSION } from '../../../src/platform/version.js';
import { namesOfKey } from '../../../src/projects/api-keys.js';
import type { ApiDeps } from '../../deps.js';
import { authenticate } from '../core/authenticate.js';
import type { Caller } from '../core/operation.js';
import { compress, sendAsset } from './asset.js';
import { BUILT, pagePolicy } from './built.js';

const PAGE = 'index.html';
/** /docs has it. */
const OTHER_PAGE = 'docs.html';

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
    ctx.set('Content-Security-Policy', pagePolicy(nonce));
    ctx.set('Cache-Control', 'no-store');
    sendAsset(ctx, PAGE, compress(Buffer.from(page.replaceAll('<script ', `<script nonce="${nonce}" `))));
  });
  for (const name of fileNames().filter((found) => found !== PAGE && found !== OTHER_PAGE)) {
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
