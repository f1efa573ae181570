import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { chromium, type Browser, type BrowserContext, type BrowserContextOptions, type Page } from 'playwright-core';
import { freePort } from '../../src/platform/free-port.js';
import { startFaultSystem, type FaultSystem } from './fault-system.js';

const FOLDER = fileURLToPath(new URL('../../examples/chat', import.meta.url));
const BIN = fileURLToPath(new URL('../../node_modules/.bin', import.meta.url));

/** `examples/chat` as its README starts it, against a system of its own, with a browser. */
export interface ChatExample {
  system: FaultSystem;
  /** Where the pages are. */
  url: string;
  /** A window of somebody who is signed in, with a storage of its own. */
  signIn(person: string, options?: BrowserContextOptions): Promise<BrowserContext>;
  /** A new tab of the window. */
  open(window: BrowserContext, path?: string, origin?: string): Promise<Page>;
  closeWindows(): Promise<void>;
  /** A port whose pages may call the service too. */
  docsPort: number;
  /** Violations of the policy, uncaught errors, and tokens in addresses since the last call. */
  takeOffences(): string[];
  close(): Promise<void>;
}

export async function startChatExample(): Promise<ChatExample> {
  const [port, shopPort, docsPort] = [await freePort(), await freePort(), await freePort()];
  const url = `http://127.0.0.1:${port}`;
  const system = await startFaultSystem({
    allowedHosts: [`127.0.0.1:${shopPort}`],
    env: { SANDBOX_PROVIDER: 'bubblewrap', CORS_ORIGINS: `${url},http://127.0.0.1:${docsPort}` },
  });
  const { PATH, HOME } = process.env;
  const env = {
    ...{ PATH: `${BIN}:${PATH}`, HOME, PORT: String(port), SHOP_PORT: String(shopPort) },
    ...{ BASE: system.apis[0]!.url, KEY: system.key, SHOP: `http://127.0.0.1:${shopPort}/mcp` },
  };
  await promisify(execFile)('npm', ['run', '--silent', 'build'], { cwd: FOLDER, env });
  const shop = await start(['server/shop.ts'], env, 'the shop at');
  const backEnd = await start(['server/main.ts'], env, 'the chat at');
  const browser: Browser = await chromium.launch({ executablePath: process.env.CHROMIUM!, args: ['--no-sandbox'] });
  let offences: string[] = [];
  return {
    system,
    url,
    docsPort,
    async signIn(person, options = {}) {
      const window = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
      await window.request.post(`${url}/api/sign-in`, { data: { person } });
      return window;
    },
    async open(window, path = '/', origin = url) {
      const page = await window.newPage();
      page.setDefaultTimeout(20_000);
      page.on('pageerror', (error) => offences.push(error.message));
      page.on('console', (message) => {
        if (/Content Security Policy|Refused to|CORS/.test(message.text())) offences.push(message.text());
      });
      page.on('request', (request) => {
        if (request.url().includes('sst_')) offences.push(`a token in an address: ${request.url()}`);
      });
      await page.goto(origin + path);
      return page;
    },
    async closeWindows() {
      await Promise.all(browser.contexts().map((window) => window.close()));
    },
    takeOffences() {
      const taken = offences;
      offences = [];
      return taken;
    },
    async close() {
      await browser.close();
      for (const child of [shop, backEnd]) child.kill('SIGKILL');
      await system.close();
    },
  };
}

/** Starts a script of the example, and waits until it says so. */
async function start(args: string[], env: NodeJS.ProcessEnv, ready: string): Promise<ChildProcess> {
  const child = spawn(process.execPath, ['--import', 'tsx', ...args], { cwd: FOLDER, env });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += String(chunk)));
  while (!output.includes(ready)) {
    await Promise.race([once(child.stdout, 'data'), once(child, 'exit')]);
    if (child.exitCode !== null) throw new Error(`${join(FOLDER, args[0]!)} ended:\n${output}`);
  }
  return child;
}
