import { expect } from 'chai';
import { AgentSessionClient } from '../../client/src/index.js';
import { steps, toolUse } from '../support/scripted-model.js';
import { DESKTOP, inspectSizes, useConsole } from './use-console.js';

/** decisions.md "Keys, approvers, audit log" in the console. */
describe('administration in the console', function () {
  this.timeout(120_000);
  const { system, browser } = useConsole();
  let client: AgentSessionClient;
  before(() => {
    client = new AgentSessionClient({ baseUrl: system.apis[0]!.url, apiKey: system.key });
  });
  const open = (path: string) => browser.open(path, { viewport: DESKTOP });

  it('the console makes a key, shows it once, and revokes it with the keys that it made', async () => {
    const page = await open('/keys');
    await page.getByRole('link', { name: 'New key' }).click();
    await page.getByRole('textbox', { name: 'Name', exact: true }).fill('desk');
    await page.getByRole('checkbox', { name: 'keys:write' }).check();
    await inspectSizes(page, 'new-key');
    await page.getByRole('button', { name: 'Make key' }).click();
    const note = page.getByRole('status').filter({ hasText: 'Copy the key now' });
    const key = (await note.locator('code').textContent())!;
    expect(key).to.match(/^ask_/);
    const own = new AgentSessionClient({ baseUrl: system.apis[0]!.url, apiKey: key });
    const child = await own.createKey({ name: 'child', scopes: ['sessions:read'] });
    await page.getByRole('link', { name: 'Open the key' }).click();
    await page.getByRole('heading', { name: 'desk' }).waitFor();
    expect(await page.content()).to.not.include(key);
    await inspectSizes(page, 'key');
    await page.getByRole('button', { name: 'Revoke' }).click();
    await page.getByRole('dialog').getByLabel('also the keys that it made').check();
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
    await page.getByText('Revoked', { exact: true }).first().waitFor();
    expect((await client.getKey(child.id)).revoked_at).to.not.equal(null);
    await page.evaluate(`location.hash = '/keys'`);
    await page.getByRole('list', { name: 'Keys' }).getByRole('listitem').filter({ hasText: 'child' }).waitFor();
    await inspectSizes(page, 'keys');
    await page.close();
  });

  it('the console names who decides about a call, and lets nobody else answer', async () => {
    system.mcp.options.tools = [{ name: 'pay', run: () => 'Paid.' }];
    const server = await client.registerMcpServer({ name: 'bank', url: system.mcp.url });
    const page = await open(`/mcp-servers/${server.id}`);
    await page.getByText('Approvals in every session').click();
    await page.getByRole('checkbox', { name: 'pay' }).first().check();
    await page.getByLabel('Who decides about pay').fill('finance');
    await inspectSizes(page, 'required-approvals');
    await page
      .getByRole('group', { name: 'A person must allow' })
      .locator('..')
      .getByRole('button', { name: 'Save' })
      .click();
    await page.getByText('a person decides').waitFor();
    expect((await client.getMcpServer(server.id)).required_approvals).to.deep.equal([
      { name: 'pay', approvers: ['finance'] },
    ]);
    system.model.on(/^Pay/, steps(toolUse('mcp__bank__pay', {}), 'Done.'));
    const session = await client.createSession({ model_id: 'scripted', mcp_servers: [server.id] });
    await client.sendMessage(session.id, { content: 'Pay' });
    await page.evaluate(`location.hash = '/inbox'`);
    await page.getByText('You cannot answer this: finance does.').waitFor();
    expect(await page.getByRole('button', { name: 'Allow' }).count()).to.equal(0);
    await inspectSizes(page, 'not-an-approver');
    await page.keyboard.press('a');
    expect((await client.getSession(session.id)).required_actions).to.have.length(1);
    await client.cancelTurn(session.id);
    await page.close();
  });

  it('the console shows the audit log with its filters, and leads to what was changed', async () => {
    const { id } = await client.createKey({ name: 'watched', scopes: ['files:read'] }, { actingFor: 'ada' });
    const page = await open('/audit-log');
    const rows = page.getByRole('list', { name: 'Entries' }).getByRole('listitem');
    await rows.first().waitFor();
    await page.getByLabel('Person').fill('ada');
    await rows.filter({ hasText: 'createKey' }).filter({ hasText: 'ada' }).waitFor();
    await page.getByLabel('Outcome').selectOption('ok');
    await inspectSizes(page, 'audit-log');
    expect(page.url()).to.include('actor=ada');
    await rows.getByRole('link', { name: id }).click();
    await page.getByRole('heading', { name: 'watched' }).waitFor();
    await page.close();
  });
});
