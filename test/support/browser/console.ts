import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { chromium, type Browser, type BrowserContextOptions, type Page } from 'playwright-core';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** A browser that opens the console of a service, and notes what a page must never do. */
export interface ConsoleBrowser {
  /** A new tab with a storage of its own; signed in with the key, if there is one. */
  open(path?: string, options?: BrowserContextOptions & { key?: string | null }): Promise<Page>;
  /** Requests to other hosts, violations of the policy and uncaught errors since the last call. */
  takeOffences(): string[];
  close(): Promise<void>;
}

export async function openBrowser(service: { url: string; key: string }): Promise<ConsoleBrowser> {
  const browser: Browser = await chromium.launch({ executablePath: process.env.CHROMIUM!, args: ['--no-sandbox'] });
  let offences: string[] = [];
  return {
    async open(path = '/sessions', { key = service.key, ...options } = {}) {
      const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, ...options });
      const page = await context.newPage();
      page.setDefaultTimeout(20_000);
      page.on('pageerror', (error) => offences.push(error.message));
      page.on('console', (message) => {
        if (/Content Security Policy|Refused to/.test(message.text())) offences.push(message.text());
      });
      page.on('request', (request) => {
        if (!/^(blob|data):/.test(request.url()) && new URL(request.url()).origin !== service.url) {
          offences.push(request.url());
        }
      });
      await page.goto(`${service.url}/console/${key === null ? '' : `#key=${key}`}`);
      if (key !== null) await page.getByRole('navigation').waitFor();
      if (path !== '/sessions') await page.goto(`${service.url}/console/#${path}`);
      return page;
    },
    takeOffences() {
      const taken = offences;
      offences = [];
      return taken;
    },
    close: () => browser.close(),
  };
}

/** What axe-core finds at the page as it is now: `rule: element` for each finding that is serious or worse. */
export async function accessibilityFindings(page: Page): Promise<string[]> {
  await page.evaluate(AXE);
  const found = await page.evaluate('axe.run()');
  const { violations } = found as { violations: { id: string; impact: string; nodes: { html: string }[] }[] };
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html.slice(0, 200)}`));
}
