import { expect } from 'chai';
import type { ElicitResult } from '@modelcontextprotocol/sdk/types.js';
import type { Page } from 'playwright-core';
import type { TestTask, TestToolCall } from '../support/mcp-server.js';
import { steps, toolUse } from '../support/scripted-model.js';
import { DESKTOP, inspectSizes, useConsole } from './use-console.js';

const PROGRESS = 'Compiling 41 of 120 packages of the storefront, then its pictures';
const ADDRESS = `https://pay.example.com/checkout/${'a1b2c3d4'.repeat(12)}`;

/** contract.md §11 in the console: tasks, and servers that ask. */
describe('tasks and questions in the console', function () {
  this.timeout(180_000);
  const { system, browser } = useConsole();
  let serverId: string;
  let work: (task: TestTask) => unknown;
  let call: (call: TestToolCall) => unknown;
  before(async () => {
    Object.assign(system.mcp.options, {
      tasks: true,
      tools: [
        { name: 'build', pollInterval: 1000, task: (task: TestTask) => work(task) },
        { name: 'deploy', run: (one: TestToolCall) => call(one) },
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
});
