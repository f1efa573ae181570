import { expect } from 'chai';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { routes } from '../api/routes.js';
import { startService, type TestService } from './support/service.js';
import { skip } from './support/skip.js';

/** Nothing but the page: no first-run pages, updates or sync of the browser itself. */
const FLAGS = [
  ...['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-sync'],
  ...['--disable-background-networking', '--disable-component-update', '--enable-logging=stderr'],
  ...['--window-size=1400,3200', '--virtual-time-budget=20000'],
];

describe('/docs in a browser', function () {
  this.timeout(180_000);
  let service: TestService;
  const profile = mkdtempSync(join(tmpdir(), 'chromium-'));
  before(async function () {
    if (!process.env.CHROMIUM) skip(this, 'needs Chromium: npm run check -- docs-page');
    service = await startService();
  });
  after(async () => {
    await service?.close();
    rmSync(profile, { recursive: true });
  });

  const chromium = async (...more: string[]): Promise<{ out: string; log: string }> => {
    const child = spawn(process.env.CHROMIUM!, [...FLAGS, `--user-data-dir=${profile}`, ...more]);
    const [out, log] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')]);
    return { out, log };
  };

  it('/docs in a browser shows every operation, and asks for nothing that its policy forbids', async () => {
    const { out, log } = await chromium('--dump-dom', `${service.url}/docs`);
    for (const [, path, , , { id, summary }] of routes) {
      expect(out, id).to.contain(`data-path="${path}"`);
      expect(out.replaceAll('&amp;', '&'), id).to.contain(summary);
    }
    expect(log).to.not.match(/Content Security Policy|Refused to|Uncaught|net::ERR/);
  });

  it('/docs in a browser can be looked at', async () => {
    const picture = process.env.DOCS_PAGE_PICTURE || join(tmpdir(), 'agent-session-service-docs.png');
    await chromium(`--screenshot=${picture}`, `${service.url}/docs`);
    expect(statSync(picture).size).to.be.greaterThan(50_000);
    console.log(`      ${picture}`);
  });
});
