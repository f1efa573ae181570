import type Router from '@koa/router';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { extname } from 'node:path';
import type { Config } from '../../../src/platform/config.js';

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

/** `GET /openapi.json`, and `GET /docs`: the same document rendered by the packaged renderer. */
export function addDocs(router: Router, document: object, config: Pick<Config, 'publicUrl'>): void {
  router.get('/openapi.json', (ctx) => {
    ctx.set('Content-Type', 'application/json');
    ctx.body = JSON.stringify({ ...document, servers: [{ url: config.publicUrl }] });
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
    const file = require.resolve(`swagger-ui-dist/${name}`);
    router.get(`/docs/${name}`, async (ctx) => {
      ctx.type = extname(name);
      ctx.set('Cache-Control', 'public, max-age=3600');
      ctx.body = await readFile(file);
    });
  }
}
