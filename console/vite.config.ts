import { defineConfig } from 'vite';

/** `npm run console:dev` talks to the API at this address. */
const API = 'http://127.0.0.1:8080';

export default defineConfig({
  root: import.meta.dirname,
  // Relative, so that the console also works behind a proxy that adds a path prefix.
  base: './',
  build: {
    outDir: '../dist/console',
    emptyOutDir: true,
    target: 'es2023',
    // The first versions with light-dark().
    cssTarget: ['chrome123', 'firefox120', 'safari17.5'],
    // The Content-Security-Policy of the page allows neither inline scripts nor data: URLs.
    assetsInlineLimit: 0,
    modulePreload: false,
    rolldownOptions: { input: ['console/index.html', 'console/docs.html'] },
    reportCompressedSize: false,
  },
  server: {
    proxy: {
      '/v1': API,
      '/config.json': { target: API, rewrite: (path) => `/console${path}` },
    },
  },
});
