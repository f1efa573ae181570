import { expect } from 'chai';
import { mkdirSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { accessibilityFindings } from '../support/browser/console.js';
import { budget, PRICE, tokens } from '../support/money.js';
import { failure, Gate, message, steps, text, thinking, toolUse, wait } from '../support/scripted-model.js';
import { useWebhookReceiver } from '../support/use.js';
import { PHONE, useConsole } from './use-console.js';

const DESKTOP = { width: 1440, height: 900 };

const THOUGHT = 'The list has five orders. Two of them are older than three days and not shipped yet.';
const ANSWER = [
  'Two of five orders are **late**. I put the whole list into `orders.csv`.',
  '| Order | Since | State |\n|---|---:|---|\n| 4711 | 5 days | waiting for parts |\n| 4718 | 4 days | address unclear |',
  '```sql\nselect number, state from orders where shipped_at is null;\n```',
].join('\n\n');

/** Every view with something in it, in both themes and two sizes. The pictures are in CONSOLE_VIEWS. */
describe('the views of the console', function () {
  this.timeout(600_000);
  const receiver = useWebhookReceiver();
  const { system, browser } = useConsole(() => ({
    price: PRICE,
    moreModels: [{ id: 'second', model: 'second-1' }],
    env: { TEMPORAL_UI_URL: 'http://temporal.example.com', WEBHOOK_DELIVERIES: 'on' },
    allowedHosts: [receiver.host],
  }));
  const folder = process.env.CONSOLE_VIEWS ?? join(tmpdir(), 'console-pictures');
  let views: Record<string, string>;
  const gate = new Gate();

  before(async () => {
    mkdirSync(folder, { recursive: true });
    system.mcp.options.tools = [
      { name: 'late_orders', description: 'Lists the orders that are late.', run: () => '[{"number":4711,"days":5}]' },
      { name: 'refund', description: 'Pays an order back.', run: () => 'Paid back.' },
    ];
    const { body: server } = await system.insist('POST', '/v1/mcp-servers', { name: 'orders', url: system.mcp.url });
    const ask = { permission_policy: { type: 'always_ask' } };
    const tools = [
      { type: 'mcp_toolset', mcp_server_id: server.id, configs: [{ name: 'refund', ...ask }] },
      {
        type: 'custom',
        name: 'look_up_customer',
        description: 'Finds a customer by the number of an order.',
        input_schema: { type: 'object', properties: { order: { type: 'string' } } },
      },
    ];
    const session = (title: string, more: object = {}): Promise<string> =>
      system.session({ metadata: { title, team: 'support' }, mcp_servers: [server.id], tools, ...more });

    const report = toolUse('deliver_file', { filename: 'orders.csv', content: 'order,state\n4711,shipped\n' });
    system.model.on(
      /^Which orders/,
      steps(
        message(
          [thinking(THOUGHT), toolUse('mcp__orders__late_orders', { days: 3 }, { id: 'toolu_late' })],
          tokens(40),
        ),
        message([text('I write the list.'), report], tokens(30)),
        message([text(ANSWER)], tokens(20)),
      ),
    );
    const done = await session('Late orders', { instruction: 'You help a shop.' });
    await system.ended(await system.send(done, 'Which orders are late? Please give me a file as well.'));
    system.model.on(/^Fail/, failure('invalid_request_error', { message: 'That cannot be answered.' }));
    await system.ended(await system.send(await session('An order that fails'), 'Fail at once, please'));
    system.model.on(
      /^Refund/,
      steps(
        message(
          [toolUse('mcp__orders__refund', { order: '4711', amount: '49.90' }, { id: 'toolu_refund' })],
          tokens(25),
        ),
        'Done.',
      ),
    );
    const waiting = await session('Refund of 4711');
    await system.send(waiting, 'Refund the order 4711');
    system.model.on(
      /^Who/,
      steps(message([toolUse('look_up_customer', { order: '4718' }, { id: 'toolu_who' })], tokens(9)), 'Done.'),
    );
    await system.send(await session('Customer of 4718'), 'Who ordered 4718?');
    system.model.on(/^Spend/, ({ step }) =>
      step === 0
        ? message([text('I look first.'), toolUse('list_files')], tokens(300))
        : message([text('All is done.')], tokens(300)),
    );
    await system.send(await session('Night work', { budget: budget('0.5', 'pause') }), 'Spend what you need');
    system.model.on(
      /^And what/,
      message([text('I look into the two **late orders** first, then', { before: { 8: wait(gate) } })], tokens(3)),
    );
    const live = await session('A live conversation');
    system.model.on(/^Hello/, message([text('Good morning.')], tokens(8)));
    await system.ended(await system.send(live, 'Hello'));
    await system.send(live, 'And what do I tell the customers?');
    const { body: schedule } = await system.insist('POST', '/v1/schedules', {
      name: 'Daily report',
      cron: '0 8 * * MON-FRI',
      timezone: 'Europe/Berlin',
      target: { type: 'existing_session', session_id: done },
      message: { content: 'Hello' },
    });
    const { body: webhook } = await system.insist('POST', '/v1/webhooks', {
      url: receiver.url,
      description: 'Tickets',
      event_types: ['turn.completed', 'turn.failed'],
    });
    await system.insist('POST', `/v1/webhooks/${webhook.id}/test`, {});
    await system.ended(await system.send(done, 'Hello again'));
    const { body: calendar } = await system.insist('POST', '/v1/mcp-servers', {
      ...{ name: 'calendar', url: `${system.mcp.url}?calendar`, credentials: 'user' },
    });
    for (const user of ['jane@example.com', 'max@example.com']) {
      const auth = { type: 'BEARER', token: 'secret' };
      await system.insist('POST', '/v1/credentials', { mcp_server_id: calendar.id, user, auth });
    }
    const { body: fork } = await system.insist('POST', `/v1/sessions/${done}/fork`, {});
    views = {
      sessions: '/sessions',
      'new-session': `/sessions/new?like=${done}`,
      conversation: `/sessions/${done}`,
      waiting: `/sessions/${waiting}`,
      live: `/sessions/${live}`,
      fork: `/sessions/${fork.id}`,
      connections: '/connections',
      'new-connection': '/connections/new',
      inbox: '/inbox',
      usage: '/usage?time=7',
      files: '/files',
      skills: '/skills',
      'mcp-servers': '/mcp-servers',
      'new-mcp-server': '/mcp-servers/new',
      'mcp-server': `/mcp-servers/${server.id}`,
      schedules: '/schedules',
      'new-schedule': '/schedules/new',
      schedule: `/schedules/${schedule.id}`,
      webhooks: '/webhooks',
      'new-webhook': '/webhooks/new',
      webhook: `/webhooks/${webhook.id}`,
      unknown: '/nowhere',
    };
  });
  after(() => gate.open());

  const show = async (page: Page, path: string): Promise<void> => {
    await page.goto(page.url().replace(/#.*/, `#${path}`));
    await page.waitForLoadState('networkidle').catch(() => undefined);
    await page.locator('main h1').first().waitFor();
    await page.waitForTimeout(400);
  };

  for (const colorScheme of ['light', 'dark'] as const) {
    for (const [size, viewport] of [
      ['phone', { ...PHONE, width: 390 }],
      ['desktop', DESKTOP],
    ] as const) {
      it(`the views of the console fit the window and have no serious findings of axe-core, ${colorScheme}, ${size}`, async () => {
        const page = await browser.open('/sessions', { colorScheme, viewport, reducedMotion: 'reduce' });
        const found: string[] = [];
        const only = process.env.ONLY_VIEWS?.split(',');
        for (const [name, path] of Object.entries(views)) {
          if (only !== undefined && !only.includes(name)) continue;
          await show(page, path);
          const width: number = await page.evaluate('document.documentElement.scrollWidth');
          if (width > viewport.width) found.push(`${name} is ${width} pixels wide`);
          found.push(...(await accessibilityFindings(page)).map((finding) => `${name} ${finding}`));
          await page.screenshot({ path: join(folder, `${name}-${colorScheme}-${size}.png`) });
        }
        expect(found).to.deep.equal([]);
        expect(statSync(join(folder, `sessions-${colorScheme}-${size}.png`)).size).to.be.greaterThan(10_000);
      });
    }
  }
});
