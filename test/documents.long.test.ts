import { expect } from 'chai';
import type { ModelEntry } from '../src/models/entry.js';
import { freePort } from '../src/platform/free-port.js';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { startLocalModel, type LocalModel } from '../dev/local-model.js';
import { blocks } from './support/document-blocks.js';
import { eventually } from './support/eventually.js';
import { installClient } from './support/packed-client.js';
import { startMcpServer, type TestMcpServer } from './support/mcp-server.js';
import { readZip } from './support/read-zip.js';
import { requireSandbox } from './support/sandbox.js';
import { startTurnService, type TurnService } from './support/turns.js';
import { webhookCalls } from './support/webhooks.js';

describe('the code in the documents runs', () => {
  let service: TurnService;
  let model: LocalModel;
  let mcp: TestMcpServer;
  const hosts: string[] = [];
  let client: { folder: string; remove: () => Promise<void> };
  before(async () => {
    [model, client] = await Promise.all([startLocalModel({ wordsPerSecond: 0 }), installClient()]);
    mcp = await startMcpServer({ tools: [{ name: 'send' }] });
    hosts.push(mcp.host);
    service = await startTurnService({ models: model.models, config: { mcpAllowedHosts: hosts } });
  });
  after(async () => {
    await service.close();
    await Promise.all([model.close(), mcp.close()]);
    await client.remove();
  });

  const run = async (command: string, args: string[], more: Record<string, string> = {}): Promise<string> => {
    const env = { PATH: process.env.PATH, BASE: service.url, KEY: service.key, MCP_URL: mcp.url, ...more };
    const child = spawn(command, args, { cwd: client.folder, env });
    const [out, faults, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
    expect(code, `${out}\n${faults}`).to.equal(0);
    return out;
  };
  const runModule = async (code: string, more?: Record<string, string>): Promise<string> => {
    const file = join(client.folder, 'example.mjs');
    await writeFile(file, code);
    return run(process.execPath, [file], more);
  };

  it('the packed client has its licence, keywords, every entry point with types and sources, and no link that leads out of it', async () => {
    const folder = join(client.folder, 'node_modules/@agent-session-service/client');
    const read = (path: string): Promise<string> => readFile(join(folder, path), 'utf8');
    const manifest = JSON.parse(await read('package.json')) as {
      license: string;
      keywords: string[];
      exports: Record<string, string | { types: string; default: string }>;
    };
    expect(await read('LICENSE')).to.include('Apache License');
    expect(manifest.license).to.equal('Apache-2.0');
    expect(manifest.keywords).to.include.members(['agent', 'llm']);
    const files = Object.values(manifest.exports).flatMap((entry) =>
      typeof entry === 'string' ? [entry] : [entry.types, entry.default],
    );
    for (const file of files) expect(existsSync(join(folder, file)), file).to.equal(true);
    for (const file of files.filter((path) => path.endsWith('.js'))) {
      const { sources } = JSON.parse(await read(`${file}.map`)) as { sources: string[] };
      for (const source of sources) expect(existsSync(join(folder, file, '..', source)), source).to.equal(true);
    }
    const readme = await read('README.md');
    const links = [...readme.matchAll(/\]\(([^)#]+)/g)].map(([, target]) => target!);
    for (const link of links.filter((target) => !/^https?:/.test(target))) {
      expect(existsSync(join(folder, link)), `README.md links to ${link}`).to.equal(true);
    }
  });

  it('the code in docs/quick-start.md runs: curl', async () => {
    const code = (await blocks('docs/quick-start.md', 'sh')).join('\n');
    const out = await run('bash', ['-euo', 'pipefail', '-c', code]);
    expect(out).to.match(/^ses_/).and.contain('event: turn.completed').and.contain('COMPLETE').and.contain('May,12');
  });

  it('the code in docs/quick-start.md runs: the client', async () => {
    const [code] = await blocks('docs/quick-start.md', 'js');
    expect(await runModule(code!))
      .to.match(/^completed /)
      .and.contain('turn.completed');
  });

  it('the code in docs/results.md runs: the client', async () => {
    const [code] = await blocks('docs/results.md', 'js');
    expect(await runModule(code!)).to.equal('late: 4711, 4712\n');
  });

  it('the code in docs/schedules.md runs: curl and the client', async () => {
    const [shell] = await blocks('docs/schedules.md', 'sh');
    const out = await run('bash', ['-euo', 'pipefail', '-c', shell!], { MODEL: model.models[0]!.id });
    expect(out).to.contain('"state":"started"').and.contain('"state":"paused"').and.contain('"state":"active"');
    const [code] = await blocks('docs/schedules.md', 'js');
    expect(await runModule(code!)).to.match(/^active \[/);
  });

  it('the code in docs/person-in-the-loop.md runs: curl', async () => {
    const code = (await blocks('docs/person-in-the-loop.md', 'sh')).join('\n');
    const out = await run('bash', ['-euo', 'pipefail', '-c', code]);
    expect(out).to.contain('"result":"deny"').and.contain('event: turn.completed');
    expect(mcp.calls).to.deep.equal([]);
  });

  it('the code in docs/person-in-the-loop.md runs: the client', async () => {
    const [code] = await blocks('docs/person-in-the-loop.md', 'js');
    expect(await runModule(code!))
      .to.match(/^completed /)
      .and.contain('"sky":"sunny"')
      .and.contain('goes on');
    expect(mcp.calls[0]).to.deep.include({ name: 'send', arguments: { to: 'ada@example.com' } });
  });

  /** Registers the MCP server that a document shows, while `work` runs. */
  const withServer = async (
    document: string,
    name: string,
    work: (serverId: string) => Promise<void>,
  ): Promise<void> => {
    const port = await freePort();
    hosts.push(`127.0.0.1:${port}`);
    const [code] = await blocks(document, 'mjs');
    const env = { PATH: process.env.PATH, PORT: String(port) };
    const server = spawn(process.execPath, ['--input-type=module', '--eval', code!], { env, stdio: 'inherit' });
    try {
      let serverId = '';
      await eventually('the server is registered', async () => {
        const url = `http://127.0.0.1:${port}/mcp`;
        const { status, body } = await service.api('POST', '/v1/mcp-servers', { name, url });
        serverId = body.id;
        return status === 201;
      });
      await work(serverId);
    } finally {
      server.kill();
    }
  };

  it('the code in docs/person-in-the-loop.md runs: a server that asks', () =>
    withServer('docs/person-in-the-loop.md', 'ops', async () => {
      const [, example] = await blocks('docs/person-in-the-loop.md', 'js');
      expect(await runModule(example!)).to.equal('completed Deployed main.\n');
    }));

  it('the code in docs/mcp.md runs: a server with a task', () =>
    withServer('docs/mcp.md', 'builder', async (serverId) => {
      const sessionId = await service.session({ model_id: model.models[0]!.id, mcp_servers: [serverId] });
      await service.send(sessionId, 'call build with {}');
      await service.ended(sessionId);
      const events = await service.history(sessionId);
      expect(events.find(({ type }) => type === 'agent.tool_progress')).to.include({ message: 'Compiling' });
      expect(events.find(({ type }) => type === 'agent.tool_result')).to.include({ content: 'Built main.' });
    }));

  it('the code in docs/streaming.md runs: a chat page', async () => {
    const [code] = await blocks('docs/streaming.md', 'js');
    expect(await runModule(code!)).to.equal('6 true\n');
  });

  it('the code in docs/talking.md runs: the client', async () => {
    const [code] = await blocks('docs/talking.md', 'js');
    const out = await runModule(code!);
    expect(out)
      .to.match(/^steering true queued\n/)
      .and.contain('completed the first turn')
      .and.contain('completed the queued turn')
      .and.match(/^Answer in Italian\. [12]$/m);
  });

  it('the code in docs/forks.md runs: the client', async () => {
    const [code] = await blocks('docs/forks.md', 'js');
    expect(await runModule(code!)).to.equal('true\n2 turns there,\n2 turns here\n');
  });

  it('the code in docs/workspace.md runs: the client, with a sandbox', async function () {
    await requireSandbox(this);
    const [code] = await blocks('docs/workspace.md', 'js');
    const other = await startTurnService({ models: model.models, config: { sandboxProvider: 'bubblewrap' } });
    try {
      expect(await runModule(code!, { BASE: other.url, KEY: other.key })).to.equal(
        '/workspace/counts.txt 2\n3\n\ndelivered: counts.txt\n',
      );
      expect(Object.keys(await readZip(await readFile(join(client.folder, 'workspace.zip'))))).to.deep.equal([
        'counts.txt',
      ]);
    } finally {
      await other.close();
    }
  });

  it('the code in docs/workspace.md runs: the client, without a sandbox', async () => {
    const [code] = await blocks('docs/workspace.md', 'js');
    expect(await runModule(code!)).to.contain('This service runs no commands');
  });

  it('the code in docs/money.md runs: curl and the client', async () => {
    const [entries, shown] = (await blocks('docs/money.md', 'json')).map((json) => JSON.parse(json) as unknown);
    const prices = (entries as ModelEntry[]).map(({ id, price }) => ({ ...model.models[0]!, id, price }));
    const other = await startTurnService({ models: prices });
    const env = { BASE: other.url, KEY: other.key };
    try {
      const [code] = await blocks('docs/money.md', 'js');
      expect(await runModule(code!, env)).to.match(
        /^budget_reached \{ amount: '0', .+\nend_turn \{ amount: '(0\.\d+)', .+\n\{ amount: '\1', .+\n$/,
      );
      const shell = (await blocks('docs/money.md', 'sh')).join('').replaceAll(/^curl/gm, 'echo; curl');
      const out = await run('bash', ['-euo', 'pipefail', '-c', shell], {
        ...env,
        MODEL: 'claude',
        OTHER_MODEL: 'small',
      });
      const [created, ...sums] = out
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as { items: object[] });
      expect(created).to.deep.include({ model_id: 'claude', fallback_model_ids: ['small'] });
      expect(sums.map(({ items }) => Object.keys(items[0]!))).to.deep.equal(
        sums.map(() => Object.keys(shown as object)),
      );
    } finally {
      await other.close();
    }
  });

  it('the code in docs/mcp.md runs: curl', async () => {
    const [code] = await blocks('docs/mcp.md', 'sh');
    const env = { KEY: await service.newKey({ project: 'reader' }), MCP_TOKEN: 'a-token' };
    const answer = JSON.parse(await run('bash', ['-euo', 'pipefail', '-c', code!], env)) as Record<string, unknown>;
    const [shown] = await blocks('docs/mcp.md', 'json');
    const documented = JSON.parse(shown!) as Record<string, unknown>;
    expect(Object.keys(answer)).to.deep.equal(Object.keys(documented));
    expect(answer).to.deep.include({ name: 'mail', auth: documented.auth, tools: [{ name: 'send', description: '' }] });
  });

  it('the code in docs/webhooks.md runs: the receiver takes what is signed, once, and refuses the rest', async () => {
    const port = await freePort();
    const other = await startTurnService({
      config: { mcpAllowedHosts: [`127.0.0.1:${port}`], webhookDeliveries: true, webhookRetrySeconds: [0.2, 1, 1, 1] },
    });
    const hooks = webhookCalls(other.api, `http://127.0.0.1:${port}/`);
    const { id, secret } = await hooks.create();
    const [code] = await blocks('docs/webhooks.md', 'js');
    const file = join(client.folder, 'receiver.mjs');
    await writeFile(file, code!);
    const env = { PATH: process.env.PATH, WEBHOOK_SECRET: secret, PORT: String(port) };
    const receiver = spawn(process.execPath, [file], { env });
    let out = '';
    receiver.stdout.on('data', (chunk) => (out += String(chunk)));
    try {
      const session = await other.session();
      await other.send(session, 'Hello');
      await other.ended(session);
      const [delivery] = await hooks.deliveries(id);
      await hooks.inState(id, delivery!.id, 'delivered');
      await other.api('POST', `/v1/webhooks/${id}/deliveries/${delivery!.id}/retry`);
      await hooks.until(id, delivery!.id, ({ attempts, state }) => attempts.length >= 2 && state === 'delivered');
      expect(out).to.equal(`turn.completed ${session}\n`);
      const forged = await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', body: '{}' });
      expect(forged.status).to.equal(401);
    } finally {
      receiver.kill();
      await other.close();
    }
  });

  it('the code in docs/cookbook.md runs: a link in an e-mail shows a call, and its button decides', async () => {
    const port = await freePort();
    const other = await startTurnService({
      models: model.models,
      config: { mcpAllowedHosts: [`127.0.0.1:${port}`, mcp.host], webhookDeliveries: true },
    });
    const [code] = await blocks('docs/cookbook.md', 'mjs');
    const { body: hook } = await other.api('POST', '/v1/webhooks', {
      url: `http://127.0.0.1:${port}/hook`,
      event_types: ['agent.requires_action'],
    });
    const file = join(client.folder, 'mail.mjs');
    await writeFile(file, code!);
    const receiver = spawn(process.execPath, [file], {
      env: {
        ...{ PATH: process.env.PATH, BASE: other.url, PORT: String(port), LINK_SECRET: 'a secret of the receiver' },
        ...{ WEBHOOK_SECRET: hook.secret },
        KEY: await other.newKey({ scopes: ['sessions:read', 'sessions:write', 'approvals:write'] }),
      },
    });
    let out = '';
    receiver.stdout.on('data', (chunk) => (out += String(chunk)));
    try {
      const { body: server } = await other.api('POST', '/v1/mcp-servers', { name: 'mail', url: mcp.url });
      const ask = { permission_policy: { type: 'always_ask' } };
      const sessionId = await other.session({
        model_id: model.models[0]!.id,
        mcp_servers: [server.id],
        tools: [{ type: 'mcp_toolset', mcp_server_id: server.id, default_config: ask }],
      });
      await other.send(sessionId, 'call send with {"to": "<b>Ada</b>"}');
      await eventually('the mail is sent', () => out.includes('\n'));
      const link = /http\S+/.exec(out)![0];
      const forged = link.replace(/signature=./, (found) => `${found.slice(0, -1)}${found.endsWith('0') ? '1' : '0'}`);
      const decide = (url: string) => fetch(url, { method: 'POST', body: new URLSearchParams({ result: 'allow' }) });
      expect((await decide(forged)).status).to.equal(403);
      const page = await (await fetch(link)).text();
      expect(page).to.contain('&lt;b>Ada').and.contain('Allow');
      expect((await other.api('GET', `/v1/sessions/${sessionId}`)).body.required_actions).to.have.length(1);
      expect((await decide(link)).status).to.equal(200);
      expect(await other.ended(sessionId)).to.include({ type: 'turn.completed' });
      expect((await fetch(link)).status).to.equal(410);
      const history = await other.history(sessionId);
      expect(history.find(({ type }) => type === 'user.tool_confirmation')).to.include({ actor: 'by e-mail' });
    } finally {
      receiver.kill();
      await other.close();
    }
  });

  it('the code in docs/cookbook.md runs: a person answers what the agent asks', async () => {
    const [code] = await blocks('docs/cookbook.md', 'js');
    expect(await runModule(code!)).to.equal('May order 4711 be returned?\ncompleted\n');
  });

  it('the code in docs/cookbook.md runs: each session of a customer gets what is left of the month', async () => {
    const price = { currency: 'USD', input: 3, output: 15, cache_read: 0.3, cache_write: 3.75 };
    const other = await startTurnService({ models: model.models.map((entry) => ({ ...entry, price })) });
    const [, code] = await blocks('docs/cookbook.md', 'js');
    try {
      expect(await runModule(code!, { BASE: other.url, KEY: other.key })).to.equal('end_turn true\n');
    } finally {
      await other.close();
    }
  });

  it('the code in client/README.md runs', async () => {
    const outs: string[] = [];
    for (const code of await blocks('client/README.md', 'js')) outs.push(await runModule(code));
    expect(outs).to.have.length(5);
    expect(outs[0]).to.contain('completed, ').and.contain('local rule-based model');
    expect(outs[1]).to.equal('true completed\n');
    expect(outs[2]).to.match(/turn\.completed, last frame turn_/);
    expect(outs[3]).to.equal('A text, bytes, a Blob or a ReadableStream.\n');
    expect(outs[4]).to.contain('There is no model of this id.').and.contain('local-rules');
  });
});
