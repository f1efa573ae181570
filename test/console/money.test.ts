import { expect } from 'chai';
import type { Page } from 'playwright-core';
import type { Turn } from '../support/fault-system.js';
import { budget, PRICE, tokens } from '../support/money.js';
import { failure, message, text, toolUse, wait } from '../support/scripted-model.js';
import { DESKTOP, inspectSizes, useConsole } from './use-console.js';

/** decisions.md "Money and models" in the console: budgets, fallback models, usage. */
describe('money in the console', function () {
  this.timeout(180_000);
  const { system, browser } = useConsole(() => ({
    price: PRICE,
    moreModels: [{ id: 'second', model: 'second-1' }],
  }));
  afterEach(() => system.model.reset());
  const form = (page: Page) => page.getByRole('form', { name: 'The budget is reached' });
  const press = (page: Page, name: string): Promise<void> => form(page).getByRole('button', { name }).click();
  const receipt = (page: Page, words: string): Promise<void> =>
    page.locator('.receipt').filter({ hasText: words }).waitFor();

  /** Its first call costs 0.3, the second one, behind the gate, does not fit. */
  const waiting = async (): Promise<{ page: Page; turn: Turn; open: () => void }> => {
    const gate = system.model.gate();
    const second = message([wait(gate), text('All of it is done.')], tokens(2));
    system.model.on(/^Spend/, ({ step }) =>
      step === 0 ? message([text('I look first.'), toolUse('list_files')], tokens(300)) : second,
    );
    const sessionId = await system.session({ budget: budget('0.5', 'pause'), metadata: { title: 'Night work' } });
    const turn = await system.send(sessionId, 'Spend what you need');
    const page = await browser.open(`/sessions/${sessionId}`, { viewport: DESKTOP });
    await form(page).waitFor();
    return { page, turn, open: gate.open };
  };

  it('money in the console show what a waiting budget has spent and has left, and let a person raise it', async () => {
    const { page, open } = await waiting();
    await form(page).getByText('0.3 USD of 0.5 USD is spent').waitFor();
    await form(page).getByText('does not fit into the 0.2 USD left').waitFor();
    await form(page)
      .getByText(/Without a decision it ends (in 24 hours|tomorrow)/)
      .waitFor();
    await page.getByText('$0.30 so far').waitFor();
    await page.getByText('budget $0.50, $0.20 left').waitFor();
    await page.locator('.status').getByText('Waiting for budget').waitFor();
    await inspectSizes(page, 'budget');

    // The browser goes to the field that it refuses.
    await form(page).getByLabel('At most, in USD').fill('a lot');
    await press(page, 'Raise the budget');
    await form(page).locator('input:invalid:focus').waitFor();
    expect(await form(page).getByRole('alert').count()).to.equal(0);
    await form(page).getByLabel('At most, in USD').fill('0');
    await press(page, 'Raise the budget');
    await form(page).getByRole('alert').getByText('/budget/max_cost/amount', { exact: true }).waitFor();
    await inspectSizes(page, 'budget-refused');
    await form(page).getByLabel('At most, in USD').fill('0.52');
    await press(page, 'Raise the budget');
    await form(page).getByRole('alert').getByText('needs more than that').waitFor();
    await form(page).getByText('0.3 USD of 0.52 USD is spent').waitFor();
    await form(page).getByLabel('At most, in USD').fill('1');
    await press(page, 'Raise the budget');
    // The call that follows has not streamed anything yet.
    await form(page).waitFor({ state: 'detached' });
    await page.getByText('Working', { exact: true }).waitFor();
    open();
    await receipt(page, '$0.30');
    await page.getByText('$0.30 so far').waitFor();
    await page.getByText('budget $1.00, $0.70 left').waitFor();
    await inspectSizes(page, 'budget-raised');
    await page.reload();
    await receipt(page, '$0.30');
    expect(await form(page).count()).to.equal(0);
  });

  it('money in the console let a person remove a budget', async () => {
    const { page, turn, open } = await waiting();
    open();
    await press(page, 'Remove the budget');
    await receipt(page, 'Completed');
    expect((await system.insist('GET', `/v1/sessions/${turn.sessionId}`)).body.budget).to.equal(null);
    expect(await page.getByText(/^budget /).count()).to.equal(0);
  });

  it('money in the console let a person end the turn, set another budget and go on', async () => {
    const { page, open } = await waiting();
    await press(page, 'End the turn');
    await receipt(page, 'Stopped at the budget');
    await page.locator('summary', { hasText: 'Budget' }).click();
    const settings = page.getByRole('form', { name: 'Budget of the session' });
    expect(await settings.getByLabel('A turn that reaches it').inputValue()).to.equal('stop');
    await settings.getByLabel('At most, in USD').fill('2');
    await inspectSizes(page, 'budget-settings');
    await settings.getByRole('button', { name: 'Save' }).click();
    await page.getByText('budget $2.00, $1.70 left').waitFor();
    open();
    await page.getByRole('button', { name: 'Continue' }).click();
    await receipt(page, 'Completed');
    await page.getByText('$0.30 so far').waitFor();
  });

  it('money in the console take away the question when somebody else has raised the budget', async () => {
    const { page, turn, open } = await waiting();
    await system.insist('PATCH', `/v1/sessions/${turn.sessionId}`, { budget: budget('3', 'pause') });
    await form(page).waitFor({ state: 'detached' });
    await page.getByText('budget $3.00, $2.70 left').waitFor();
    const late = await browser.open(`/sessions/${turn.sessionId}`);
    await late.getByText('Working', { exact: true }).waitFor();
    expect(await form(late).count()).to.equal(0);
    open();
    await receipt(page, 'Completed');
  });

  it('money in the console show that a turn goes on with another model, without the answer of the first', async () => {
    const gate = system.model.gate();
    system.model.on(
      ({ body, userText }) => /^Fall/.test(userText) && body.model === 'scripted-1',
      failure('invalid_request_error'),
    );
    system.model.on(
      ({ body, userText }) => /^Fall/.test(userText) && body.model === 'second-1',
      message([wait(gate), text('Here I am.')], tokens(2)),
    );
    const sessionId = await system.session({ fallback_model_ids: ['second'] });
    await system.send(sessionId, 'Fall back');
    const page = await browser.open(`/sessions/${sessionId}`, { viewport: DESKTOP });
    await page.getByText('scripted failed (model_error): the turn goes on with second').waitFor();
    gate.open();
    await receipt(page, 'Completed');
    await inspectSizes(page, 'fallback');
  });

  it('the usage view sums up by day, model, session and a key of the metadata', async () => {
    const key = await system.newKey('usage');
    system.model.on(/^Cost/, message([text('done')], tokens(250)));
    for (const metadata of [{ team: 'ops' }, { team: 'sales' }, {}]) {
      await system.ended(await system.send(await system.session({ metadata }, key), 'Cost something'));
    }
    const page = await browser.open('/usage', { key, viewport: DESKTOP });
    const rowOf = (name: RegExp): Promise<void> => page.getByRole('row', { name }).waitFor();
    await rowOf(/^20\d\d-\d\d-\d\d \$0\.75 3 /);
    await inspectSizes(page, 'usage-day');
    const by = page.getByRole('combobox', { name: 'By' });
    await by.selectOption('Model');
    await rowOf(/^scripted \$0\.75/);
    await by.selectOption('Session');
    await page
      .getByRole('row', { name: /^Cost something \$0\.25/ })
      .nth(2)
      .waitFor();
    await by.selectOption('Metadata');
    await page.getByLabel('Key').fill('team');
    await page.getByLabel('Key').press('Enter');
    for (const team of [/^ops \$0\.25/, /^sales \$0\.25/, /^without team \$0\.25/]) await rowOf(team);
    await inspectSizes(page, 'usage-metadata');
    await page.getByLabel('Key').fill('none');
    await page.getByLabel('Key').press('Enter');
    await rowOf(/^without none \$0\.75/);
  });
});
