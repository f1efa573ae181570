import { expect } from 'chai';
import type { ElicitResult } from '@modelcontextprotocol/sdk/types.js';
import type { Page } from 'playwright-core';
import type { TestTask, TestToolCall } from '../support/mcp-server.js';
import { steps, toolUse } from '../support/scripted-model.js';
import { DESKTOP, inspect, inspectSizes, useConsole } from './use-console.js';

const PROGRESS = 'Compiling 41 of 120 packages of the storefront, then its pictures';
const ADDRESS = `https://pay.example.com/checkout/${'a1b2c3d4'.repeat(12)}`;

/** decisions.md "Tasks and elicitation" in the console: tasks, and servers that ask. */
describe('tasks and questions in the console', function () {
  this.timeout(180_000);
  const { system, browser } = useConsole();
  let serverId: string;
  let refunds = 0;
  let weighed = 0;
  let work: (task: TestTask) => unknown;
  let call: (call: TestToolCall) => unknown;
  before(async () => {
    Object.assign(system.mcp.options, {
      tasks: true,
      tools: [
        { name: 'build', pollInterval: 1000, task: (task: TestTask) => work(task) },
        { name: 'deploy', run: (one: TestToolCall) => call(one) },
        {
          name: 'weigh',
          inputSchema: { type: 'object', properties: { kg: { type: 'number' }, note: { type: 'string' } } },
          run: () => ((weighed += 1), 'Weighed. '.repeat(400)),
        },
        { name: 'refund', run: () => ((refunds += 1), 'Paid back.') },
      ],
    });
    const { body } = await system.insist('POST', '/v1/mcp-servers', { name: 'ops', url: system.mcp.url });
    serverId = body.id as string;
  });

  const start = async (tool: string): Promise<Page> => {
    system.model.on(/^Go/, steps([toolUse(`mcp__ops__${tool}`, { branch: 'main' }, { id: 'toolu_1' })], 'Done.'));
    const sessionId = await system.session({
      mcp_servers: [serverId],
      tools: [{ type: 'mcp_toolset', mcp_server_id: serverId, elicitation: true }],
    });
    await system.send(sessionId, 'Go');
    return browser.open(`/sessions/${sessionId}`, { viewport: DESKTOP });
  };
  const form = (page: Page) => page.getByRole('form', { name: /^Question of/ });
  const ended = (page: Page): Promise<void> => page.locator('.receipt').filter({ hasText: 'Completed' }).waitFor();

  it('tasks and questions in the console show the progress of a task while it runs', async () => {
    const begun = new Promise<TestTask>((resolve) => (work = resolve));
    const page = await start('build');
    const { update, end } = await begun;
    await update('working', PROGRESS);
    await page.locator('.tool').getByText(PROGRESS).waitFor();
    await inspectSizes(page, 'task');
    await end('completed', 'Built.');
    await ended(page);
    expect(await page.locator('.tool').getByText(PROGRESS).count()).to.equal(0);
  });

  it('tasks and questions in the console make a form from the schema, and send what the person fills in', async () => {
    const answered = new Promise<ElicitResult>((resolve) => {
      call = async ({ ask }) => {
        resolve(
          await ask({
            mode: 'form',
            message: 'Where does the release of the storefront go?',
            requestedSchema: {
              type: 'object',
              properties: {
                branch: { type: 'string', title: 'Branch', description: 'It must have passed its tests.' },
                region: { type: 'string', title: 'Region', enum: ['eu', 'us'], enumNames: ['Europe', 'United States'] },
                replicas: { type: 'integer', title: 'Replicas', minimum: 1, maximum: 9 },
                checks: {
                  type: 'array',
                  title: 'Checks before it',
                  items: { type: 'string', enum: ['smoke', 'load', 'links'] },
                },
                contact: { type: 'string', title: 'Contact', format: 'email' },
                labels: { type: 'array', title: 'Labels', items: { type: 'string', enum: ['a', 'b'] }, minItems: 1 },
                force: { type: 'boolean', title: 'Even if a check fails' },
              },
              required: ['branch', 'region', 'replicas'],
            },
          }),
        );
        return 'Deployed.';
      };
    });
    const page = await start('deploy');
    await form(page).getByText('Where does the release').waitFor();
    await inspectSizes(page, 'form');
    await form(page).getByLabel('Branch').fill('main');
    await form(page).getByLabel('Region').selectOption('Europe');
    await form(page).getByLabel('Replicas').fill('20');
    for (const check of ['links', 'load', 'smoke']) await form(page).getByLabel(check).check();
    await form(page).getByLabel('load').uncheck();
    await form(page).getByLabel('Even if a check fails').check();
    await form(page).getByRole('button', { name: 'Send' }).click();
    // The browser goes to the field that it refuses.
    await form(page).locator('input:invalid:focus').waitFor();
    expect(await form(page).getByRole('alert').count()).to.equal(0);
    await form(page).getByLabel('Replicas').fill('3');
    // An address for the browser, and none for the schema's format.
    await form(page).getByLabel('Contact').fill('ada@localhost');
    await form(page).getByRole('button', { name: 'Send' }).click();
    await form(page).getByRole('alert').waitFor();
    await inspectSizes(page, 'form-refused');
    await form(page).getByLabel('Contact').fill('');
    await form(page).getByRole('button', { name: 'Send' }).click();
    await ended(page);
    expect(await answered).to.deep.include({
      action: 'accept',
      content: { branch: 'main', region: 'eu', replicas: 3, checks: ['smoke', 'links'], force: true },
    });
    expect(await form(page).count()).to.equal(0);
  });

  it('tasks and questions in the console show the address that a person has to open', async () => {
    const answered = new Promise<ElicitResult>((resolve) => {
      work = async ({ update, ask, end }) => {
        await update('input_required', 'Waiting for the payment');
        resolve(await ask({ mode: 'url', message: 'Please pay.', elicitationId: 'p1', url: ADDRESS }));
        await update('working');
        await end('completed', 'Paid.');
      };
    });
    const page = await start('build');
    const link = form(page).getByRole('link', { name: ADDRESS });
    await link.waitFor();
    expect(await link.getAttribute('href')).to.equal(ADDRESS);
    expect(await link.getAttribute('rel')).to.contain('noopener');
    await inspectSizes(page, 'url');
    await form(page).getByRole('button', { name: 'I have opened it' }).click();
    await ended(page);
    expect(await answered).to.deep.include({ action: 'accept' });
  });

  it('the form to try a tool calls it by its button alone, keeps a number under the wheel, and shows the result', async () => {
    const page = await browser.open(`/mcp-servers/${serverId}`, { viewport: { width: 1440, height: 600 } });
    const tool = page.locator('.server-tool', { hasText: 'weigh' });
    await tool.locator('summary').first().click();
    await tool.getByText('The call is real').waitFor();
    const field = tool.getByLabel(/^kg/);
    await field.fill('2');
    await field.hover();
    await page.mouse.wheel(0, 200);
    await page.waitForFunction('scrollY > 0');
    expect(await field.inputValue()).to.equal('2');
    await field.press('Enter');
    await tool.getByLabel(/^note/).press('Enter');
    await tool.getByRole('button', { name: 'Call the tool' }).dblclick();
    const result = tool.getByRole('region', { name: 'Result' });
    await result.getByText('Weighed').waitFor();
    await page.waitForLoadState('networkidle');
    expect(weighed).to.equal(1);
    expect(system.mcp.calls.at(-1)!.arguments).to.deep.equal({ kg: 2 });
    const { y } = (await result.boundingBox())!;
    expect(y).to.be.within(-1, 500);
  });

  it('the list of sessions keeps its filter beside a session, and closes the filter by Escape and by a click elsewhere', async () => {
    await system.session({ metadata: { title: 'Of customer 41', customer: '41' } });
    const sessionId = await system.session({ metadata: { title: 'Of customer 42', customer: '42' } });
    const page = await browser.open('/sessions', { viewport: DESKTOP });
    const filter = page.getByRole('form', { name: 'More filters' });
    for (const close of [() => page.keyboard.press('Escape'), () => page.mouse.click(700, 700)]) {
      await page.locator('summary', { hasText: 'Filter' }).click();
      await filter.waitFor();
      await inspect(page, 'filter');
      await close();
      await filter.waitFor({ state: 'hidden' });
    }
    await page.locator('summary', { hasText: 'Filter' }).click();
    await filter.getByLabel('Metadata').fill('customer=42');
    await filter.getByRole('button', { name: 'Apply' }).click();
    await page.getByRole('link', { name: 'Of customer 41' }).waitFor({ state: 'detached' });
    await page.getByRole('link', { name: 'Of customer 42' }).click();
    const beside = page.getByRole('complementary', { name: 'Recent sessions' });
    await beside.getByText('customer=42').waitFor();
    await beside.getByRole('link', { name: /^Of customer 42/ }).waitFor();
    expect(await beside.locator('li').allInnerTexts()).to.have.length(1);
    expect(page.url()).to.contain(sessionId);
    await inspect(page, 'filtered-session');
    await page.getByRole('link', { name: 'Back to the list' }).click();
    await page.getByRole('link', { name: 'Of customer 42' }).waitFor();
    expect(page.url()).to.match(/#\/sessions\?metadata=customer%3D42$/);
  });

  describe('permissions in “Waiting for you”', () => {
    let page: Page;
    const turns: Awaited<ReturnType<typeof system.send>>[] = [];
    before(async () => {
      system.model.on(/^Pay/, steps(toolUse('mcp__ops__refund', { order: 'B-22', amount: 40 }), 'Done.'));
      const ask = { permission_policy: { type: 'always_ask' } };
      for (let order = 1; order <= 5; order += 1) {
        const sessionId = await system.session({
          metadata: { title: `Order ${order}` },
          mcp_servers: [serverId],
          tools: [{ type: 'mcp_toolset', mcp_server_id: serverId, default_config: ask }],
        });
        turns.push(await system.send(sessionId, 'Pay'));
      }
      page = await browser.open('/inbox', { viewport: DESKTOP });
      await page.locator('.open').nth(4).waitFor();
    });
    const allowed = () => page.locator('.open').filter({ hasText: 'Allowed: ops › refund runs now.' });
    const waiting = () => page.getByRole('button', { name: 'Allow', exact: true });
    /** What was sent to the service has been answered, and the list was read after it. */
    const settled = async (count: number): Promise<void> => {
      await allowed()
        .nth(count - 1)
        .waitFor();
      await page.waitForLoadState('networkidle');
      expect(await allowed().count()).to.equal(count);
      expect(await waiting().count()).to.equal(5 - count);
    };

    it('permissions in “Waiting for you” are given once by a double click, and the next card does not move', async () => {
      const titles = await page.locator('.open-session').allInnerTexts();
      const place = (await waiting().first().boundingBox())!;
      const [x, y] = [place.x + 10, place.y + 10];
      await page.mouse.click(x, y);
      await allowed().first().waitFor();
      await page.mouse.click(x, y);
      await settled(1);
      await page.mouse.dblclick(x, y);
      await settled(1);
      expect(await page.locator('.open-session').allInnerTexts()).to.deep.equal(titles);
      await inspect(page, 'inbox-allowed');
    });

    it('permissions in “Waiting for you” are given once by a held key, and one after the other by several presses', async () => {
      await page.keyboard.down('a');
      for (let repeat = 0; repeat < 5; repeat += 1) await page.keyboard.down('a');
      await page.keyboard.up('a');
      await settled(2);
      await page.keyboard.press('a');
      await page.keyboard.press('a');
      await settled(4);
      await page.keyboard.press('a');
      await page.getByText('Nothing waits for you').waitFor();
      await page.keyboard.press('a');
      await page.getByRole('button', { name: 'Hide 5 answered' }).click();
      await allowed().first().waitFor({ state: 'detached' });
      for (const turn of turns) await system.ended(turn);
      expect(refunds).to.equal(5);
    });
  });
});
