import { fileURLToPath } from 'node:url';

/** The output folder of `npm run build` for the console and the reference. The path also works when this file runs from its sources. */
export const BUILT = fileURLToPath(
  new URL(import.meta.url.endsWith('.ts') ? '../../../dist/console' : '../../../console', import.meta.url),
);

/**
 * A page needs only its own script, styles, fonts and icon, and the API: nothing inline, no other host. The script has a nonce,
 * because 'self' would also allow the files of clients, which links of this host serve; the modules that it imports inherit it.
 */
export const pagePolicy = (nonce: string): string =>
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
