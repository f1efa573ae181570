import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { failure, Gate, steps, text, toolUse, wait } from '../support/scripted-model.js';
import { DESKTOP, inspect, PHONE, useConsole } from './use-console.js';

/** decisions.md "Messages while a turn runs" in the console: messages while a turn runs, what waits, and what comes after a turn that did not complete. */
describe('talking to a session in the console', function () {
  this.timeout(180_000);
  const { system, browser } = useConsole();

  const write = async (page: Page, content: string, button: string): Promise<void> => {
    await page.getByRole('textbox', { name: 'Message' }).fill(content);
    await page.getByRole('button', { name: button, exact: true }).click();
  };
  const ends = (page: Page, count: number): Promise<void> =>
    page
      .locator('.receipt')
      .nth(count - 1)
      .waitFor();
  const waiting = (page: Page) => page.getByRole('region', { name: 'What waits' }).getByRole('listitem');
  const said = (page: Page): Promise<string[]> => page.locator('.user-message .plain-text').allInnerTexts();

  it('talking to a session in the console steers the turn that runs, queues behind it, and withdraws', async () => {
    const gate = new Gate();
    system.model.on(
      /^Look/,
      steps([text('I look now', { before: { 2: wait(gate) } }), toolUse('list_files')], 'Seen.'),
    );
    system.model.on(/^In red/, 'Seen in red.');
    system.model.on(/^Then count/, 'One.');
    const page = await browser.open(`/sessions/${await system.session()}`, { viewport: PHONE });
    await write(page, 'Look', 'Send');
    await page.locator('.agent-text', { hasText: 'I look' }).waitFor();
    await write(page, 'In red', 'Steer');
    await write(page, 'Then count', 'Queue');
    await write(page, 'Never mind', 'Queue');
    await waiting(page).nth(2).waitFor();
    expect(await waiting(page).locator('.waiting-text').allInnerTexts()).to.deep.equal([
      'In red',
      'Then count',
      'Never mind',
    ]);
    await inspect(page, 'waiting-phone');
    await page.setViewportSize(DESKTOP);
    await waiting(page).first().getByText('for the next model call').waitFor();
    await inspect(page, 'waiting');
    await page.getByRole('button', { name: 'Withdraw Never mind' }).click();
    await waiting(page).nth(2).waitFor({ state: 'detached' });
    gate.open();
    await ends(page, 2);
    expect(await said(page)).to.deep.equal(['Look', 'In red', 'Then count']);
    await page.getByText('steers from model call 2').waitFor();
    expect(await waiting(page).count()).to.equal(0);
  });

  it('talking to a session in the console continues a turn that was cancelled, or releases what is held', async () => {
    system.model.on(/^Slowly/, text('Half never', { before: { 1: wait(600_000) } }));
    const sessionId = await system.session();
    const page = await browser.open(`/sessions/${sessionId}`, { viewport: PHONE });
    await write(page, 'Slowly', 'Send');
    await page.locator('.agent-text', { hasText: 'Half' }).waitFor();
    await write(page, 'Held', 'Queue');
    await waiting(page).first().waitFor();
    await page.getByRole('button', { name: 'Cancel turn' }).click();
    await page.getByText('these messages are held').waitFor();
    await inspect(page, 'held-phone');
    system.model.on(/^Slowly/, 'Whole.');
    system.model.on(/^Held/, 'Answered.');
    await page.getByRole('button', { name: 'Continue the turn' }).click();
    await ends(page, 3);
    await page.getByText('The agent goes on where the last turn stopped').waitFor();
    await page.locator('.agent-text', { hasText: 'Answered.' }).waitFor();

    system.model.on(/^Fail/, failure('invalid_request_error'));
    await write(page, 'Fail', 'Send');
    await page.locator('.receipt.failed').waitFor();
    await page.getByRole('button', { name: 'Continue the turn' }).waitFor();

    const gate = new Gate();
    system.model.on(/^Once/, [text('Half', { before: { 0: wait(gate) } })]);
    await write(page, 'Once', 'Send');
    await page.getByRole('button', { name: 'Cancel turn' }).waitFor();
    await write(page, 'Later', 'Queue');
    await waiting(page).first().waitFor();
    await page.getByRole('button', { name: 'Cancel turn' }).click();
    system.model.on(/^Later/, 'Now.');
    await page.getByRole('button', { name: 'Release' }).click();
    await page.locator('.agent-text', { hasText: 'Now.' }).waitFor();
    gate.open();
  });

  it('talking to a session in the console shows that the model is away, and when it is called again', async () => {
    let calls = 0;
    system.model.on(/^Patience/, () =>
      calls++ === 0 ? failure('overloaded_error', { headers: { 'retry-after-ms': '4000' } }) : text('At last.'),
    );
    const page = await browser.open(`/sessions/${await system.session()}`, { viewport: PHONE });
    await write(page, 'Patience', 'Send');
    await page.getByText('The model did not answer (once)').waitFor();
    await inspect(page, 'retry-phone');
    await page.locator('.agent-text', { hasText: 'At last.' }).waitFor();
    expect(await page.getByText('The model did not answer').count()).to.equal(0);
  });

  it('talking to a session in the console follows a turn whose message was sent while the history was read', async () => {
    let calls = 0;
    system.model.on(/^Early/, () =>
      calls++ === 0 ? failure('overloaded_error', { headers: { 'retry-after-ms': '4000' } }) : text('At last.'),
    );
    const page = await browser.open();
    const read = new Gate();
    await page.route('**/events?*', async (route) => {
      await read.opened;
      await route.continue();
    });
    await page.goto(page.url().replace(/#.*/, `#/sessions/${await system.session()}`));
    const sent = page.waitForResponse((response) => response.url().endsWith('/messages'));
    await write(page, 'Early', 'Send');
    await sent;
    read.open();
    // The stream alone has the notice: it is over before the session is polled.
    await page.getByText('The model did not answer (once)').waitFor();
    await page.locator('.agent-text', { hasText: 'At last.' }).waitFor();
  });

  it('talking to a session in the console finds sessions by text, status, metadata and the days of their creation, and keeps that in the address', async () => {
    system.model.on(/^Find/, 'Found.');
    const red = await system.session({ metadata: { title: 'The red one', team: 'red' } });
    await system.ended(await system.send(red, 'Find the RED needle'));
    const page = await browser.open('/sessions', { viewport: PHONE });
    const rows = page.getByRole('table', { name: 'Sessions' }).getByRole('link');
    await rows.first().waitFor();
    const all = await rows.count();
    await page.getByRole('searchbox').fill('red needle');
    await page.getByText('1 session', { exact: true }).waitFor();
    await page.waitForURL(/q=red/);
    await page.reload();
    await page.getByText('1 session', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Failed' }).click();
    await page.getByText('No session matches').waitFor();
    await page.getByRole('button', { name: 'Complete' }).click();
    await page.getByRole('button', { name: 'team: red' }).click();
    await page.getByRole('button', { name: /^team=red.*remove the filter/ }).click();
    await page.getByRole('searchbox').fill('');
    await page.getByRole('button', { name: 'All' }).click();
    await rows.nth(all - 1).waitFor();

    const today = new Date();
    const day = (days: number): string => {
      const date = new Date(today.getFullYear(), today.getMonth(), today.getDate() + days);
      return [date.getFullYear(), date.getMonth() + 1, date.getDate()].map((n) => String(n).padStart(2, '0')).join('-');
    };
    const filter = async (from: string, to: string): Promise<void> => {
      await page.locator('summary', { hasText: 'Filter' }).click();
      await page.getByLabel('Created from').fill(from);
      await page.getByLabel('to', { exact: true }).fill(to);
      await inspect(page, 'filters-phone');
      await page.getByRole('button', { name: 'Apply' }).click();
    };
    await filter(day(1), '');
    await page.getByText('No session matches').waitFor();
    await filter(day(-1), day(1));
    await rows.nth(all - 1).waitFor();
  });
});
