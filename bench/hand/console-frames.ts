import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { DESKTOP, useConsole } from '../../test/console/use-console.js';
import { insertSessions } from '../../test/support/factories.js';
import { Gate, message, steps, text, toolUse, wait } from '../../test/support/scripted-model.js';

const SESSIONS = 10_000;
const STEPS = 60;
const CALLS_OF_A_STEP = 8;
/** Of a long turn the console shows its last steps, and as many more each time that they are asked for. */
const SHOWN_STEPS = 40;
const MAX_FRAME_MS = 50;

/** Of the browser's trace, in microseconds. `tdur` is the time that the thread had a processor. */
interface TraceEvent {
  name: string;
  pid: number;
  tid: number;
  dur?: number;
  tdur?: number;
  args: { name?: string };
}

/** How long the console holds up a frame with much on the page. The figures are of this machine, with what else it does. */
describe('frames of the console', function () {
  this.timeout(900_000);
  const { system, browser } = useConsole();

  /** Returns the longest task of the page's main thread in milliseconds of processor time, which other work of the machine leaves alone. */
  const measured = async (page: Page, name: string, work: () => Promise<unknown>): Promise<number> => {
    const chromium = page.context().browser()!;
    await chromium.startTracing(page, { categories: ['toplevel', 'disabled-by-default-devtools.timeline'] });
    await work();
    const { traceEvents: events } = JSON.parse((await chromium.stopTracing()).toString()) as {
      traceEvents: TraceEvent[];
    };
    const main = new Set(
      events
        .filter((event) => event.name === 'thread_name' && event.args.name === 'CrRendererMain')
        .map(({ pid, tid }) => `${pid} ${tid}`),
    );
    const tasks = events.filter(({ name: task, pid, tid }) => task === 'RunTask' && main.has(`${pid} ${tid}`));
    const ms = tasks.map(({ tdur = 0 }) => tdur / 1_000).sort((a, b) => a - b);
    const at = (share: number): string => ms[Math.floor(share * (ms.length - 1))]!.toFixed(1);
    const late = ms.filter((each) => each > MAX_FRAME_MS).length;
    console.log(
      `      ${name}: ${ms.length} tasks, 99 % ${at(0.99)} ms, longest ${at(1)} ms, ${late} over ${MAX_FRAME_MS} ms`,
    );
    return ms.at(-1)!;
  };
  const nodes = (page: Page): Promise<number> => page.evaluate('document.querySelectorAll("*").length');
  /** Scrolls by a screen every 50 ms until the page does not grow any more, or `screens` are scrolled. */
  const scroll = (page: Page, screens: number, by: number): Promise<unknown> =>
    page.evaluate(`(async () => {
      for (let screen = 0; screen < ${screens}; screen += 1) {
        scrollBy(0, ${by});
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    })()`);

  it(`frames of the console hold with ${SESSIONS} sessions in the table`, async () => {
    const [project]: { id: string }[] = await system.db.query(`SELECT id FROM projects WHERE name = 'demo'`);
    await insertSessions(system.db, project!.id, SESSIONS);
    const page = await browser.open('/sessions', { viewport: DESKTOP });
    await page.getByRole('row').nth(20).waitFor();
    let longest = await measured(page, 'while it loads', async () => {
      for (;;) {
        await page.evaluate('scrollTo(0, document.documentElement.scrollHeight)');
        const end = await page.locator('.table-end').innerText();
        if (end.startsWith(`${SESSIONS}`)) return;
      }
    });
    const count = await nodes(page);
    console.log(`      ${count} elements of the page`);
    await page.evaluate('scrollTo(0, 0)');
    longest = Math.max(longest, await measured(page, 'scrolled by the wheel', () => scroll(page, 100, 120)));
    longest = Math.max(longest, await measured(page, 'scrolled by screens', () => scroll(page, 100, 800)));
    expect(count).to.be.lessThan(3_000);
    expect(longest).to.be.at.most(MAX_FRAME_MS);
  });

  it('frames of the console hold with a turn of 1,000 events, while it streams', async () => {
    const gate = new Gate();
    const calls = Array.from({ length: STEPS }, (_, step) =>
      message(
        Array.from({ length: CALLS_OF_A_STEP }, (_, index) => toolUse('list_files', {}, { id: `t_${step}_${index}` })),
      ),
    );
    const words = 'All work and no **play** makes `Jack` a dull boy. '.repeat(150);
    system.model.on(/^Much/, steps(...calls, message([text(words, { every: 5, before: { 1: wait(gate) } })])));
    const sessionId = await system.session();
    await system.send(sessionId, 'Much to do');
    await gate.reached;
    const [{ count }]: [{ count: number }] = await system.db.query(
      'SELECT count(*)::integer FROM events WHERE session_id = $1',
      [sessionId],
    );
    const page = await browser.open(`/sessions/${sessionId}`, { viewport: DESKTOP });
    const opened = performance.now();
    await page
      .locator('.tool')
      .nth(SHOWN_STEPS - 2)
      .waitFor({ timeout: 60_000 });
    const seconds = ((performance.now() - opened) / 1_000).toFixed(1);
    console.log(`      ${count} events, shown after ${seconds} s, ${await nodes(page)} elements of the page`);
    let longest = await measured(page, 'while it streams', async () => {
      gate.open();
      await page.locator('.receipt').waitFor({ timeout: 300_000 });
    });
    await page.evaluate('scrollTo(0, 0)');
    longest = Math.max(longest, await measured(page, 'scrolled', () => scroll(page, 100, 300)));
    // Clicked within the page: to find the button by its role takes the browser longer than to show the steps.
    const more = await measured(page, 'while it shows earlier steps', () =>
      page.evaluate(`(async () => {
        const tools = document.getElementsByClassName('tool');
        for (let times = 0; times < 5; times += 1) {
          const before = tools.length;
          document.querySelector('.earlier').click();
          while (tools.length === before) await new Promise((resolve) => setTimeout(resolve, 50));
        }
      })()`),
    );
    longest = Math.max(longest, more);
    expect(count).to.be.greaterThan(950);
    expect(longest).to.be.at.most(MAX_FRAME_MS);
  });
});
