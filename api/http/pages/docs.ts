import type Router from '@koa/router';
import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../../../src/platform/config.js';
import type { Logger } from '../../../src/platform/logger.js';
import { compress, sendAsset, type Asset } from './asset.js';
import { BUILT, pagePolicy } from './built.js';

/**
 * `GET /openapi.json`, and `GET /docs`: the same document as the console's build shows it, with the guides beside it. No key is
 * needed, so each answer is made once.
 */
export function addDocs(
  router: Router,
  document: object,
  { config, log }: { config: Pick<Config, 'publicUrl'>; log: Logger },
): void {
  const openApi = once(() => Buffer.from(JSON.stringify({ ...document, servers: [{ url: config.publicUrl }] })));
  router.get('/openapi.json', (ctx) => {
    sendAsset(ctx, 'openapi.json', openApi());
    ctx.set('Content-Type', 'application/json');
  });
  const file = join(BUILT, 'docs.html');
  if (!existsSync(file)) {
    log.warn({ file }, 'the reference is not built, /docs answers 404: run `npm run build`');
    return;
  }
  // The page is `/docs`, without a slash at the end: its assets are below that.
  const page = readFileSync(file, 'utf8').replaceAll('"./', '"docs/');
  router.get('/docs', (ctx) => {
    const nonce = randomBytes(16).toString('base64');
    ctx.set('Content-Security-Policy', pagePolicy(nonce));
    ctx.set('Cache-Control', 'no-store');
    sendAsset(ctx, 'docs.html', compress(Buffer.from(page.replaceAll('<script ', `<script nonce="${nonce}" `))));
  });
  for (const name of ['icon.svg', ...readdirSync(join(BUILT, 'assets')).map((asset) => `assets/${asset}`)]) {
    const asset = once(() => readFileSync(join(BUILT, name)));
    router.get(`/docs/${name}`, (ctx) => {
      ctx.set('Cache-Control', name.startsWith('assets/') ? 'public, max-age=31536000, immutable' : 'no-cache');
      sendAsset(ctx, name, asset());
    });
  }
}

/** At the first request: compressing takes time, and PUBLIC_URL may depend on the port. */
function once(read: () => Buffer): () => Asset {
  let asset: Asset | undefined;
  return () => (asset ??= compress(read()));
}
