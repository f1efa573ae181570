import { expect } from 'chai';
import { readFileSync } from 'node:fs';
import type { Locator, Page } from 'playwright-core';
import { readZip } from '../support/read-zip.js';
import { requireSandbox } from '../support/sandbox.js';
import { Gate, steps, text, toolUse, wait } from '../support/scripted-model.js';
import { DESKTOP, inspectSizes, useConsole } from './use-console.js';

/** 48 pixels wide. */
const PICTURE =
  'iVBORw0KGgoAAAANSUhEUgAAADAAAAAwCAIAAADYYG7QAAAAVElEQVR42u3WsQ0AIAgEQKZyI4d1EWsHsHABLI0Fl1CScNXzseZOp7eRzuv9AAICKgf6dfi2DwQEVA8kqYGAgPQhrwMISB+S1EBAQPqQ1wEEVBp0AIPM9A8BGfx1AAAAAElFTkSuQmCC';
const FILES = [
  `printf 'one\\ntwo\\n' > notes.txt`,
  'mkdir -p src/lib empty',
  'echo deep > src/lib/deep.txt',
  'ln -s notes.txt latest',
  `printf 'a\\0b' > data.bin`,
  `echo '<svg xmlns="http://www.w3.org/2000/svg"><script>opened = 1</script></svg>' > drawing.svg`,
  `echo ${PICTURE} | base64 -d > picture.png`,
  'head -c 1100000 /dev/zero > large.txt',
  'echo result > /mnt/session/outputs/result.txt',
  `echo long > /mnt/session/outputs/${'long-'.repeat(15)}name.txt`,
].join(' && ');

/** Inspects the page in both themes and sizes. */
async function inspectThemes(page: Page, name: string): Promise<void> {
  for (const colorScheme of ['dark', 'light'] as const) {
    await page.emulateMedia({ colorScheme });
    await inspectSizes(page, `${name}-${colorScheme}`);
  }
}

