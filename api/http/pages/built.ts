import type Router from '@koa/router';
import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { compress, sendAsset, type Asset } from './asset.js';

/** The output folder of `npm run build` for the console and the reference. The path also works when this file runs from its sources. */
const FOLDER = fileURLToPath(
  new URL(import.meta.url.endsWith('.ts') ? '../../../dist/console' : '../../../console', import.meta.url),
);

/**
 * The files of the console's build, as they are when the process starts: a later build does not change them. The pages share scripts,
 * styles and fonts: each is compressed once, at its first request.
 */
export class BuiltPages {
  readonly folder = FOLDER;
  readonly #files = new Map(fileNames().map((name) => [name, readFileSync(join(FOLDER, name))]));
  readonly #assets = new Map<string, Asset>();

  has(page: string): boolean {
    return this.#files.has(page);
  }

  /** Serves a page at `path`. @param base what leads from there to its assets */
  servePage(router: Router, path: string, name: string, base = './'): void {
    const page = this.#files.get(name)!.toString().replaceAll('"./', `"${base}`);
    router.get(path, (ctx) => {
      const nonce = randomBytes(16).toString('base64');
      ctx.set('Content-Security-Policy', pagePolicy(nonce));
      ctx.set('Cache-Control', 'no-store');
      sendAsset(ctx, name, compress(Buffer.from(page.replaceAll('<script ', `<script nonce="${nonce}" `))));
    });
  }

  /** Serves what the pages load below `path`: everything but the pages themselves. */
  serveAssets(router: Router, path: string): void {
    for (const name of this.#files.keys()) {
      if (name.endsWith('.html')) continue;
      router.get(`${path}/${name}`, (ctx) => {
        // The names of built assets contain a content hash, so they can be cached forever.
        ctx.set('Cache-Control', name.startsWith('assets/') ? 'public, max-age=31536000, immutable' : 'no-cache');
        sendAsset(ctx, name, this.#asset(name));
      });
    }
  }

  #asset(name: string): Asset {
    let asset = this.#assets.get(name);
    if (asset === undefined) this.#assets.set(name, (asset = compress(this.#files.get(name)!)));
    return asset;
  }
}

function fileNames(): string[] {
  if (!existsSync(FOLDER)) return [];
  return readdirSync(FOLDER, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(FOLDER, join(entry.parentPath, entry.name)).replaceAll(sep, '/'));
}

/**
 * A page needs only its own script, styles, fonts and icon, and the API: nothing inline, no other host. The script has a nonce,
 * because 'self' would also allow the files of clients, which links of this host serve; the modules that it imports inherit it.
 */
const pagePolicy = (nonce: string): string =>
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
