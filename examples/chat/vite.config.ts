import { defineConfig } from 'vite';

export default defineConfig({
  root: `${import.meta.dirname}/page`,
  // Finds the client's source in this repository. In a project of your own it is an installed package.
  resolve: { tsconfigPaths: true },
  build: {
    outDir: '../dist',
    emptyOutDir: true,
    target: 'es2023',
    // The Content-Security-Policy of the pages allows no `data:` addresses.
    assetsInlineLimit: 0,
    rolldownOptions: { input: ['page/index.html', 'page/ag-ui.html'].map((name) => `${import.meta.dirname}/${name}`) },
    reportCompressedSize: false,
    chunkSizeWarningLimit: 1000,
  },
});
