import { expect } from 'chai';
import type { BrowserContext, Page } from 'playwright-core';
import { accessibilityFindings } from '../support/browser/console.js';
import { startChatExample } from '../support/chat-example.js';
import { eventually } from '../support/eventually.js';
import { startPageOfDocs } from '../support/front-end-page.js';
import { Gate, message, steps, text, thinking, toolUse, wait } from '../support/scripted-model.js';
import { skip } from '../support/skip.js';
import { signToken } from '../support/tokens.js';
import { use } from '../support/use.js';

const TABLE = 'Two orders are **late**:\n\n| Order | Since |\n|---|---|\n| A-17 | 5 days |\n| B-22 | 4 days |';
const refund = (id: string) => toolUse('mcp__shop__refund_order', { order: 'A-17', amount: 40 }, { id });

/** examples/chat in Chromium. SCREENSHOTS names a folder for pictures. */
describe('the chat of examples/ in a browser', function () {
  this.timeout(60_000);
  before(function () {
    if (!process.env.CHROMIUM) skip(this, 'needs Chromium: npm run check -- chat');
  });
  const example = use(startChatExample, (started) => started.close());
  afterEach(async function () {
    await example.closeWindows();
    example.system.model.reset();
    if (this.currentTest?.state === 'passed') expect(example.takeOffences()).to.deep.equal([]);
  });

  const composer = (page: Page) => page.getByRole('textbox', { name: 'Message', exact: true });
  const say = async (page: Page, what: string): Promise<void> => {
    await composer(page).fill(what);
    // Enabled as soon as the files are uploaded.
    await page.locator('.composer button[type=submit]').click();
  };
  const shows = (page: Page, what: string): Promise<void> => page.getByText(what).last().waitFor();
  const ready = (page: Page): Promise<void> => page.locator('main[data-status=ready]').waitFor();
  const answers = (page: Page): Promise<string[]> => page.locator('.answer .markdown').allInnerTexts();
  const mine = (page: Page): Promise<string[]> => page.locator('.bubble').allInnerTexts();
  const sessionOf = (page: Page): string => /#(ses_\w+)/.exec(page.url())![1]!;
  const typesOf = async (page: Page): Promise<string[]> =>
    (await example.system.history(sessionOf(page))).map(({ type }) => type);
  /** A new chat that begins with a message. */
  const begin = async (window: BrowserContext, what: string, path = '/'): Promise<Page> => {
    const page = await example.open(window, path);
    await say(page, what);
    await page.waitForURL(/#ses_/);
    return page;
  };
  const inspect = async (page: Page, name: string): Promise<void> => {
    for (const [size, width, height] of [
      ['phone', 390, 844],
      ['desk', 1280, 800],
    ] as const) {
      await page.setViewportSize({ width, height });
      expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'), size).to.equal(true);
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme });
        expect(await accessibilityFindings(page), `${size}, ${colorScheme}`).to.deep.equal([]);
        const folder = process.env.SCREENSHOTS;
        if (folder !== undefined) await page.screenshot({ path: `${folder}/${name}-${size}-${colorScheme}.png` });
      }
    }
    await page.emulateMedia({ colorScheme: 'light' });
  };

  it('the page runs the script of a skill that its agent has, with a token alone', async () => {
    const command = 'sh /mnt/skills/parcel/parcel.sh 1200';
    example.system.model.on(/^What does/, steps(toolUse('bash', { command }), 'It costs 8.50.'));
    const page = await begin(await example.signIn('ada'), 'What does a parcel cost?');
    await shows(page, 'It costs 8.50.');
    const events = await example.system.history(sessionOf(page));
    expect(events.find(({ type }) => type === 'agent.tool_result')!.content).to.include(
      'A parcel of 1200 g costs 8.50.',
    );
    expect(events[0]!.skills).to.deep.equal([]);
  });

  for (const [kind, path] of [
    ['AI SDK', '/'],
    ['AG-UI', '/ag-ui.html'],
  ] as const) {
    it(`the page with ${kind} streams, shows the rest of an answer after a reload, and fits a phone`, async () => {
      const gate = new Gate();
      example.system.model.on(
        /^Which/,
        message([thinking('Which are late?'), text([TABLE, '\n\nI look ', 'further.'], { before: { 2: wait(gate) } })]),
      );
      const window = await example.signIn('ada');
      const page = await begin(window, 'Which orders are late?', path);
      await shows(page, 'I look');
      expect(await page.getByText('further.').count()).to.equal(0);
      await page.reload();
      await shows(page, 'I look');
      gate.open();
      await shows(page, 'I look further.');
      await ready(page);
      expect(await mine(page)).to.deep.equal(['Which orders are late?']);
      expect(await answers(page)).to.have.length(1);
      await inspect(page, `answer-${kind}`);
    });

    it(`the page with ${kind} stops an answer, and takes the next message`, async () => {
      example.system.model.on(/^Begin/, text(['Slowly ', 'never'], { before: { 1: wait(600_000) } }));
      const page = await begin(await example.signIn('ada'), 'Begin', path);
      await shows(page, 'Slowly');
      await page.getByRole('button', { name: 'Stop' }).click();
      await ready(page);
      await eventually('it is cancelled', async () => (await typesOf(page)).includes('turn.cancelled'));
      example.system.model.on(/^And/, 'Now this.');
      await say(page, 'And now?');
      await shows(page, 'Now this.');
    });

    it(`the page with ${kind} asks before a refund: a person allows one, and denies one with a reason`, async () => {
      example.system.model.on(/^Pay/, steps(message([text('I pay.'), refund('toolu_a')]), 'It is paid.'));
      example.system.model.on(/^Again/, steps(message([refund('toolu_b')]), 'Not paid.'));
      const page = await begin(await example.signIn('ada'), 'Pay me', path);
      await page.getByRole('button', { name: 'Allow' }).waitFor();
      await inspect(page, `approval-${kind}`);
      await page.getByRole('button', { name: 'Allow' }).click();
      await shows(page, 'It is paid.');
      await ready(page);
      await say(page, 'Again');
      await page.getByRole('button', { name: 'Deny…' }).click();
      await page.getByLabel('Reason').fill('Once is enough.');
      await page.getByRole('button', { name: 'Deny', exact: true }).click();
      await shows(page, 'Not paid.');
      const confirmations = (await example.system.history(sessionOf(page))).filter(
        ({ type }) => type === 'user.tool_confirmation',
      );
      expect(confirmations.map(({ result, deny_message, actor }) => [result, deny_message, actor])).to.deep.equal([
        ['allow', null, 'ada'],
        ['deny', 'Once is enough.', 'ada'],
      ]);
    });

    it(`the page with ${kind} runs its own tool, and answers the question of a server`, async () => {
      example.system.model.on(
        /^Deliver/,
        steps(
          message([toolUse('pick_date', { question: 'Which day suits you?' }, { id: 'toolu_d' })]),
          message([toolUse('mcp__shop__book_delivery', { order: 'A-17' }, { id: 'toolu_q' })]),
          'It comes.',
        ),
      );
      const page = await begin(await example.signIn('ada'), 'Deliver it', path);
      await page.getByLabel('Which day suits you?').fill('2026-12-01');
      await page.getByRole('button', { name: 'Choose' }).click();
      await page.getByLabel('How').selectOption('To the door');
      await page.getByLabel(/Floor/).fill('3');
      await inspect(page, `question-${kind}`);
      await page.getByRole('button', { name: 'Send', exact: true }).first().click();
      await shows(page, 'It comes.');
      const history = await example.system.history(sessionOf(page));
      expect(history.find(({ type }) => type === 'user.custom_tool_result')).to.include({
        content: '{"date":"2026-12-01"}',
      });
      expect(history.find(({ type }) => type === 'user.elicitation_result')!.content).to.deep.equal({
        how: 'To the door',
        floor: 3,
        call: false,
      });
    });

    it(`the page with ${kind} shows in another tab what the first one does, and takes an answer from there`, async () => {
      example.system.model.on(/^Pay/, steps(message([text('I pay.'), refund('toolu_a')]), 'It is paid.'));
      example.system.model.on(/^More/, 'More of it.');
      const window = await example.signIn('ada');
      const one = await begin(window, 'Pay me', path);
      await one.getByRole('button', { name: 'Allow' }).waitFor();
      const two = await example.open(window, path + new URL(one.url()).hash);
      await two.getByRole('button', { name: 'Allow' }).click();
      await shows(two, 'It is paid.');
      await shows(one, 'It is paid.');
      await ready(one);
      await say(one, 'More');
      await shows(two, 'More of it.');
      await ready(two);
      for (const page of [one, two]) {
        expect(await mine(page)).to.deep.equal(['Pay me', 'More']);
        expect(await answers(page)).to.deep.equal(['I pay.', 'It is paid.', 'More of it.']);
      }
    });

    it(`the page with ${kind} goes on with a new token when the first one ends in the middle of an answer`, async () => {
      const gate = new Gate();
      example.system.model.on(/^Long/, text(['The first ', 'and the rest.'], { before: { 1: wait(gate) } }));
      const window = await example.signIn('ada');
      const { db, key } = example.system;
      const config = { encryptionKeys: [Buffer.alloc(32, 7)] };
      let tokens = 0;
      await window.route('**/token', async (route) => {
        tokens += 1;
        if (tokens > 1) return route.continue();
        const id = /(ses_\w+)/.exec(route.request().url())![1]!;
        const token = await signToken({ db, key, config } as never, id, { expiresAt: Date.now() + 4000 });
        return route.fulfill({ json: { token } });
      });
      const page = await begin(window, 'Long', path);
      await shows(page, 'The first');
      await eventually('the page asks for another token', () => tokens > 1);
      gate.open();
      await shows(page, 'The first and the rest.');
      await ready(page);
      expect(await answers(page)).to.deep.equal(['The first and the rest.']);
    });

    it(`the page with ${kind} goes on after kill -9 of the service in the middle of an answer`, async () => {
      const gate = new Gate();
      example.system.model.on(/^Long/, text(['The first ', 'and the rest.'], { before: { 1: wait(gate) } }));
      const page = await begin(await example.signIn('ada'), 'Long', path);
      await shows(page, 'The first');
      const { apis, workers } = example.system;
      await Promise.all([...apis, ...workers].map((one) => one.kill()));
      gate.open();
      await Promise.all([...apis, ...workers].map((one) => one.start()));
      await shows(page, 'The first and the rest.');
      await ready(page);
      expect(await answers(page)).to.deep.equal(['The first and the rest.']);
      expect((await typesOf(page)).filter((type) => type === 'user.message')).to.have.length(1);
    });
  }

  it('the page with the AI SDK queues messages while a turn runs, withdraws one, and sends the other', async () => {
    const gate = new Gate();
    example.system.model.on(/^First/, text(['One ', 'and two.'], { before: { 1: wait(gate) } }));
    example.system.model.on(/^Second/, 'The second.');
    const page = await begin(await example.signIn('ada'), 'First');
    await shows(page, 'One');
    await say(page, 'Second');
    await say(page, 'Third');
    await page.getByRole('button', { name: 'Withdraw Third' }).click();
    await page.getByRole('button', { name: 'Withdraw Third' }).waitFor({ state: 'detached' });
    await inspect(page, 'queue');
    gate.open();
    await shows(page, 'The second.');
    await ready(page);
    expect(await mine(page)).to.deep.equal(['First', 'Second']);
    expect(await answers(page)).to.deep.equal(['One and two.', 'The second.']);
  });

  it('the page with the AI SDK goes on with an answer that was stopped', async () => {
    example.system.model.on(/^Begin/, text(['Slowly ', 'never'], { before: { 1: wait(600_000) } }));
    const page = await begin(await example.signIn('ada'), 'Begin');
    await shows(page, 'Slowly');
    await page.getByRole('button', { name: 'Stop' }).click();
    example.system.model.on(/^Begin/, 'To the end.');
    await page.getByRole('button', { name: 'Continue' }).click();
    await shows(page, 'To the end.');
  });

  it('the page with the AI SDK uploads a file, sends it, and shows the one that the agent delivers', async () => {
    example.system.model.on(
      /Read it/,
      steps(
        message([toolUse('deliver_file', { filename: 'copy.txt', content: 'a copy' }, { id: 'toolu_f' })]),
        'Here.',
      ),
    );
    example.system.model.on(/^Hello/, 'Hi.');
    const window = await example.signIn('ada');
    const page = await begin(window, 'Hello');
    await shows(page, 'Hi.');
    await page
      .getByLabel('Choose files')
      .setInputFiles({ name: 'notes.txt', mimeType: 'text/plain', buffer: Buffer.from('some notes') });
    await page.getByRole('list', { name: 'Files' }).getByText('notes.txt').waitFor();
    await say(page, 'Read it');
    await shows(page, 'Here.');
    await inspect(page, 'file');
    const sent = (await example.system.history(sessionOf(page))).filter(({ type }) => type === 'user.message')[1]!;
    expect((sent.files as { filename: string }[])[0]!.filename).to.equal('notes.txt');
    const link = (await page.getByRole('link', { name: 'copy.txt' }).getAttribute('href'))!;
    expect(await (await window.request.get(example.url + link)).text()).to.equal('a copy');
    const stranger = await example.signIn('grace');
    expect((await stranger.request.get(example.url + link)).status()).to.equal(404);
  });

  it('the page with the AI SDK answers again and sends an edited message, each in a copy of the chat', async () => {
    example.system.model.on(/^One/, 'The first answer.');
    const window = await example.signIn('ada');
    const asked: string[] = [];
    window.on('request', (request) => {
      if (request.method() === 'POST' && request.url().startsWith(example.url)) asked.push(request.url());
    });
    const page = await begin(window, 'One');
    await shows(page, 'The first answer.');
    await ready(page);
    const first = page.url();
    asked.length = 0;
    example.system.model.reset();
    example.system.model.on(/^One/, 'The second answer.');
    await page.getByRole('button', { name: 'Answer again' }).click();
    await shows(page, 'The second answer.');
    expect(page.url()).to.not.equal(first);
    await ready(page);
    example.system.model.on(/^Two/, 'To the other one.');
    await page.getByRole('button', { name: 'Edit' }).click();
    await page.getByLabel('Edited message').fill('Two');
    await page.getByRole('button', { name: 'Send in a copy' }).click();
    await shows(page, 'To the other one.');
    expect(await mine(page)).to.deep.equal(['Two']);
    // The token of the first chat made the copies, and each came with its own: the back end was not asked.
    expect(asked).to.deep.equal([]);
    await page.reload();
    await shows(page, 'To the other one.');
    await page.goto(first);
    await shows(page, 'The first answer.');
  });

  it('the page with the AI SDK lets a person change an amount, allow a tool for the chat and take that back, over a reload and a restart', async function () {
    this.timeout(180_000);
    const pay = (amount: number, id: string) => toolUse('mcp__shop__refund_order', { order: 'A-17', amount }, { id });
    const paid = async (page: Page): Promise<unknown[]> =>
      (await example.system.history(sessionOf(page)))
        .filter(({ type }) => type === 'agent.tool_result')
        .map(({ content }) => content);
    example.system.model.on(/^First/, steps(message([pay(40, 'toolu_1')]), 'Done one.'));
    example.system.model.on(/^Second/, steps(message([pay(1, 'toolu_2')]), message([pay(2, 'toolu_3')]), 'Done two.'));
    example.system.model.on(/^Third/, steps(message([pay(3, 'toolu_4')]), 'Done three.'));
    example.system.model.on(/^Fourth/, steps(message([pay(4, 'toolu_5')]), 'Done four.'));
    const page = await begin(await example.signIn('ada'), 'First');
    await page.getByText('Pay money back').waitFor();
    await page.getByText('cannot be taken back').waitFor();
    await page.reload();
    await page.getByLabel('amount').fill('4');
    await inspect(page, 'approval-changed');
    await page.getByRole('button', { name: 'Allow' }).click();
    await shows(page, 'Done one.');
    await shows(page, 'Changed by a person to');
    await ready(page);
    expect(await paid(page)).to.deep.equal(['Paid 4 back for A-17.']);

    await say(page, 'Second');
    const { apis, workers } = example.system;
    await page.getByRole('button', { name: 'Allow' }).waitFor();
    await Promise.all([...apis, ...workers].map((one) => one.kill()));
    await Promise.all([...apis, ...workers].map((one) => one.start()));
    await page.reload();
    await page.getByLabel('Do not ask again in this chat').check();
    await page.getByRole('button', { name: 'Allow' }).click();
    await shows(page, 'Done two.');
    await page.reload();
    await shows(page, 'refund_order is not asked for');
    await say(page, 'Third');
    await shows(page, 'Done three.');
    expect(await paid(page)).to.deep.equal([
      'Paid 4 back for A-17.',
      'Paid 1 back for A-17.',
      'Paid 2 back for A-17.',
      'Paid 3 back for A-17.',
    ]);
    await ready(page);
    await page.getByRole('button', { name: 'Ask for refund_order again' }).click();
    await page.getByRole('button', { name: 'Ask for refund_order again' }).waitFor({ state: 'detached' });
    await say(page, 'Fourth');
    await page.getByRole('button', { name: 'Allow' }).waitFor();
    expect(await paid(page)).to.have.length(4);
  });

  it('the page shows a person only their own chats', async () => {
    example.system.model.on(/^Mine/, 'Yours.');
    const page = await begin(await example.signIn('ada'), 'Mine');
    await shows(page, 'Yours.');
    const stranger = await example.signIn('grace');
    const tab = await example.open(stranger, new URL(page.url()).pathname + new URL(page.url()).hash);
    await shows(tab, 'There is no such chat.');
    expect(await tab.getByRole('navigation', { name: 'Chats' }).getByText('Mine').count()).to.equal(0);
    const answer = await stranger.request.post(`${example.url}/api/chats/${sessionOf(page)}/token`, { data: {} });
    expect(answer.status()).to.equal(404);
    const nobody = await example.signIn('nobody');
    expect((await nobody.request.get(`${example.url}/api/chats`)).status()).to.equal(401);
  });

  it('the page in two files of docs/front-ends.md sends, streams, stops, and shows the open turn after a reload', async () => {
    const { system, docsPort } = example;
    const own = await startPageOfDocs({ BASE: system.apis[0]!.url, KEY: system.key, PORT: String(docsPort) });
    try {
      const gate = new Gate();
      system.model.on(/^Hello/, text(['Hello ', 'to you.'], { before: { 1: wait(gate) } }));
      const page = await example.open(await example.signIn('nobody'), '/', `http://127.0.0.1:${docsPort}`);
      const send = async (what: string): Promise<void> => {
        await page.getByRole('textbox', { name: 'Message' }).fill(what);
        await page.getByRole('button', { name: 'Send' }).click();
      };
      await send('Hello');
      await shows(page, 'Hello ');
      await page.reload();
      await page.getByRole('button', { name: 'Stop' }).waitFor();
      gate.open();
      await shows(page, 'Hello to you.');
      system.model.on(/^Begin/, text(['Slowly ', 'never'], { before: { 1: wait(600_000) } }));
      await send('Begin');
      await shows(page, 'Slowly');
      await page.getByRole('button', { name: 'Stop' }).click();
      await page.getByRole('button', { name: 'Stop' }).waitFor({ state: 'detached' });
      system.model.on(/^And/, 'Now this.');
      await send('And now?');
      await shows(page, 'Now this.');
    } finally {
      await own.close();
    }
  });

  it('the page shows who can sign in, and what a new chat can do', async () => {
    const window = await example.signIn('nobody');
    const page = await example.open(window);
    await page.getByRole('button', { name: 'Grace Hopper' }).waitFor();
    await inspect(page, 'sign-in');
    await page.getByRole('button', { name: 'Grace Hopper' }).click();
    await page.getByRole('heading', { name: 'How can I help, Grace?' }).waitFor();
    await inspect(page, 'new');
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('heading', { name: 'Who are you?' }).waitFor();
  });
});
