import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { freePort } from '../../src/platform/free-port.js';
import { blocks } from '../support/document-blocks.js';
import { startTypeScriptServer } from '../support/sdk-servers/typescript.js';
import { steps, toolUse } from '../support/scripted-model.js';
import { skip } from '../support/skip.js';
import { startTurnService, type TurnService } from '../support/turns.js';
import { confirmation, requiredActions, sendAnswers } from '../support/waiting-turns.js';

const folder = fileURLToPath(new URL('../support/sdk-servers', import.meta.url));

interface Language {
  name: string;
  /** Why it cannot run here; null if it can. */
  missing: () => string | null;
  start: (ports: { server: number; issuer: number }) => Promise<() => Promise<void>>;
}

const LANGUAGES: readonly Language[] = [
  { name: 'TypeScript', missing: () => null, start: ({ server }) => startTypeScriptServer(server) },
  {
    name: 'Python',
    missing: () =>
      process.env.MCP_SDK_PYTHON === undefined ? 'needs the Python SDK; npm run check -- mcp-sdks' : null,
    start: ({ server }) => startProgram(process.env.MCP_SDK_PYTHON!, [join(folder, 'python.py'), String(server)]),
  },
  {
    name: 'Go',
    missing: () => (spawnSync('go', ['version']).status === 0 ? null : 'needs Go'),
    async start({ server, issuer }) {
      const built = await mkdtemp(join(tmpdir(), 'sdk-server-'));
      const program = join(built, 'server');
      const { status, stderr } = spawnSync('go', ['build', '-o', program, '.'], { cwd: join(folder, 'go') });
      expect(status, String(stderr)).to.equal(0);
      // The SDK for Go has no authorization server of its own.
      const stops = [
        await startTypeScriptServer(issuer),
        await startProgram(program, [String(server), `http://127.0.0.1:${issuer}`]),
        () => rm(built, { recursive: true }),
      ];
      return async () => {
        for (const stop of stops) await stop();
      };
    },
  },
];

/** Starts a program that says on stderr when it is running. */
async function startProgram(
  command: string,
  args: string[],
  env: NodeJS.ProcessEnv = {},
): Promise<() => Promise<void>> {
  const child = spawn(command, args, { stdio: ['ignore', 'ignore', 'pipe'], env: { ...process.env, ...env } });
  const said: string[] = [];
  for await (const line of child.stderr.iterator({ destroyOnReturn: false })) {
    said.push(String(line));
    if (said.join('').includes('running on')) break;
  }
  expect(child.exitCode, said.join('')).to.equal(null);
  child.stderr.resume();
  return async () => {
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  };
}

