import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { AgentSessionClient, type McpServer } from '../../client/src/index.js';
import { startOauthPair } from '../support/oauth-server.js';
import { steps, toolUse } from '../support/scripted-model.js';
import { use } from '../support/use.js';
import { DESKTOP, inspectSizes, useConsole } from './use-console.js';

/** decisions.md "User credentials" in the console. */
describe('connections of users in the console', function () {
  this.timeout(120_000);
  const guarded = use(
    () => startOauthPair([{ name: 'search', description: 'Searches the archive', run: () => 'Found it.' }]),
    (pair) => pair.close(),
  );
  const { system, browser } = useConsole(() => ({ allowedHosts: guarded.hosts }));
  let client: AgentSessionClient;
  let tokens: McpServer;
  let archive: McpServer;
  before(async () => {
    client = new AgentSessionClient({ baseUrl: system.apis[0]!.url, apiKey: system.key });
    system.mcp.options.tools = [{ name: 'whoami', run: () => 'You are you.' }];
    tokens = await client.registerMcpServer({ name: 'tokens', url: system.mcp.url, credentials: 'user' });
    archive = await client.registerMcpServer({
      ...{ name: 'archive', url: guarded.mcp.url, credentials: 'user' },
      auth: { type: 'OAUTH' },
    });
    await guarded.consent(archive.auth.authorization_url!).then((url) => fetch(url));
  });

  const start = async (server: McpServer, tool: string, user: string): Promise<string> => {
    system.model.on(/^Go/, steps(toolUse(`mcp__${server.name}__${tool}`, {}), 'Done.'));
    const session = await client.createSession({
      ...{ model_id: 'scripted', mcp_servers: [server.id], user, metadata: { title: `For ${user}` } },
    });
    await client.sendMessage(session.id, { content: 'Go' });
    return session.id;
  };
  const rows = (page: Page) => page.getByRole('list', { name: 'Connections' }).getByRole('listitem');
  const ended = (page: Page): Promise<void> => page.locator('.receipt').filter({ hasText: 'Completed' }).waitFor();
  /** The address of the authorization page, which would open in a tab. */
  const addressIn = async (page: Page): Promise<string> =>
    (await page.getByRole('link', { name: 'Open the authorization page' }).getAttribute('href'))!;
  /** Nothing leaves the page: what it opens in a tab is noted. */
  const open = async (path: string): Promise<Page> => {
    const page = await browser.open('/sessions', { viewport: DESKTOP });
    await page.evaluate('globalThis.open = (url) => { globalThis.opened = url; return null; }');
    await page.evaluate(`location.hash = '${path}'`);
    return page;
  };

  it('the console connects the user of a call that waits, by OAuth, in the conversation', async () => {
    const page = await open(`/sessions/${await start(archive, 'search', 'jane@example.com')}`);
    await page.getByRole('link', { name: 'jane@example.com', exact: true }).waitFor();
    await page.getByRole('button', { name: 'Connect jane@example.com' }).click();
    const address = await addressIn(page);
    expect(await page.evaluate('opened')).to.equal(address);
    await inspectSizes(page, 'connect');
    await fetch(await guarded.consent(address));
    await ended(page);
    await page.getByRole('link', { name: 'jane@example.com', exact: true }).click();
    await rows(page).filter({ hasText: 'Connected' }).waitFor();
    expect(await rows(page).allInnerTexts()).to.have.length(1);
  });

  it('connections of users in the console store a token for the user of a call that waits, from “Waiting for you”', async () => {
    const sessionId = await start(tokens, 'whoami', 'max');
    const page = await open('/inbox');
    await page.getByRole('button', { name: 'Connect max' }).click();
    await page.getByRole('heading', { name: 'Connect a user' }).waitFor();
    expect(await page.getByLabel('User').inputValue()).to.equal('max');
    expect(await page.getByLabel('MCP server').locator('option:checked').innerText()).to.equal('tokens');
    expect(await page.getByLabel('Credential').locator('option').allInnerTexts()).to.deep.equal([
      'Bearer token',
      'Header of its own',
    ]);
    await inspectSizes(page, 'new-connection');
    await page.getByLabel(/^Token/).fill('of-max');
    await page.getByRole('button', { name: 'Store' }).click();
    await rows(page).filter({ hasText: 'max' }).waitFor();
    await page.evaluate(`location.hash = '/sessions/${sessionId}'`);
    await ended(page);
  });

  it('the console declines for a user who does not want to connect', async () => {
    const page = await open(`/sessions/${await start(tokens, 'whoami', 'lea')}`);
    await page.getByRole('button', { name: 'Decline' }).click();
    await page.getByText('Denied by a person').waitFor({ state: 'attached' });
    await ended(page);
  });

  it('the console lists connections of users, connects again and deletes', async () => {
    for (const user of ['ada', 'bob']) {
      await client.putCredential({ mcp_server_id: tokens.id, user, auth: { type: 'BEARER', token: 'secret-of-it' } });
    }
    await client.putCredential({ mcp_server_id: archive.id, user: 'ada', auth: { type: 'OAUTH' } });
    const page = await open('/connections');
    await rows(page).filter({ hasText: 'bob' }).waitFor();
    await page.getByLabel('User').fill('ada');
    await rows(page).filter({ hasText: 'bob' }).waitFor({ state: 'detached' });
    expect(page.url()).to.match(/\?user=ada$/);
    expect(await rows(page).count()).to.equal(2);
    await inspectSizes(page, 'connections');
    await page.getByRole('button', { name: 'Connect ada to archive' }).click();
    await fetch(await guarded.consent(await addressIn(page)));
    await rows(page).filter({ hasText: 'archive' }).getByText('Connected').waitFor();
    expect(await page.content()).to.not.contain('secret-of-it');
    await page.getByRole('button', { name: 'Delete ada at tokens' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await rows(page).nth(1).waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Delete all' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete all' }).click();
    await page.getByText('ada is not connected').waitFor();
    expect((await client.listCredentials({ user: 'ada' })).items).to.deep.equal([]);
    expect((await client.listCredentials({ user: 'bob' })).items).to.have.length(1);
  });

  it('connections of users in the console say as whom a server is called, when it is registered and later', async () => {
    const page = await open('/mcp-servers/new');
    await page.getByLabel(/^Name/).fill('third');
    await page.getByLabel(/^Address/).fill(`${system.mcp.url}?third`);
    await page.getByLabel('Called as').selectOption('user');
    await page.getByRole('button', { name: 'Register' }).click();
    await page.getByRole('link', { name: 'Connections of users' }).waitFor();
    await page.getByLabel('Called as').selectOption('shared');
    await page.getByRole('link', { name: 'Connections of users' }).waitFor({ state: 'detached' });
    const { items } = await client.listMcpServers();
    expect(items.find(({ name }) => name === 'third')!.credentials).to.equal('shared');
  });

  it('connections of users in the console give a new session its user', async () => {
    const page = await open('/sessions/new');
    await page.getByRole('textbox', { name: 'User' }).fill('not a user');
    await page
      .getByLabel(/^Model/)
      .and(page.locator(':enabled'))
      .waitFor();
    await page.getByRole('button', { name: 'Create session' }).click();
    await page.locator('input:invalid:focus').waitFor();
    await page.getByRole('textbox', { name: 'User' }).fill('zoe@example.com');
    await page.getByRole('button', { name: 'Create session' }).click();
    await page.getByText('Nothing has been said yet').waitFor();
    const { items } = await client.listSessions({ limit: 1 });
    expect(items[0]!.user).to.equal('zoe@example.com');
    await page.getByRole('link', { name: 'Same again' }).click();
    expect(await page.getByRole('textbox', { name: 'User' }).inputValue()).to.equal('zoe@example.com');
  });
});

describe('the output of a message in the console', function () {
  this.timeout(60_000);
  const { system, browser } = useConsole();

  it('the output of a message in the console follows the schema that is sent with it', async () => {
    system.model.on(/^Is 4711/, toolUse('give_output', { order: '4711', late: true }));
    const page = await browser.open(`/sessions/${await system.session()}`, { viewport: DESKTOP });
    await page.getByText('Output', { exact: true }).click();
    const schema = page.getByLabel('JSON Schema of the answer');
    await schema.fill('{"type":');
    await page.getByRole('textbox', { name: 'Message' }).fill('Is 4711 late?');
    await page.getByRole('button', { name: 'Send', exact: true }).click();
    await page.getByRole('alert').filter({ hasText: 'not JSON' }).waitFor();
    await page.getByRole('button', { name: 'Insert an example' }).click();
    await inspectSizes(page, 'output-schema');
    await page.getByRole('button', { name: 'Send', exact: true }).click();
    const output = page.getByRole('region', { name: 'Output' });
    await output.waitFor();
    expect(await output.locator('dd').allInnerTexts()).to.deep.equal(['4711', 'true']);
    expect(await schema.inputValue()).to.equal('');
  });
});
