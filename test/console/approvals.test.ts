import { expect } from 'chai';
import { message, steps, toolUse } from '../support/scripted-model.js';
import { DESKTOP, inspect, inspectSizes, useConsole } from './use-console.js';

/** docs/decisions.md "Approvals" in the console. */
describe('approvals in the console', function () {
  this.timeout(180_000);
  const { system, browser } = useConsole();
  let serverId: string;
  const paid: unknown[] = [];
  before(async () => {
    system.mcp.options.tools = [
      {
        name: 'pay',
        title: 'Pay a bill',
        description: 'Pays.',
        annotations: { destructiveHint: true },
        inputSchema: {
          type: 'object',
          properties: { amount: { type: 'integer', title: 'Amount' }, note: { type: 'string', title: 'Note' } },
          required: ['amount'],
        },
        run: ({ arguments: input }) => (paid.push(input), 'Paid.'),
      },
      { name: 'look', annotations: { readOnlyHint: true } },
    ];
    const { body } = await system.insist('POST', '/v1/mcp-servers', { name: 'bank', url: system.mcp.url });
    serverId = body.id as string;
  });

  it('approvals in the console show what a tool may do, take another input from a form, show what changed, and are remembered until taken back', async () => {
    const pay = (amount: number, id: string) => toolUse('mcp__bank__pay', { amount, note: 'rent' }, { id });
    system.model.on(
      /^Go/,
      steps(
        message([pay(100, 'toolu_1'), toolUse('mcp__bank__look', {}, { id: 'toolu_2' })]),
        message([pay(5, 'toolu_3')]),
        'Done.',
      ),
    );
    const sessionId = await system.session({
      mcp_servers: [serverId],
      tools: [
        {
          type: 'mcp_toolset',
          mcp_server_id: serverId,
          default_config: { permission_policy: { type: 'always_ask' } },
        },
      ],
    });
    await system.send(sessionId, 'Go');
    const page = await browser.open(`/sessions/${sessionId}`, { viewport: DESKTOP });
    const form = (tool: string) => page.getByRole('form', { name: `Permission for mcp__bank__${tool}` });
    await form('pay').getByText('Pay a bill').waitFor();
    await form('pay').getByText('destructive').waitFor();
    await form('look').getByText('read only').waitFor();
    await form('look').getByRole('button', { name: 'Allow' }).click();
    await form('pay').getByRole('button', { name: 'Change the input' }).click();
    const amount = form('pay').getByLabel('Amount');
    expect(await amount.inputValue()).to.equal('100');
    await amount.fill('10');
    await inspectSizes(page, 'approval');
    await form('pay').getByRole('button', { name: 'Allow' }).click();
    // The next call of the tool asks again.
    await form('pay')
      .getByLabel(/Do not ask for this tool again/)
      .check();
    await form('pay').getByRole('button', { name: 'Allow' }).click();
    await page.locator('.receipt').filter({ hasText: 'Completed' }).waitFor();
    expect(paid).to.deep.equal([
      { amount: 10, note: 'rent' },
      { amount: 5, note: 'rent' },
    ]);
    const card = page.locator('#step-toolu_1');
    await card.locator('summary').click();
    expect((await card.locator('.changed-input').innerText()).replaceAll(/\s+/g, ' ')).to.include('amount 100 → 10');

    const of = async () => (await system.insist('GET', `/v1/sessions/${sessionId}`)).body.remembered_approvals;
    expect(await of()).to.have.length(1);
    await page.reload();
    const list = page.getByRole('list', { name: 'Allowed without asking' });
    await page.locator('.receipt').waitFor();
    await page.getByRole('button', { name: 'Details' }).click();
    await list.waitFor();
    await inspect(page, 'remembered');
    await list.getByRole('button', { name: /^Ask again/ }).click();
    await list.waitFor({ state: 'detached' });
    expect(await of()).to.deep.equal([]);
  });
});