/** The official SDKs of MCP as servers: with OAuth, 2,000 tools and a question. */
for (const { name, missing, start } of LANGUAGES) {
  describe(`a turn with a server of the MCP SDK for ${name}`, () => {
    let service: TurnService | undefined;
    let stop: (() => Promise<void>) | undefined;
    let url: string;

    before(async function () {
      this.timeout(180_000);
      const reason = missing();
      if (reason !== null) skip(this, reason);
      const ports = { server: await freePort(), issuer: await freePort() };
      url = `http://127.0.0.1:${ports.server}/mcp`;
      stop = await start(ports);
      service = await startTurnService({
        config: { mcpAllowedHosts: [`127.0.0.1:${ports.server}`, `127.0.0.1:${ports.issuer}`] },
      });
    });
    after(async () => {
      await service?.close();
      await stop?.();
    });

    it(`a turn with a server of the MCP SDK for ${name} is authorized, lists 2,000 tools, and asks a person`, async function () {
      this.timeout(60_000);
      const { api, model } = service!;
      const registered = await api('POST', '/v1/mcp-servers', { name: 'sdk', url, auth: { type: 'OAUTH' } });
      expect(registered.status, JSON.stringify(registered.body)).to.equal(201);
      const atServer = await fetch(registered.body.auth.authorization_url, { redirect: 'manual' });
      const callback = new URL(atServer.headers.get('location')!);
      const page = await fetch(`${service!.url}${callback.pathname}${callback.search}`);
      expect(page.status, await page.clone().text()).to.equal(200);
      const { body: server } = await api('GET', `/v1/mcp-servers/${registered.body.id}`);
      expect([server.auth.status, server.tools.length, server.tools_left_out]).to.deep.equal(['authorized', 2000, 0]);

      model.on(
        /Go/,
        steps(
          [toolUse('search_tools', { query: 'tool_1999', limit: 1 }, { id: 'toolu_1' })],
          [toolUse('mcp__sdk__tool_1999', { id: 'x-17' }, { id: 'toolu_2' })],
          [toolUse('mcp__sdk__ask', {}, { id: 'toolu_3' })],
          'Done.',
        ),
      );
      const toolset = { type: 'mcp_toolset', mcp_server_id: server.id, elicitation: true };
      const id = await service!.session({ mcp_servers: [server.id], tools: [toolset] });
      await service!.send(id, 'Go');
      const [asked] = await requiredActions(service!, id);
      expect(asked).to.include({ type: 'elicitation', mode: 'form', message: 'Where to?' });
      const { elicitation_id } = asked;
      const answer = { type: 'user.elicitation_result', elicitation_id, action: 'accept', content: { city: 'Rome' } };
      expect((await sendAnswers(service!, id, [answer])).status).to.equal(201);
      expect(await service!.ended(id)).to.include({ type: 'turn.completed' });
      const results = (await service!.history(id)).filter(({ type }) => type === 'agent.tool_result');
      expect(results.map(({ is_error }) => is_error)).to.deep.equal([false, false, false]);
      expect(results[0]!.content).to.include('mcp__sdk__tool_1999');
      expect(results[1]!.content).to.include('x-17');
      expect(results[2]!.content).to.include('To Rome');
    });
  });
}

/** The server that docs/mcp.md shows. */
describe('a turn with the Python server of the documents', () => {
  let service: TurnService | undefined;
  let stop: (() => Promise<void>) | undefined;
  let url: string;

  before(async function () {
    if (process.env.MCP_SDK_PYTHON === undefined) skip(this, 'needs the Python SDK; npm run check -- mcp-sdks');
    const port = await freePort();
    url = `http://127.0.0.1:${port}/mcp`;
    const [code] = await blocks('docs/mcp.md', 'python');
    stop = await startProgram(process.env.MCP_SDK_PYTHON, ['-c', code!], { PORT: String(port) });
    service = await startTurnService({ config: { mcpAllowedHosts: [`127.0.0.1:${port}`] } });
  });
  after(async () => {
    await service?.close();
    await stop?.();
  });

  it('a turn with the Python server of the documents looks an order up, and asks a person before a refund', async () => {
    const { api, model } = service!;
    const body = { name: 'shop', url, required_approvals: [{ name: 'refund' }] };
    const registered = await api('POST', '/v1/mcp-servers', body);
    expect(registered.status, JSON.stringify(registered.body)).to.equal(201);
    const order = { order: 'A-17' };
    model.on(
      /Go/,
      steps(
        [
          toolUse('mcp__shop__find_order', order),
          toolUse('mcp__shop__refund', { ...order, amount: 40 }, { id: 'toolu_r' }),
        ],
        'Done.',
      ),
    );
    const sessionId = await service!.session({ mcp_servers: [registered.body.id] });
    await service!.send(sessionId, 'Go');
    const [action] = await requiredActions(service!, sessionId);
    expect(action).to.deep.include({ title: 'Refund an order', tool_use_id: 'toolu_r' });
    expect(action.annotations).to.include({ destructive: true });
    await sendAnswers(service!, sessionId, [confirmation('toolu_r', 'allow')]);
    await service!.ended(sessionId);
    const results = (await service!.history(sessionId)).filter(({ type }) => type === 'agent.tool_result');
    expect(results[0].content).to.include('lost');
    expect(results[1].content).to.include('Refunded 40 for A-17.');
  });
});
