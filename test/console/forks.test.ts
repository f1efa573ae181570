import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { AgentSessionClient, type Session } from '../../client/src/index.js';
import { failure, steps, toolUse } from '../support/scripted-model.js';
import { DESKTOP, inspectSizes, useConsole } from './use-console.js';

/** decisions.md "Forks" in the console. */
describe('forks in the console', function () {
  this.timeout(120_000);
  const { system, browser } = useConsole(() => ({ moreModels: [{ id: 'second', display_name: 'Second' }] }));

  /** A session with two turns, shown. */
  const openTold = async (): Promise<{ page: Page; sessionId: string; turnIds: string[] }> => {
    system.model.on(/^First/, 'The first answer');
    system.model.on(/^Second/, 'The second answer');
    const sessionId = await system.session({ metadata: { title: 'The origin' } });
    const turnIds: string[] = [];
    for (const content of ['First question', 'Second question']) {
      const turn = await system.send(sessionId, content);
      turnIds.push(turn.turnId);
      await system.ended(turn);
    }
    const page = await browser.open(`/sessions/${sessionId}`, { viewport: DESKTOP });
    await page.locator('.receipt').nth(1).waitFor();
    return { page, sessionId, turnIds };
  };
  const turnOf = (page: Page, question: string) =>
    page.getByRole('article', { name: 'Turn' }).filter({ hasText: question });
  const dialog = (page: Page) => page.getByRole('dialog');
  /** The session that the page shows, once it is another one than `before`. */
  const forkShown = async (page: Page, before: string): Promise<Session> => {
    await page.waitForURL((url) => /sessions\/ses_/.test(url.hash) && !url.hash.includes(before));
    const id = /ses_\w+/.exec(page.url())![0];
    return (await system.insist('GET', `/v1/sessions/${id}`)).body as Session;
  };
  const messages = (page: Page): Promise<string[]> => page.locator('.user-message .plain-text').allInnerTexts();
  const answers = (page: Page): Promise<string[]> => page.locator('.agent-text .markdown').allInnerTexts();

  it('forks in the console send an edited message in place of the old one, and lead back to the origin', async () => {
    system.model.on(/^Another/, 'Another answer');
    const { page, sessionId, turnIds } = await openTold();
    await turnOf(page, 'Second question').getByRole('button', { name: 'Edit' }).click();
    expect(await dialog(page).getByLabel('Message').inputValue()).to.equal('Second question');
    await inspectSizes(page, 'fork-edit');
    await dialog(page).getByLabel('Message').fill('Another question');
    await dialog(page).getByRole('button', { name: 'Send in a fork' }).click();
    const fork = await forkShown(page, sessionId);
    expect(fork.forked_from).to.deep.equal({ session_id: sessionId, turn_id: turnIds[0], workspace: null });
    await page.locator('.agent-text', { hasText: 'Another answer' }).waitFor();
    expect(await messages(page)).to.deep.equal(['First question', 'Another question']);
    await inspectSizes(page, 'fork');
    await page.getByRole('link', { name: 'The origin', exact: true }).and(page.locator('.facts a')).click();
    await page.waitForURL((url) => url.hash.includes(sessionId));
    await page.locator('.agent-text', { hasText: 'The second answer' }).waitFor();
    expect(await messages(page)).to.deep.equal(['First question', 'Second question']);
  });

  it('forks in the console are marked in the list, where a long title takes the room and leaves the tags', async () => {
    const title =
      'A title of many words that says what this session is about, and then goes on for longer than any column';
    const origin = await system.session({ metadata: { title, customer: '4711' } });
    await system.insist('POST', `/v1/sessions/${origin}/fork`, { metadata: { title, customer: '4711' } });
    const page = await browser.open('/sessions', { viewport: DESKTOP });
    const rows = page.getByRole('row').filter({ hasText: 'A title of many words' });
    await rows.nth(1).waitFor();
    expect(await rows.getByText('fork', { exact: true }).count()).to.equal(1);
    for (const row of await rows.all()) {
      const [cell, link, tag] = await Promise.all(
        [row.locator('.title-line'), row.locator('.row-link'), row.getByRole('button')].map((one) => one.boundingBox()),
      );
      expect(link!.width / cell!.width).to.be.greaterThan(0.5);
      expect(tag!.x + tag!.width, 'the tag is in sight').to.be.at.most(cell!.x + cell!.width + 1);
      expect(Math.abs(tag!.y - link!.y)).to.be.lessThan(12);
    }
    await inspectSizes(page, 'list-with-fork');
  });

  it('forks in the console ask again with another model', async () => {
    const { page, sessionId } = await openTold();
    await turnOf(page, 'First question').getByRole('button', { name: 'Ask again' }).click();
    await dialog(page).getByLabel('Model').selectOption('Second');
    await dialog(page).getByRole('button', { name: 'Send in a fork' }).click();
    const fork = await forkShown(page, sessionId);
    expect(fork.model_id).to.equal('second');
    await page.locator('.receipt').filter({ hasText: 'Completed' }).waitFor();
    expect(await messages(page)).to.deep.equal(['First question']);
    expect(await answers(page)).to.deep.equal(['The first answer']);
  });

  it('forks in the console copy all up to a turn, and send nothing', async () => {
    const { page, sessionId, turnIds } = await openTold();
    await turnOf(page, 'First question').getByRole('button', { name: 'Fork from here' }).click();
    await dialog(page).getByRole('button', { name: 'Fork', exact: true }).click();
    const fork = await forkShown(page, sessionId);
    expect(fork).to.deep.include({
      status: 'COMPLETE',
      forked_from: { session_id: sessionId, turn_id: turnIds[0], workspace: null },
    });
    await page.locator('.agent-text', { hasText: 'The first answer' }).waitFor();
    expect(await messages(page)).to.deep.equal(['First question']);
  });

  it('forks in the console go on again from where a turn that was continued stopped', async () => {
    let calls = 0;
    system.model.on(/^Try/, () => (calls++ === 0 ? failure('invalid_request_error') : 'Now it works'));
    const sessionId = await system.session();
    await system.ended(await system.send(sessionId, 'Try it'));
    const page = await browser.open(`/sessions/${sessionId}`, { viewport: DESKTOP });
    await page.getByRole('button', { name: 'Continue the turn' }).click();
    await page.locator('.agent-text', { hasText: 'Now it works' }).waitFor();
    await page.locator('.receipt').nth(1).getByRole('button', { name: 'Ask again' }).click();
    await dialog(page).getByRole('button', { name: 'Send in a fork' }).click();
    await forkShown(page, sessionId);
    await page.locator('.agent-text', { hasText: 'Now it works' }).waitFor();
    expect(calls).to.equal(3);
  });

  it('forks in the console edit a message while its turn is open', async () => {
    system.model.on(/^Wait/, steps(toolUse('ask', {}), 'Done'));
    system.model.on(/^Do not wait/, 'At once');
    const sessionId = await system.session({
      tools: [{ type: 'custom', name: 'ask', description: 'Asks', input_schema: { type: 'object' } }],
    });
    await system.send(sessionId, 'Wait for me');
    const page = await browser.open(`/sessions/${sessionId}`, { viewport: DESKTOP });
    await page.getByRole('button', { name: 'Edit' }).click();
    await dialog(page).getByLabel('Message').fill('Do not wait');
    await dialog(page).getByRole('button', { name: 'Send in a fork' }).click();
    await forkShown(page, sessionId);
    await page.locator('.agent-text', { hasText: 'At once' }).waitFor();
  });

  it('forks in the console keep a fork whose message is refused, and send it there when it is sent again', async () => {
    const client = new AgentSessionClient({ baseUrl: system.apis[0]!.url, apiKey: system.key });
    const file = await client.uploadFile({ filename: 'notes.txt', content: new Blob(['Notes']) });
    system.model.on(/^Read/, 'Read');
    const sessionId = await system.session();
    await client.run(sessionId, { content: 'Read it', files: [file.id] });
    await client.deleteFile(file.id);
    const page = await browser.open(`/sessions/${sessionId}`, { viewport: DESKTOP });
    await page.getByRole('button', { name: 'Ask again' }).click();
    await dialog(page).getByRole('button', { name: 'Send in a fork' }).click();
    await dialog(page).getByRole('alert').filter({ hasText: 'file' }).waitFor();
    await dialog(page).getByRole('button', { name: 'Send in a fork' }).click();
    await dialog(page).getByRole('alert').filter({ hasText: 'file' }).waitFor();
    const { body } = await system.insist('GET', '/v1/sessions');
    const forks = body.items.filter(({ forked_from: from }: Session) => from?.session_id === sessionId);
    expect(forks).to.have.length(1);
    await dialog(page).getByRole('link', { name: 'Open the fork' }).click();
    await forkShown(page, sessionId);
  });

  it('forks in the console say that the origin is deleted', async () => {
    const { page, sessionId } = await openTold();
    await turnOf(page, 'First question').getByRole('button', { name: 'Fork from here' }).click();
    await dialog(page).getByRole('button', { name: 'Fork', exact: true }).click();
    await forkShown(page, sessionId);
    await system.insist('DELETE', `/v1/sessions/${sessionId}`);
    await page.reload();
    await page.getByText('a fork of a session that is deleted').waitFor();
  });
});
