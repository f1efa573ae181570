import { expect } from 'chai';
import { statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Locator, Page } from 'playwright-core';
import { accessibilityFindings } from '../support/browser/console.js';
import { failure, Gate, message, steps, text, thinking, toolUse, wait } from '../support/scripted-model.js';
import { startOauthPair } from '../support/oauth-server.js';
import { use, useWebhookReceiver } from '../support/use.js';
import { verifies } from '../support/webhook-receiver.js';
import { inspectSizes, PHONE, useConsole } from './use-console.js';

const RICH_TEXT = [
  '# Heading\n\nText with `code`, **bold** and [a link](https://example.com).',
  '- one\n- two\n\n1. first\n2. second\n\n- [x] done\n- [ ] open',
  '```js\nconst long = "a line of code that is too long for the width of a phone, and scrolls in its own box";\n```',
  '| Name | Amount |\n|---|---:|\n| A | 1 |\n\n> Quote',
].join('\n\n');

const PICTURE_THOUGHT = 'The list has five orders. Two of them are older than three days and not shipped yet.';
const PICTURE_TEXT = [
  'Two of five orders are **late**. I put the whole list into `orders.csv`.',
  '| Order | Since | State |\n|---|---:|---|\n| 4711 | 5 days | waiting for parts |\n| 4718 | 4 days | address unclear |',
].join('\n\n');

/** Adds up the layout shifts of the page (web.dev/cls) in `shift`. */
const OBSERVE_SHIFTS = `
  globalThis.shift = 0;
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) shift += entry.value;
  }).observe({ type: 'layout-shift' });
`;

