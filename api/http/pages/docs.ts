import type Router from '@koa/router';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Config } from '../../../src/platform/config.js';
import { compress, sendAsset, type Asset } from './asset.js';

const require = createRequire(import.meta.url);
const ASSETS = ['swagger-ui.css', 'swagger-ui-bundle.js', 'favicon-32x32.png'];

const PAGE = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>Agent Session Service: API reference</title>
    <link rel="stylesheet" href="/docs/swagger-ui.css">
    <link rel="icon" href="/docs/favicon-32x32.png">
  </head>
  <body>
    <div id="reference"></div>
    <script src="/docs/swagger-ui-bundle.js"></script>
    <script src="/docs/start.js"></script>
  </body>
</html>
`;
const START = `SwaggerUIBundle({
  url: '/openapi.json', dom_id: '#reference', deepLinking: true, persistAuthorization: false,
  defaultModelsExpandDepth: 0, displayRequestDuration: true, validatorUrl: null,
});
`;
/** The renderer sets inline styles and uses data: URLs for icons. All other content comes from this origin. */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; frame-ancestors 'none'";

/**
 * `GET /openapi.json`, and `GET /docs`: the same document rendered by the packaged renderer. No key is needed, so each
 * answer is made once.
 */
export function addDocs(router: Router, document: object, config: Pick<Config, 'publicUrl'>): void {
  const openApi = once(() => Buffer.from(JSON.stringify({ ...document, servers: [{ url: config.publicUrl }] })));
  router.get('/openapi.json', (ctx) => {
    sendAsset(ctx, 'openapi.json', openApi());
    ctx.set('Content-Type', 'application/json');
  });
  router.get('/docs', (ctx) => {
    ctx.set('Content-Security-Policy', POLICY);
    ctx.type = 'html';
    ctx.body = PAGE;
  });
  router.get('/docs/start.js', (ctx) => {
    ctx.type = 'js';
    ctx.body = START;
  });
  for (const name of ASSETS) {
    const asset = once(() => readFileSync(require.resolve(`swagger-ui-dist/${name}`)));
    router.get(`/docs/${name}`, (ctx) => {
      ctx.set('Cache-Control', 'public, max-age=3600');
      sendAsset(ctx, name, asset());
    });
  }
}

/** At the first request: compressing the renderer takes 0.2 s, and PUBLIC_URL may depend on the port. */
function once(read: () => Buffer): () => Asset {
  let asset: Asset | undefined;
  return () => (asset ??= compress(read()));
}
