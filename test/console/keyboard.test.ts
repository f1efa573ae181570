import { expect } from 'chai';
import { message, steps, text, toolUse } from '../support/scripted-model.js';
import { DESKTOP, useConsole } from './use-console.js';

/** What a person of the order desk (examples/order-desk) does, without a mouse. */
describe('the console by the keyboard alone', function () {
  this.timeout(180_000);
  const { system, browser } = useConsole();

  it('a person with the keyboard alone registers the shop, starts an order, decides about the refund, answers for the customer and takes the receipt', async () => {
    const refunds: unknown[] = [];
    system.mcp.options.tools = [
      { name: 'find_order', description: 'Finds an order.', run: () => '{"order":"B-22","paid":900}' },
      { name: 'refund_order', description: 'Pays back.', run: () => (refunds.push(1), 'Paid back.') },
    ];
    system.model.on(
      /refund of 900/,
      steps(
        message([text('I look first.'), toolUse('mcp__orders__find_order', { order: 'B-22' }, { id: 'toolu_find' })]),
        toolUse('mcp__orders__refund_order', { order: 'B-22', amount: 900 }, { id: 'toolu_refund' }),
        toolUse('notify_customer', { order: 'B-22', text: 'We have decided.' }, { id: 'toolu_notify' }),
        toolUse('deliver_file', { filename: 'receipt-B-22.txt', content: 'Order B-22, refund 900' }),
        'Done.',
      ),
    );
    const page = await browser.open('/sessions', { viewport: DESKTOP });
    const press = (key: string): Promise<void> => page.keyboard.press(key);
    const type = (words: string): Promise<void> => page.keyboard.type(words);
    const focus = (): Promise<string> =>
      page.evaluate(`(() => {
        const at = document.activeElement;
        const label = at.labels?.[0]?.innerText ?? at.getAttribute('aria-label') ?? at.innerText ?? '';
        return label.replace(/\\s+/g, ' ').trim();
      })()`);
    /** Moves by Tab until what has the focus is called so. */
    const tabTo = async (name: RegExp): Promise<void> => {
      for (let presses = 0; presses < 60; presses += 1) {
        await press('Tab');
        if (name.test(await focus())) return;
      }
      throw new Error(`the focus never reached ${name}: it is at “${await focus()}”`);
    };
    const heading = (name: string): Promise<void> => page.getByRole('heading', { name, exact: true }).waitFor();
    const goTo = async (place: string, title: string): Promise<void> => {
      await press('Control+k');
      await type(place);
      await press('Enter');
      await heading(title);
    };

    await goTo('MCP servers', 'MCP servers');
    await tabTo(/^Register/);
    await press('Enter');
    await heading('Register an MCP server');
    await tabTo(/^Name/);
    await type('orders');
    await tabTo(/^Address/);
    await type(system.mcp.url);
    await press('Enter');
    await heading('orders');

    await tabTo(/^Try it in a session/);
    await press('Enter');
    await heading('New session');
    await page.getByText('Permissions of orders').waitFor();
    await tabTo(/^Title/);
    await type('Refund of B-22');
    await tabTo(/^Permissions of orders/);
    await press('Enter');
    await tabTo(/^refund_order/);
    await press('Space');
    await tabTo(/^Custom tools/);
    await press('Enter');
    await tabTo(/^Tools as JSON/);
    await type('{"name":"notify_customer","description":"Writes to a customer.","input_schema":{"type":"object"}}');
    await tabTo(/^Create session/);
    await press('Enter');
    await heading('Refund of B-22');

    await page.getByText('Nothing has been said yet').waitFor();
    await press('c');
    await type('Ada asks for a refund of 900 for order B-22.');
    await press('Enter');

    const confirmation = page.getByRole('form', { name: 'Permission for mcp__orders__refund_order' });
    await confirmation.waitFor();
    await press('Escape');
    await press('i');
    await heading('Waiting for you');
    await page.getByRole('listitem').filter({ hasText: 'orders › refund_order' }).waitFor();
    expect(refunds).to.deep.equal([]);
    await press('a');

    const call = page.getByRole('form', { name: 'Result of notify_customer' });
    await call.waitFor();
    expect(refunds).to.have.length(1);
    await tabTo(/^Result of notify_customer/);
    await type('Sent.');
    await tabTo(/^Send the result/);
    await press('Enter');
    await page.getByText('Nothing waits for you').waitFor();

    await press('s');
    await heading('Sessions');
    await page.getByRole('row', { name: /Complete Refund of B-22/ }).waitFor();
    await press('j');
    await press('Enter');
    await heading('Refund of B-22');
    await page.locator('.receipt').filter({ hasText: 'Completed' }).waitFor();
    await tabTo(/^Download receipt-B-22\.txt/);
    const [download] = await Promise.all([page.waitForEvent('download'), press('Enter')]);
    expect(download.suggestedFilename()).to.equal('receipt-B-22.txt');
  });
});
