import type Router from '@koa/router';
import type { Config } from '../../../src/platform/config.js';
import type { Logger } from '../../../src/platform/logger.js';
import { compress, sendAsset, type Asset } from './asset.js';
import type { BuiltPages } from './built.js';

const PAGE = 'docs.html';

/**
 * `GET /openapi.json`, and `GET /docs`: the same document as the console's build shows it, with the guides beside it. No key is
 * needed.
 */
export function addDocs(
  router: Router,
  document: object,
  { config, log }: { config: Pick<Config, 'publicUrl'>; log: Logger },
  built: BuiltPages,
): void {
  // Made at the first request: PUBLIC_URL may depend on the port.
  let openApi: Asset | undefined;
  router.get('/openapi.json', (ctx) => {
    openApi ??= compress(Buffer.from(JSON.stringify({ ...document, servers: [{ url: config.publicUrl }] })));
    sendAsset(ctx, 'openapi.json', openApi);
    ctx.set('Content-Type', 'application/json');
  });
  if (!built.has(PAGE)) {
    log.warn({ folder: built.folder }, 'the reference is not built, /docs answers 404: run `npm run build`');
    return;
  }
  // The page is `/docs`, without a slash at the end: its assets are below that.
  built.servePage(router, '/docs', PAGE, 'docs/');
  built.serveAssets(router, '/docs');
}