describe('the console in a browser', function () {
  this.timeout(180_000);
  const receiver = useWebhookReceiver();
  const guarded = use(
    () => startOauthPair([{ name: 'search', description: 'Searches the archive' }]),
    (pair) => pair.close(),
  );
  const { system, browser } = useConsole(() => ({
    price: { currency: 'USD', input: 3, output: 15, cache_read: 0.3, cache_write: 3.75 },
    env: { TEMPORAL_UI_URL: 'http://temporal.example.com', WEBHOOK_DELIVERIES: 'on' },
    allowedHosts: [receiver.host, ...guarded.hosts],
  }));

  /** Opens a new session in the console. */
  const openSession = async (body?: Record<string, unknown>): Promise<Page> =>
    browser.open(`/sessions/${await system.session(body)}`);
  const send = async (page: Page, content: string): Promise<void> => {
    await page.getByRole('textbox', { name: 'Message' }).fill(content);
    await page.getByRole('button', { name: 'Send', exact: true }).click();
  };
  const ended = (page: Page, how = 'Completed'): Promise<void> =>
    page.locator('.receipt').filter({ hasText: how }).last().waitFor();
  const agentText = (page: Page): Promise<string[]> => page.locator('.agent-text .markdown').allInnerTexts();

  describe('signing in', () => {
    it('signing in takes the key from the fragment, and removes it from the address', async () => {
      const page = await browser.open();
      await page.getByRole('heading', { name: 'Sessions' }).waitFor();
      expect(page.url()).to.not.contain(system.key);
      await page.reload();
      await page.getByRole('heading', { name: 'Sessions' }).waitFor();
    });

    it('signing in asks before the key of a link replaces another one, and keeps the old one unless confirmed', async () => {
      const page = await browser.open();
      const open = async (): Promise<void> => {
        await page.evaluate(`location.hash = '#key=ask_of-somebody-else'`);
        await page.getByRole('heading', { name: 'Sign in with the key of a link?' }).waitFor();
        await page.getByText('ask_of-somebody-else').waitFor();
      };
      await open();
      expect(page.url()).to.not.contain('ask_of-somebody-else');
      expect(await accessibilityFindings(page)).to.deep.equal([]);
      await page.getByRole('button', { name: 'Keep my key' }).click();
      await page.getByRole('heading', { name: 'Sessions' }).waitFor();
      await open();
      await page.reload();
      await page.getByRole('heading', { name: 'Sessions' }).waitFor();
      await open();
      await page.getByRole('button', { name: 'Use the key of the link' }).click();
      await page.getByRole('alert').filter({ hasText: 'does not accept this key' }).waitFor();
    });

    it('signing in takes a typed key, and reports one that the service refuses', async () => {
      const page = await browser.open('/sessions', { key: null });
      const field = page.getByLabel('API key');
      await field.fill('ask_wrong');
      await page.keyboard.press('Enter');
      await page.getByRole('alert').filter({ hasText: 'does not accept this key' }).waitFor();
      await field.fill(system.key);
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { name: 'Sessions' }).waitFor();
      await page.getByRole('button', { name: 'Sign out' }).click();
      await field.waitFor();
    });
  });

  describe('a conversation', () => {
    it('the console creates a session, sends, and shows text before the turn has ended', async () => {
      const gate = new Gate();
      system.model.on(
        /^Tell me/,
        message([thinking('A short story.'), text('Once upon a **time** the end', { before: { 4: wait(gate) } })]),
      );
      const page = await browser.open('/sessions/new');
      await page.getByLabel('Title').fill('Stories');
      await page.getByLabel('Instruction').fill('You tell stories.');
      await page.getByRole('button', { name: 'Create session' }).click();
      await page.getByRole('heading', { name: 'Stories' }).waitFor();
      await page.getByText('Nothing has been said yet').waitFor();
      await send(page, 'Tell me a story');
      await page.locator('.agent-text', { hasText: 'Once upon a time' }).waitFor();
      expect(await page.locator('.receipt').count()).to.equal(0);
      gate.open();
      await ended(page);
      expect(await agentText(page)).to.deep.equal(['Once upon a time the end']);
      expect(await page.locator('.agent-text strong').innerText()).to.equal('time');
      await page.getByText('A short story.').first().waitFor();
      await page.getByRole('img', { name: /^Time: .*model/ }).waitFor();
      await page
        .getByRole('figure', { name: /^Timeline of the turn/ })
        .getByRole('button', { name: /^scripted/ })
        .waitFor();
      const link = await page.getByRole('link', { name: 'Workflow in Temporal' }).getAttribute('href');
      expect(link).to.match(/^http:\/\/temporal\.example\.com\/namespaces\/default\/workflows\/turn_\w+$/);
      await page.goto(page.url().replace(/#.*/, '#/sessions'));
      await page.getByRole('row', { name: /Complete Stories/ }).waitFor();
    });

    it('a conversation cancels a turn', async () => {
      system.model.on(/^Take your time/, text('Slowly never', { before: { 1: wait(600_000) } }));
      const page = await openSession();
      await send(page, 'Take your time');
      await page.locator('.agent-text', { hasText: 'Slowly' }).waitFor();
      await page.getByRole('button', { name: 'Cancel turn' }).click();
      await ended(page, 'Cancelled');
      await page.getByText('The message was cut off here').waitFor();
      await page.getByRole('button', { name: 'Send', exact: true }).waitFor();
    });

    it('a conversation shows why a turn failed', async () => {
      system.model.on(/^Fail/, failure('invalid_request_error', { message: 'That cannot be answered.' }));
      const page = await openSession();
      await send(page, 'Fail');
      await ended(page, 'Failed');
      await page.locator('.receipt').getByText('model_error').waitFor();
      await page.locator('.receipt').getByText('That cannot be answered.').waitFor();
    });

    it('a conversation loses nothing and shows nothing twice over a reload in mid-turn', async () => {
      const gate = new Gate();
      system.model.on(/^Count/, text('one two three four', { before: { 2: wait(gate) } }));
      const page = await openSession();
      await send(page, 'Count');
      await page.locator('.agent-text', { hasText: 'one two' }).waitFor();
      await page.getByRole('textbox', { name: 'Message' }).fill('not sent yet');
      await page.reload();
      await page.locator('.agent-text', { hasText: 'one two' }).waitFor();
      expect(await page.locator('.user-message').count()).to.equal(1);
      expect(await page.getByRole('textbox', { name: 'Message' }).inputValue()).to.equal('not sent yet');
      gate.open();
      await ended(page);
      expect(await agentText(page)).to.deep.equal(['one two three four']);
    });

    it('a conversation goes on after a lost connection', async () => {
      const [reached, gate] = [new Gate(), new Gate()];
      const before = { 1: wait(reached), 3: wait(gate) };
      system.model.on(/^Spell/, text('alpha beta gamma delta', { before }));
      const page = await openSession();
      await send(page, 'Spell');
      await page.locator('.agent-text', { hasText: 'alpha' }).waitFor();
      const stream = page.waitForEvent('requestfailed', (request) => request.url().endsWith('/stream'));
      await page.context().setOffline(true);
      await system.apis[0]!.stop();
      await stream;
      reached.open();
      await page.getByText('The service does not answer').waitFor();
      await system.apis[0]!.start();
      await page.context().setOffline(false);
      await page.locator('.agent-text', { hasText: 'alpha beta gamma' }).waitFor();
      gate.open();
      await ended(page);
      expect(await agentText(page)).to.deep.equal(['alpha beta gamma delta']);
    });

    it('a conversation goes on when the service is killed and started again in mid-turn', async () => {
      let calls = 0;
      const gate = new Gate();
      // The first call dies with its worker: its text is replaced by the second one's.
      system.model.on(/^Survive/, () =>
        calls++ === 0
          ? text('Half an answer', { before: { 2: wait(600_000) } })
          : text('A whole answer', { before: { 2: wait(gate) } }),
      );
      const page = await openSession();
      await send(page, 'Survive');
      await page.locator('.agent-text', { hasText: 'Half an' }).waitFor();
      const [api, worker] = [system.apis[0]!, system.workers[0]!];
      await Promise.all([api.kill(), worker.kill()]);
      await page.getByText('The service does not answer').waitFor();
      await Promise.all([api.start(), worker.start()]);
      await page.locator('.agent-text', { hasText: 'A whole' }).waitFor({ timeout: 60_000 });
      expect(await agentText(page)).to.deep.equal(['A whole']);
      gate.open();
      await ended(page);
      expect(await agentText(page)).to.deep.equal(['A whole answer']);
      expect(await page.locator('.user-message').count()).to.equal(1);
    });

    it('a conversation shows turns that somebody else starts', async () => {
      system.model.on(/^From elsewhere/, 'Answered');
      const sessionId = await system.session();
      const page = await browser.open(`/sessions/${sessionId}`);
      await page.getByText('Nothing has been said yet').waitFor();
      await system.send(sessionId, 'From elsewhere');
      await ended(page);
      expect(await agentText(page)).to.deep.equal(['Answered']);
    });

    it('a conversation renders hostile Markdown as text', async () => {
      const hostile = [
        '<img src="https://evil.example.com/x.png" onerror="document.title=1"><script>document.title=2</script>',
        '[a](javascript:alert(1)) ![b](https://evil.example.com/y.png) [c](https://example.com/c)',
        '| <b>h</b> | i |\n|---|---|\n| `<i>` | &lt;u&gt; |',
      ].join('\n\n');
      system.model.on(/^Attack/, hostile);
      const page = await openSession();
      await send(page, 'Attack');
      await ended(page);
      const answer = page.locator('.agent-text');
      expect(await answer.locator('img, script, b, i, u').count()).to.equal(0);
      expect(
        await answer
          .locator('a')
          .evaluateAll((links) =>
            links.map((link) => (link as unknown as { getAttribute(name: string): string }).getAttribute('href')),
          ),
      ).to.deep.equal(['https://evil.example.com/y.png', 'https://example.com/c']);
      expect(await answer.locator('a').first().getAttribute('rel')).to.contain('noopener');
      expect(await answer.innerText())
        .to.contain('<script>')
        .and.contain('<i>')
        .and.contain('<u>');
    });

    it('a conversation does not move what is read while text streams', async () => {
      const gate = new Gate();
      const paragraphs = 'All work and no play makes Jack a dull boy. '.repeat(120);
      system.model.on(
        /^Go on/,
        message([thinking('Hm.'), text(paragraphs, { every: 2, before: { 600: wait(gate) } })]),
      );
      const page = await openSession();
      await page.evaluate(OBSERVE_SHIFTS);
      await send(page, 'Go on');
      await gate.reached;
      await page.evaluate('scrollTo(0, 0)');
      gate.open();
      await ended(page);
      expect(await page.evaluate('scrollY')).to.equal(0);
      const shift = await page.evaluate('shift');
      expect(shift).to.be.lessThan(0.1);
    });
  });

  describe('files, skills and tools', () => {
    it('the console attaches an uploaded file, and downloads a delivered one', async () => {
      const call = toolUse('deliver_file', { filename: 'täst.txt', content: 'Delivered content' });
      system.model.on(/^Deliver/, steps(call, 'Done'));
      const page = await openSession();
      await page.getByLabel('Attach files').setInputFiles({
        ...{ name: 'notes.txt', mimeType: 'text/plain' },
        buffer: Buffer.from('Attached content'),
      });
      await page.getByRole('button', { name: 'Remove notes.txt' }).waitFor();
      await send(page, 'Deliver');
      await ended(page);
      await page.locator('.user-message').getByRole('button', { name: 'Download notes.txt' }).waitFor();
      const [download] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('button', { name: 'Download täst.txt' }).click(),
      ]);
      expect(download.suggestedFilename()).to.equal('täst.txt');
      const chunks: Buffer[] = [];
      for await (const chunk of await download.createReadStream()) chunks.push(chunk as Buffer);
      expect(Buffer.concat(chunks).toString()).to.equal('Delivered content');
    });

    it('the console attaches a file of the project, once', async () => {
      system.model.on(/^Read it/, 'Read');
      const page = await browser.open('/files');
      const file = { name: 'plan.txt', mimeType: 'text/plain', buffer: Buffer.from('The plan') };
      await page.getByLabel('Upload a file').setInputFiles(file);
      await page.getByRole('listitem').filter({ hasText: 'plan.txt' }).waitFor();
      await page.goto(page.url().replace(/#.*/, `#/sessions/${await system.session()}`));
      await page.getByText('Project files', { exact: true }).click();
      await page.getByRole('button', { name: 'Attach plan.txt' }).click();
      expect(await page.getByRole('button', { name: 'Attach plan.txt' }).isDisabled()).to.equal(true);
      await page.getByRole('button', { name: 'Remove plan.txt' }).waitFor();
      await page.getByText('Project files', { exact: true }).click();
      await send(page, 'Read it');
      await ended(page);
      await page.locator('.user-message').getByRole('button', { name: 'Download plan.txt' }).waitFor();
    });

    it('the console uploads, lists and deletes files', async () => {
      const page = await browser.open('/files');
      const buffer = Buffer.alloc(3_000_000, 'x');
      await page.getByLabel('Upload a file').setInputFiles({ name: 'big.bin', mimeType: 'text/plain', buffer });
      const row = page.getByRole('listitem').filter({ hasText: 'big.bin' });
      await row.getByText('3.0 MB').waitFor();
      await row.getByRole('button', { name: 'Delete' }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
      await row.waitFor({ state: 'detached' });
    });

    it('the console uploads a skill, shows why another one is refused, and selects one for a message', async () => {
      const page = await browser.open('/skills');
      const upload = (content: string): Promise<void> =>
        page.getByLabel('Upload a skill').setInputFiles({
          ...{ name: 'SKILL.md', mimeType: 'text/markdown' },
          buffer: Buffer.from(content),
        });
      await upload('no frontmatter');
      await page.getByRole('alert').filter({ hasText: 'invalid_skill_bundle' }).waitFor();
      await upload('---\nname: haiku\ndescription: Writes haikus\n---\nFive, seven, five.');
      const row = page.getByRole('listitem').filter({ hasText: 'Writes haikus' });
      await row.getByRole('button', { name: 'Files of haiku' }).click();
      await row.getByText('Five, seven, five.').waitFor();
      await inspectSizes(page, 'skill-files');

      const sessionId = await system.session();
      await page.goto(page.url().replace(/#.*/, `#/sessions/${sessionId}`));
      await page.getByText('Skills', { exact: true }).last().click();
      await page.getByRole('checkbox', { name: /haiku/ }).check();
      await send(page, 'Write one');
      await ended(page);
      await page.locator('.user-message').getByText('skill haiku').waitFor();
    });

    it('the console registers an MCP server with the reason when it fails, probes it, and shows its calls as cards', async () => {
      const page = await browser.open('/mcp-servers/new');
      await page.getByLabel('Name').fill('weather');
      await page.getByLabel('Address').fill('http://127.0.0.1:9/mcp');
      await page.getByRole('button', { name: 'Register' }).click();
      await page.getByRole('alert').filter({ hasText: 'invalid_mcp_server_url' }).waitFor();
      await page.getByRole('alert').getByText(/^req_/).waitFor();

      system.mcp.options.tools = [
        {
          name: 'forecast',
          description: 'Tells the weather',
          inputSchema: {
            type: 'object',
            properties: { city: { type: 'string', title: 'City' }, days: { type: 'integer' } },
            required: ['city'],
          },
          run: () => 'Sunny',
        },
        { name: 'broken', run: () => ({ isError: true, content: [{ type: 'text', text: 'Out of order' }] }) },
      ];
      await page.getByLabel('Address').fill(system.mcp.url);
      await page.getByRole('button', { name: 'Register' }).click();
      await page.getByRole('heading', { name: 'weather' }).waitFor();
      await page.getByText('Tells the weather').waitFor();
      await page.getByRole('button', { name: 'Probe' }).click();
      await page.getByText('The server has 2 tools').waitFor({ state: 'attached' });

      const tool = page.locator('.server-tool', { hasText: 'forecast' });
      await tool.locator('summary').first().click();
      await tool.getByRole('tab', { name: 'Input schema' }).click();
      await tool.getByText('"required"').waitFor();
      await tool.getByRole('tab', { name: 'Try it' }).click();
      await tool.getByLabel('City').fill('Bern');
      await tool.getByLabel('days (optional)').fill('3');
      await tool.getByRole('button', { name: 'Call the tool' }).click();
      await tool.getByRole('region', { name: 'Result' }).getByText('Sunny').waitFor();
      expect(system.mcp.calls.at(-1)!.arguments).to.deep.equal({ city: 'Bern', days: 3 });
      await tool.getByRole('button', { name: 'Enter JSON' }).click();
      await tool.getByLabel('Input', { exact: true }).fill('{"city": 7}');
      await tool.getByRole('button', { name: 'Call the tool' }).click();
      await tool.getByText('The same as a request').click();
      await tool.getByText('"city": 7').waitFor();
      expect(system.mcp.calls.at(-1)!.arguments).to.deep.equal({ city: 7 });
      await inspectSizes(page, 'mcp-tool');

      const calls = [toolUse('mcp__weather__forecast', { city: 'Bern' }), toolUse('mcp__weather__broken', {})];
      system.model.on(/^What is the weather/, steps(message(calls), 'It is sunny.'));
      await page.goto(page.url().replace(/#.*/, '#/sessions/new'));
      await page.getByRole('checkbox', { name: /weather/ }).check();
      await page.getByRole('button', { name: 'Create session' }).click();
      await send(page, 'What is the weather?');
      await ended(page);
      const card = page.locator('.tool', { hasText: 'weather › forecast' });
      await card.locator('summary').click();
      await card.getByText('"city": "Bern"').waitFor();
      await card.getByText('Sunny').waitFor();
      expect(await card.locator('summary').innerText()).to.match(/done\s*[\d.]+ m?s/);
      expect(await page.locator('.tool', { hasText: 'broken' }).locator('summary').innerText()).to.contain('error');

      const sessionUrl = page.url();
      await page.goto(sessionUrl.replace(/#.*/, '#/mcp-servers'));
      await page.getByRole('link', { name: /weather/ }).click();
      await page.getByRole('checkbox', { name: /^Pin the tools/ }).click();
      await page.getByRole('checkbox', { name: /^Pin the tools/, checked: true }).waitFor();
      system.mcp.options.tools[0]!.description = 'Tells the weather of tomorrow';
      await page.getByRole('button', { name: 'Probe' }).click();
      await page.getByText('1 tool is held back').waitFor();
      await page.getByText('forecast has changed').click();
      await page.getByRole('button', { name: 'Accept forecast' }).click();
      await page.getByText('1 tool is held back').waitFor({ state: 'detached' });
      await page.getByText('Tells the weather of tomorrow').waitFor();
      const description = `Too large for the list ${'€'.repeat(30_000)}`;
      const kept = system.mcp.options.tools[0]!.inputSchema;
      system.mcp.options.tools[0]!.inputSchema = {
        type: 'object',
        properties: { city: { type: 'string', description } },
      };
      await page.getByRole('button', { name: 'Probe' }).click();
      await page.getByText('must be opened').waitFor();
      expect(await page.getByRole('button', { name: 'Accept all' }).isDisabled()).to.equal(true);
      await page.getByText('forecast has changed').click();
      await page.getByText('Too large for the list').waitFor();
      await page.getByRole('button', { name: 'Accept forecast' }).click();
      await page.getByText('1 tool is held back').waitFor({ state: 'detached' });
      system.mcp.options.tools[0]!.inputSchema = kept;
      await page.getByRole('button', { name: 'Probe' }).click();
      await page.getByRole('button', { name: 'Accept all' }).click();
      await page.getByText('1 tool is held back').waitFor({ state: 'detached' });
      await page.goto(sessionUrl);

      await system.mcp.kill();
      await send(page, 'And tomorrow?');
      await page.getByRole('link', { name: 'Look at the server' }).click();
      await page.getByText('The latest connection failed').waitFor();
      await system.mcp.restart();
    });

    it('the console registers a server with OAuth, and follows its authorization', async () => {
      const page = await browser.open('/mcp-servers/new');
      await page.getByLabel('Name').fill('archive');
      await page.getByLabel('Address').fill(guarded.mcp.url);
      await page.getByLabel('Kind').selectOption('OAUTH');
      await page.getByRole('button', { name: 'Register' }).click();
      await page.getByText('A person must authorize the service').waitFor();
      await page.getByRole('button', { name: 'Authorize' }).click();
      const link = page.getByRole('link', { name: 'Open the authorization page' });
      const callback = await guarded.consent((await link.getAttribute('href'))!);
      expect((await fetch(callback)).status).to.equal(200);
      await page.getByText('The service is authorized to use this server').waitFor();
      await page.getByText('Searches the archive').waitFor();
      await link.waitFor({ state: 'detached' });
    });
  });

  describe('a person in the loop', () => {
    it('the console allows, denies with a reason, and gives the result of a custom tool', async () => {
      const forecast = toolUse('mcp__weather__forecast', { city: 'Bern' });
      const calls = [forecast, toolUse('mcp__weather__broken', {}), toolUse('look_up_order', { number: '4711' })];
      system.model.on(/^Where is my order/, steps(message(calls), 'It is on its way.'));
      const page = await browser.open('/sessions/new');
      await page.getByRole('checkbox', { name: /^weather/ }).check();
      await page.getByText('Permissions of weather').click();
      await page.getByRole('checkbox', { name: /^every tool/ }).check();
      await page.getByText('Custom tools', { exact: true }).click();
      await page.getByRole('button', { name: 'Insert an example' }).click();
      await page.getByRole('button', { name: 'Create session' }).click();
      await send(page, 'Where is my order?');
      const card = (name: string): Locator => page.locator('.tool', { hasText: name });
      const stateOf = (name: string): Promise<string> => card(name).locator('.tool-state').innerText();
      await card('forecast').getByRole('button', { name: 'Allow' }).waitFor();
      await page.getByText('Waiting for your answer').waitFor();
      await page.getByRole('status').filter({ hasText: 'waits for your answer' }).waitFor({ state: 'attached' });

      const sessionUrl = page.url();
      await page.goto(sessionUrl.replace(/#.*/, '#/sessions'));
      await page.getByRole('button', { name: 'Waiting for an answer' }).click();
      await page
        .getByRole('row', { name: /Waiting for an answer/ })
        .first()
        .getByRole('link')
        .click();

      await card('forecast').getByRole('button', { name: 'Allow' }).click();
      await card('forecast').getByText('done', { exact: true }).waitFor();
      await card('broken').getByLabel('Reason, when denied').fill('Not today');
      await card('broken').getByRole('button', { name: 'Deny' }).click();
      await card('broken').getByText('denied', { exact: true }).waitFor();
      await page.reload();
      await card('look_up_order').getByRole('textbox', { name: 'Result of look_up_order' }).fill('Shipped yesterday');
      await card('look_up_order').getByRole('button', { name: 'Send the result' }).click();
      await ended(page);
      expect(await agentText(page)).to.deep.equal(['It is on its way.']);
      expect([await stateOf('forecast'), await stateOf('broken'), await stateOf('look_up_order')]).to.deep.equal([
        ...['done', 'denied', 'done'],
      ]);
      await card('broken').locator('summary').click();
      await card('broken').getByText('Denied by a person: Not today').waitFor();
      const sent = JSON.stringify(system.model.requests.at(-1)!.body.messages);
      expect(sent).to.contain('Sunny').and.contain('Not today').and.contain('Shipped yesterday');
    });
  });

  describe('schedules', () => {
    it('the form of schedules shows the next runs while typing, creates a schedule, runs it and links to the session', async () => {
      system.model.on(/^Which orders/, 'None is late.');
      const page = await browser.open('/schedules');
      await page.getByRole('link', { name: 'New schedule' }).click();
      const next = page.getByRole('list', { name: 'Next runs' }).getByRole('listitem');
      await page.getByLabel('Name').fill('Daily report');
      await page.getByLabel('Time zone').fill('Europe/Nowhere');
      await page.getByText('The time zone is not known').waitFor();
      await page.getByLabel('Time zone').fill('Europe/Berlin');
      await page.getByLabel('Expression').fill('0 8 30 2 *');
      await page.getByText('The expression never fires.').waitFor();
      await page.getByLabel('Expression').fill('0 8 * *');
      await page.getByText(/^The expression /).waitFor();
      expect(await next.count()).to.equal(0);
      await page.getByLabel('Expression').fill('30 8 * * *');
      await next.nth(4).waitFor();
      const typed = await next.allInnerTexts();
      expect(typed).to.have.length(5);
      await page.getByLabel('Message').fill('Which orders are late?');
      expect(await accessibilityFindings(page)).to.deep.equal([]);
      await page.getByRole('button', { name: 'Create schedule' }).click();

      await page.getByRole('heading', { name: 'Daily report' }).waitFor();
      const shown = page.getByRole('region', { name: 'Next runs' }).getByRole('listitem');
      expect(await shown.allInnerTexts()).to.deep.equal(typed);
      await page.getByText('30 8 * * * in Europe/Berlin').waitFor();
      await page.getByText('There are no runs yet').waitFor();
      await page.getByRole('button', { name: 'Pause' }).click();
      await page.getByRole('button', { name: 'Resume' }).waitFor();
      expect(await shown.count()).to.equal(0);
      await page.getByRole('button', { name: 'Run now' }).click();
      const run = page.getByRole('list', { name: 'Runs', exact: true }).getByRole('link', { name: /Started/ });
      await run.waitFor();
      expect(await accessibilityFindings(page)).to.deep.equal([]);
      await run.click();
      await ended(page);
      expect(await agentText(page)).to.deep.equal(['None is late.']);

      await page.goto(page.url().replace(/#.*/, '#/schedules'));
      const row = page.getByRole('link', { name: /Daily report/ });
      await row.getByText('Paused').waitFor();
      expect(await accessibilityFindings(page)).to.deep.equal([]);
      await row.click();
      await page.getByRole('button', { name: 'Delete' }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
      await page.getByText('There are no schedules yet').waitFor();
    });

    it('a schedule made in the console sends once into a session, waits for its open turn, and can be changed', async () => {
      const gate = new Gate();
      system.model.on(/^Take long/, () => gate.opened.then(() => 'Taken.'));
      system.model.on(/^Then this/, 'Done.');
      const sessionId = await system.session({ metadata: { title: 'Orders' } });
      const turn = await system.send(sessionId, 'Take long');
      const page = await browser.open('/schedules/new');
      await page.getByLabel('Name').fill('Once');
      await page.getByLabel('How often').selectOption('Once');
      await page.getByRole('textbox', { name: /^Time In/ }).fill('2020-01-01T08:00');
      await page.getByText('The time is over.').waitFor();
      await page.getByRole('textbox', { name: /^Time In/ }).fill('2098-01-01T08:00');
      const next = page.getByRole('list', { name: 'Next runs' }).getByRole('listitem');
      expect(await next.count()).to.equal(1);
      await page.getByLabel('Message').fill('Then this');
      await page.getByRole('combobox', { name: /^Session/ }).selectOption('Always the same one');
      await page.getByLabel('Id of the session').fill(sessionId);
      await page.getByText('Orders').first().waitFor();
      await page.getByLabel('While the session has an open turn').selectOption('Queue the message');
      expect(await accessibilityFindings(page)).to.deep.equal([]);
      await page.getByRole('button', { name: 'Create schedule' }).click();

      await page.getByRole('heading', { name: 'Once' }).waitFor();
      await page.getByText(/queued while a turn is open/).waitFor();
      await page.getByRole('button', { name: 'Run now' }).click();
      const runs = page.getByRole('list', { name: 'Runs', exact: true });
      await runs.getByText('Waiting').waitFor();
      expect(await accessibilityFindings(page)).to.deep.equal([]);

      await page.getByText('Change it').click();
      await page.getByLabel('Name').fill('Every morning');
      await page.getByLabel('How often').selectOption('Again and again');
      await page.getByLabel('Expression').fill('0 8 * * *');
      await page.getByLabel('Time zone').fill('Asia/Tokyo');
      await page.getByLabel('While the session has an open turn').selectOption('Skip the time');
      await page.getByRole('button', { name: 'Save' }).click();
      await page.getByRole('heading', { name: 'Every morning' }).waitFor();
      await page.getByText('0 8 * * * in Asia/Tokyo').waitFor();
      await page.getByText(/skipped while a turn is open/).waitFor();

      gate.open();
      await system.ended(turn);
      await page.reload();
      await runs.getByText('Started').waitFor();
      await page.getByRole('button', { name: 'Delete' }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
      await page.getByText('There are no schedules yet').waitFor();
    });
  });

  describe('usage', () => {
    it('the usage view shows what a turn, a session and the project cost, by day, model and session', async () => {
      system.model.on(/^What does/, 'It costs little.');
      const page = await openSession({ metadata: { title: 'Costs' } });
      await send(page, 'What does it cost?');
      await ended(page);
      const { body: session } = await system.insist('GET', `/v1/sessions/${page.url().split('/').at(-1)}`);
      const cost = `${session.cost.amount} USD`;
      await page.locator('.receipt').getByTitle(cost).waitFor();
      await page.getByText('so far').and(page.getByTitle(cost)).waitFor();

      await page.getByRole('link', { name: 'Usage' }).click();
      const table = page.getByRole('table');
      await table.getByRole('rowheader', { name: new Date().toISOString().slice(0, 10) }).waitFor();
      await page.getByRole('combobox', { name: 'By' }).selectOption('Model');
      await table.getByRole('row', { name: /^scripted \$/ }).waitFor();
      expect(await accessibilityFindings(page)).to.deep.equal([]);
      await page.getByRole('combobox', { name: 'By' }).selectOption('Session');
      await table
        .getByRole('row', { name: /^Costs/ })
        .getByRole('link', { name: 'Costs' })
        .click();
      await page.getByRole('heading', { name: 'Costs' }).waitFor();
    });
  });

  describe('webhooks', () => {
    it('the view of webhooks shows the secret once, sends a test, and sends a failed delivery again', async () => {
      const page = await browser.open('/webhooks/new');
      await page.getByLabel('Address').fill(receiver.url);
      await page.getByLabel('Description').fill('Tickets');
      await page.getByRole('button', { name: 'Create webhook' }).click();
      const secret = await page
        .getByRole('button', { name: /^whsec_/ })
        .locator('code')
        .innerText();
      await page.getByRole('link', { name: 'Open the webhook' }).click();
      await page.getByRole('heading', { name: 'Tickets' }).waitFor();
      expect(await page.locator('body').innerText()).to.not.contain(secret);

      receiver.answer = (res, _request, nth) => res.writeHead(nth === 1 ? 500 : 204).end();
      await page.getByRole('button', { name: 'Send a test' }).click();
      const row = page.getByRole('listitem').filter({ hasText: 'webhook.test' });
      await row.getByText('1 attempt', { exact: true }).waitFor();
      await row.getByText(/: 500 after/).waitFor();
      await row.getByRole('button', { name: 'Send again' }).click();
      await row.getByText('Delivered').waitFor();
      expect(verifies(secret, receiver.received.at(-1)!)).to.equal(true);

      await page.getByRole('button', { name: 'Disable' }).click();
      await page.getByRole('button', { name: 'Enable' }).waitFor();
      expect(await page.getByRole('button', { name: 'Send a test' }).isDisabled()).to.equal(true);
      await page.getByRole('button', { name: 'New secret' }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'New secret' }).click();
      await page.getByRole('button', { name: /^whsec_/ }).waitFor();
    });
  });

  describe('for everyone', () => {
    /** Every view with something in it, and with nothing. */
    const views = async (): Promise<string[]> => {
      system.model.on(/^Show all/, steps(toolUse('deliver_file', { filename: 'a.txt', content: 'a' }), RICH_TEXT));
      const sessionId = await system.session({ metadata: { title: 'All', customer: '4711' } });
      await system.ended(await system.send(sessionId, 'Show all'));
      await system.insist('POST', '/v1/schedules', {
        name: 'Shown everywhere',
        cron: '0 8 * * *',
        target: { type: 'existing_session', session_id: sessionId },
        message: { content: 'Show all' },
      });
      const managed = ['/mcp-servers', '/schedules', '/webhooks'];
      const lists = ['/sessions', '/files', '/skills', '/usage', ...managed];
      const forms = ['/sessions', ...managed].map((list) => `${list}/new`);
      const places = [...lists, ...forms, `/sessions/${sessionId}`];
      for (const list of managed) {
        const { body } = await system.insist('GET', `/v1${list}`);
        places.push(...body.items.map(({ id }: { id: string }) => `${list}/${id}`));
      }
      return places;
    };

    for (const colorScheme of ['light', 'dark'] as const) {
      it(`the console has no serious findings of axe-core, ${colorScheme}`, async () => {
        const found: string[] = [];
        const signIn = await browser.open('/sessions', { colorScheme, key: null });
        found.push(...(await accessibilityFindings(signIn)));
        const emptyKey = await system.newKey(`empty-${colorScheme}`);
        const [filled, empty] = [
          await browser.open('/sessions', { colorScheme }),
          await browser.open('/sessions', { colorScheme, key: emptyKey }),
        ];
        for (const path of await views()) {
          for (const page of [filled, empty]) {
            await page.goto(page.url().replace(/#.*/, `#${path}`));
            await page.waitForLoadState('networkidle');
            await page.evaluate("document.querySelectorAll('details').forEach((each) => (each.open = true))");
            found.push(...(await accessibilityFindings(page)).map((finding) => `${path} ${finding}`));
          }
        }
        expect(found).to.deep.equal([]);
      });
    }

    it('the console fits a phone', async () => {
      const page = await browser.open('/sessions', { viewport: PHONE });
      for (const path of await views()) {
        await page.goto(page.url().replace(/#.*/, `#${path}`));
        await page.waitForLoadState('networkidle');
        expect(await page.evaluate('document.documentElement.scrollWidth'), path).to.be.at.most(PHONE.width);
      }
    });

    it('the console works with the keyboard alone', async () => {
      system.model.on(/^By keyboard/, 'Heard');
      const page = await browser.open('/sessions');
      const focused = (): Promise<unknown> => page.evaluate('document.activeElement.textContent.trim()');
      const tabTo = async (label: string): Promise<void> => {
        for (let presses = 0; presses < 30 && (await focused()) !== label; presses += 1)
          await page.keyboard.press('Tab');
        expect(await focused()).to.equal(label);
      };
      await page.keyboard.press('Tab');
      expect(await focused()).to.equal('Skip to content');
      await page.keyboard.press('Enter');
      await tabTo('New session');
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { name: 'New session' }).waitFor();
      expect(await page.evaluate('document.activeElement.id'), 'focus after a change of the view').to.equal('main');
      await page
        .getByLabel(/^Model/)
        .and(page.locator(':enabled'))
        .waitFor();
      await tabTo('Create session');
      await page.keyboard.press('Enter');
      const field = page.getByRole('textbox', { name: 'Message' });
      await field.waitFor();
      const focusedId = (): Promise<unknown> => page.evaluate('document.activeElement.id');
      await page.keyboard.press('c');
      expect(await focusedId()).to.equal('message');
      await page.keyboard.type('By keyboard');
      await page.keyboard.press('Enter');
      await ended(page);
      await page.getByRole('status').filter({ hasText: 'The agent has answered' }).waitFor({ state: 'attached' });
    });
  });

  describe('pictures', () => {
    const folder = process.env.CONSOLE_PICTURES ?? tmpdir();
    for (const colorScheme of ['light', 'dark'] as const) {
      it(`pictures of a conversation, ${colorScheme}`, async () => {
        const gate = new Gate();
        const report = toolUse('deliver_file', { filename: 'orders.csv', content: 'order,state\n4711,shipped\n' });
        system.model.on(/^Which orders/, steps(message([thinking(PICTURE_THOUGHT), report]), PICTURE_TEXT));
        const sessionId = await system.session({ metadata: { title: 'Late orders' }, instruction: 'You help a shop.' });
        await system.ended(await system.send(sessionId, 'Which orders are late? Please give me a file as well.'));
        system.model.on(
          /^And what/,
          steps(message(text('I look into the two **late orders** first, then', { before: { 8: wait(gate) } }))),
        );
        const page = await browser.open(`/sessions/${sessionId}`, {
          colorScheme,
          viewport: { width: 1440, height: 900 },
        });
        await ended(page);
        await send(page, 'And what do I tell the customers?');
        await gate.reached;
        await page.locator('.agent-text', { hasText: 'late orders first' }).waitFor();
        const path = join(folder, `console-${colorScheme}.png`);
        await page.screenshot({ path });
        gate.open();
        expect(statSync(path).size).to.be.greaterThan(30_000);
        console.log(`      ${path}`);
      });
    }
  });
});