/** decisions.md "Workspace" in the console. */
describe('workspaces in the console', function () {
  this.timeout(120_000);
  before(async function () {
    await requireSandbox(this);
  });
  const { system, browser } = useConsole(() => ({ env: { SANDBOX_PROVIDER: 'bubblewrap' } }));

  const session = (): Promise<string> =>
    system.session({ tools: [{ type: 'workspace' }], metadata: { title: 'With a workspace' } });
  let turns = 0;
  /** A turn whose model makes one call. */
  const call = async (sessionId: string, ...made: Parameters<typeof toolUse>): Promise<void> => {
    turns += 1;
    system.model.on(new RegExp(`^Turn ${turns}:`), steps(toolUse(...made), 'Done.'));
    await system.ended(await system.send(sessionId, `Turn ${turns}: go on`));
  };
  const panel = (page: Page): Locator => page.getByRole('region', { name: 'Workspace' });
  const openPanel = async (sessionId: string): Promise<Page> => {
    const page = await browser.open(`/sessions/${sessionId}`, { viewport: DESKTOP });
    await page.getByRole('button', { name: 'Workspace', exact: true }).click();
    return page;
  };
  const fact = (page: Page, name: string): Locator =>
    panel(page).locator('.fact-list > div').filter({ hasText: name }).locator('dd');
  const row = (page: Page, name: string): Locator =>
    panel(page)
      .locator('.tree-row')
      .filter({ has: page.getByText(name, { exact: true }) });
  const names = (page: Page): Promise<string[]> => panel(page).locator('.tree-row .clip:first-of-type').allInnerTexts();
  /** What the browser saves after a click. */
  const saved = async (page: Page, button: Locator): Promise<{ name: string; content: Buffer }> => {
    const [download] = await Promise.all([page.waitForEvent('download'), button.click()]);
    return { name: download.suggestedFilename(), content: readFileSync(await download.path()) };
  };

  it('workspaces in the console show the files, folder by folder, with previews and downloads', async () => {
    const sessionId = await session();
    await call(sessionId, 'bash', { command: FILES });
    const page = await openPanel(sessionId);
    await row(page, 'notes.txt').click();
    await panel(page).locator('pre', { hasText: 'one\ntwo' }).waitFor();
    expect(await fact(page, 'Version').innerText()).to.equal('1');
    expect(await fact(page, 'Files').innerText()).to.equal('8');
    expect(await names(page)).to.deep.equal([
      ...['data.bin', 'drawing.svg', 'empty/', 'large.txt', 'latest', 'notes.txt', 'picture.png', 'src/'],
    ]);
    await inspectThemes(page, 'workspace-text');
    const notes = await saved(page, panel(page).getByRole('button', { name: 'Download /workspace/notes.txt' }));
    expect({ ...notes, content: String(notes.content) }).to.deep.equal({ name: 'notes.txt', content: 'one\ntwo\n' });

    await row(page, 'data.bin').click();
    await panel(page).getByText('This is no text').waitFor();
    await row(page, 'large.txt').click();
    await panel(page).getByText('too large for a preview').waitFor();
    await row(page, 'drawing.svg').click();
    await panel(page).locator('pre', { hasText: '<script>' }).waitFor();
    await row(page, 'picture.png').click();
    await panel(page).getByRole('img', { name: 'picture.png' }).waitFor();
    const width = `const img = document.querySelector('.workspace img'); img.decode().then(() => img.naturalWidth)`;
    expect(await page.evaluate(width)).to.equal(48);
    await row(page, 'empty/').click();
    await panel(page).getByText('empty', { exact: true }).waitFor();
    await row(page, 'src/').click();
    await row(page, 'lib/').click();
    await row(page, 'deep.txt').waitFor();
    await inspectThemes(page, 'workspace-folder');
    const folder = await saved(
      page,
      panel(page).getByRole('button', { name: 'Download folder as ZIP /workspace/src/lib' }),
    );
    expect(folder.name).to.equal('lib.zip');
    expect(Object.keys(await readZip(folder.content))).to.deep.equal(['deep.txt']);
    const all = await saved(
      page,
      panel(page).getByRole('button', { name: 'Download folder as ZIP /workspace', exact: true }),
    );
    expect(all.name).to.equal('workspace.zip');
    await panel(page).getByRole('button', { name: 'Show only this folder' }).click();
    await row(page, 'notes.txt').waitFor({ state: 'detached' });
    await row(page, 'deep.txt').waitFor();
    expect(await names(page)).to.deep.equal(['deep.txt']);
    const heights = `[...document.querySelectorAll('.file-line')].map((line) =>
      line.offsetHeight / line.querySelector('button').offsetHeight)`;
    expect(await page.evaluate(heights), 'one line for each file').to.deep.equal([1, 1]);
    await page.getByRole('button', { name: 'Preview result.txt' }).click();
    await page.locator('.file-line pre', { hasText: 'result' }).waitFor();
    await panel(page).getByLabel('Folder').selectOption('/mnt/session/outputs');
    await row(page, 'result.txt').waitFor();
    await panel(page).getByLabel('Folder').selectOption('/tmp');
    await panel(page).getByText('This folder is empty').waitFor();
    await inspectThemes(page, 'workspace-empty');
  });

  it('workspaces in the console show the files again when a command has changed them, while its turn runs, and keep what is open', async () => {
    const sessionId = await session();
    const page = await openPanel(sessionId);
    const ended = page.locator('.receipt').filter({ hasText: 'Completed' });
    await panel(page).getByText('never yet').waitFor();
    const gates = [new Gate(), new Gate()];
    const commands = [
      'mkdir src; echo one > src/notes.txt; echo old > old.txt',
      'echo two >> src/notes.txt; rm old.txt',
    ];
    system.model.on(
      /^Write/,
      steps(
        toolUse('bash', { command: commands[0] }),
        [wait(gates[0]!), toolUse('bash', { command: commands[1] })],
        [wait(gates[1]!), text('Done.')],
      ),
    );
    await page.getByRole('textbox', { name: 'Message' }).fill('Write');
    await page.getByRole('button', { name: 'Send', exact: true }).click();
    await row(page, 'src/').click();
    await row(page, 'notes.txt').click();
    await panel(page).locator('pre', { hasText: 'one' }).waitFor();
    gates[0]!.open();
    await panel(page).locator('pre', { hasText: 'one\ntwo' }).waitFor();
    expect(await names(page)).to.deep.equal(['src/', 'notes.txt']);
    expect(await fact(page, 'Version').innerText()).to.equal('2');
    expect(await ended.count()).to.equal(0);
    gates[1]!.open();
    await ended.waitFor();
    expect(await names(page)).to.deep.equal(['src/', 'notes.txt']);
  });

  it('workspaces in the console say at each call what it did: its exit code, what stopped it, and the paths that it changed', async () => {
    const sessionId = await session();
    const card = (page: Page, index: number): Locator => page.locator('.tool').nth(index);
    const facts = async (within: Locator): Promise<Record<string, string>> => {
      const texts = await within.locator('.workspace-result .fact-list > div').allInnerTexts();
      return Object.fromEntries(texts.map((text) => text.split(/\n+(.*)/s).slice(0, 2) as [string, string]));
    };
    await call(sessionId, 'bash', { command: 'echo one > a.txt\necho two > b.txt' });
    await call(sessionId, 'bash', { command: 'rm a.txt; echo more >> b.txt; touch {101..125}; exit 3' });
    await call(sessionId, 'bash', { command: 'sleep 60', timeout_ms: 500 });
    await call(sessionId, 'write', { file_path: 'c.txt', content: 'three' });
    await call(sessionId, 'read', {});
    const page = await browser.open(`/sessions/${sessionId}`, { viewport: DESKTOP });
    await card(page, 4).waitFor();
    for (let index = 0; index < 5; index += 1) await card(page, index).locator('summary').click();

    await card(page, 0).locator('pre', { hasText: 'echo one > a.txt\necho two > b.txt' }).waitFor();
    const { 'Ran for': _, ...first } = await facts(card(page, 0));
    expect(first).to.deep.equal({
      ...{ 'Exit code': '0', Workspace: 'version 1', Created: '/workspace/a.txt\n/workspace/b.txt' },
    });
    const second = await facts(card(page, 1));
    expect(second).to.deep.include({ 'Exit code': '3', Modified: '/workspace/b.txt', Deleted: '/workspace/a.txt' });
    expect(second.Created!.split('\n')).to.have.length(20);
    await card(page, 1).getByText('and 5 more changed paths').waitFor();
    await card(page, 1).locator('summary').getByText('exit code 3').waitFor();
    const third = await facts(card(page, 2));
    expect(third).to.deep.include({ Stopped: 'its time was over', Workspace: 'version 2' });
    expect(third).to.not.have.property('Exit code');
    await card(page, 2).locator('pre', { hasText: '"timeout_ms": 500' }).waitFor();
    const fourth = await facts(card(page, 3));
    expect(fourth).to.deep.include({ Workspace: 'version 3', Created: '/workspace/c.txt' });
    expect(await facts(card(page, 4))).to.deep.equal({});
    await card(page, 1).locator('summary').click();
    await inspectThemes(page, 'workspace-results');
    await card(page, 1).locator('summary').click();
    await page.getByRole('tab', { name: 'Result' }).click();
    expect(await facts(page.getByRole('tabpanel'))).to.deep.include({ 'Exit code': '3', Deleted: '/workspace/a.txt' });
  });

  it('workspaces in the console are given to a new session, asking before each command, and to one like it', async () => {
    const page = await browser.open('/sessions/new', { viewport: DESKTOP });
    const box = (name: string): Locator => page.getByRole('checkbox', { name });
    const create = page.getByRole('button', { name: 'Create session' });
    await page
      .getByLabel(/^Model/)
      .and(page.locator(':enabled'))
      .waitFor();
    expect(await box('ask before each command').count()).to.equal(0);
    await box('Workspace').check();
    await box('ask before each command').check();
    await inspectThemes(page, 'workspace-new-session');
    await create.click();
    await page.getByRole('button', { name: 'Workspace', exact: true }).waitFor();
    const asks = { permission_policy: { type: 'always_ask' } };
    const created = async (): Promise<unknown> => {
      const id = /ses_\w+/.exec(page.url())![0];
      return (await system.insist('GET', `/v1/sessions/${id}`)).body.tools;
    };
    expect(await created()).to.deep.equal([{ type: 'workspace', default_config: asks }]);
    system.model.on(/^Ask me/, steps(toolUse('bash', { command: 'echo asked > asked.txt' }), 'Done.'));
    await page.getByRole('textbox', { name: 'Message' }).fill('Ask me');
    await page.getByRole('button', { name: 'Send', exact: true }).click();
    await page.getByRole('button', { name: 'Allow' }).click();
    await page.locator('.receipt').filter({ hasText: 'Completed' }).waitFor();
    await page.locator('.workspace-result').getByText('/workspace/asked.txt').waitFor({ state: 'attached' });

    const first = page.url();
    await page.getByRole('link', { name: 'Same again' }).click();
    await box('Workspace').waitFor();
    expect(await box('ask before each command').isChecked()).to.equal(true);
    await create.click();
    await page.waitForURL((url) => /sessions\/ses_/.test(url.hash) && url.href !== first);
    expect(await created()).to.deep.equal([{ type: 'workspace', default_config: asks }]);

    const configs = [{ name: 'bash', ...asks }];
    const like = await system.session({ tools: [{ type: 'workspace', configs }] });
    await page.goto(page.url().replace(/#.*/, `#/sessions/new?like=${like}`));
    await page.getByText('bash asks').waitFor();
    expect(await box('ask before each command').isChecked()).to.equal(false);
    await create.click();
    await page.getByRole('button', { name: 'Workspace', exact: true }).waitFor();
    expect(await created()).to.deep.equal([{ type: 'workspace', configs }]);
  });

  it('workspaces in the console read large trees in parts', async () => {
    const sessionId = await session();
    await call(sessionId, 'bash', { command: 'for i in {1001..1620}; do : > $i; done' });
    const page = await openPanel(sessionId);
    await row(page, '1500').waitFor();
    expect(await panel(page).locator('.tree-row').count()).to.equal(500);
    await panel(page).getByRole('button', { name: 'Show more' }).click();
    await row(page, '1620').waitFor();
    expect(await panel(page).locator('.tree-row').count()).to.equal(620);
    expect(await panel(page).getByRole('button', { name: 'Show more' }).count()).to.equal(0);
  });

  it('workspaces in the console are absent from sessions without one', async () => {
    const page = await browser.open(`/sessions/${await system.session()}`, { viewport: DESKTOP });
    await page.getByRole('button', { name: 'Details' }).click();
    await page.getByRole('tab', { name: 'Overview' }).waitFor();
    expect(await page.getByRole('button', { name: 'Workspace', exact: true }).count()).to.equal(0);
  });
});

describe('the console of a service without sandboxes', function () {
  this.timeout(60_000);
  const { browser } = useConsole(() => ({ env: { SANDBOX_PROVIDER: 'off' } }));

  it('the console of a service without sandboxes says at the form of a new session that a workspace is not available', async () => {
    const page = await browser.open('/sessions/new', { viewport: DESKTOP });
    await page.getByRole('checkbox', { name: 'Workspace' }).check();
    await page.getByRole('button', { name: 'Create session' }).click();
    await page.getByRole('alert').filter({ hasText: 'workspace_unavailable' }).waitFor();
    expect(await page.getByRole('checkbox', { name: 'Workspace' }).isChecked()).to.equal(true);
    await inspectThemes(page, 'workspace-unavailable');
  });
});
