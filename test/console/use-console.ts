import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { accessibilityFindings, openBrowser, type ConsoleBrowser } from '../support/browser/console.js';
import { startFaultSystem, type FaultSystem, type FaultSystemOptions } from '../support/fault-system.js';
import { skip } from '../support/skip.js';
import { use } from '../support/use.js';

export const PHONE = { width: 360, height: 740 };
export const DESKTOP = { width: 1440, height: 900 };

/** A system of the suite's own and a browser that opens its console. Without Chromium the suite is skipped. */
export function useConsole(options: () => FaultSystemOptions = () => ({})): {
  system: FaultSystem;
  browser: ConsoleBrowser;
} {
  before(function () {
    if (!process.env.CHROMIUM) skip(this, 'needs Chromium: npm run check -- console');
  });
  const system = use(
    () => startFaultSystem(options()),
    (started) => started.close(),
  );
  const browser = use(
    () => openBrowser({ url: system.apis[0]!.url, key: system.key }),
    (opened) => opened.close(),
  );
  afterEach(function () {
    if (this.currentTest?.state === 'passed') expect(browser.takeOffences()).to.deep.equal([]);
  });
  return { system, browser };
}

/** What just appears is pale. Some animations have no end. */
const ANIMATIONS_END = `Promise.all(document.getAnimations()
  .filter(({ effect }) => effect.getComputedTiming().endTime !== Infinity).map(({ finished }) => finished.catch(() => null)))
  .then(() => null)`;

/** The page fits its window and is accessible. SCREENSHOTS names a folder for its picture. */
export async function inspect(page: Page, name: string): Promise<void> {
  await page.evaluate(ANIMATIONS_END);
  expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).to.equal(true);
  expect(await accessibilityFindings(page)).to.deep.equal([]);
  const folder = process.env.SCREENSHOTS;
  if (folder !== undefined) await page.screenshot({ path: `${folder}/${name}.png`, fullPage: true });
}

/** Inspects the page on a phone and on a desk. */
export async function inspectSizes(page: Page, name: string): Promise<void> {
  await page.setViewportSize(PHONE);
  await inspect(page, `${name}-phone`);
  await page.setViewportSize(DESKTOP);
  await inspect(page, name);
}
