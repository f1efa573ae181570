import { execFile } from 'node:child_process';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { AgentSessionClient } from '../../client/src/index.js';
import { preparePythonClient, project } from '../../dev/python-client.mjs';
import { startCaseServer } from '../support/case-server.js';
import { startFaultyProxy, type Fault, type FaultyProxy } from '../support/faulty-proxy.js';
import { closeServer, listen } from '../support/listen.js';
import { steps, text, toolUse, wait, type Gate } from '../support/scripted-model.js';
import { skip } from '../support/skip.js';
import { startMcpServer, type TestMcpServer } from '../support/mcp-server.js';
import { newToken } from '../support/tokens.js';
import { startTurnService, type TurnService } from '../support/turns.js';
import { use } from '../support/use.js';

const WORDS = Array.from({ length: 40 }, (_, n) => `word${n} `);
const run = promisify(execFile);

describe('the Python client', () => {
  let bin: string;
  before(async function () {
    this.timeout(600_000);
    const found = await preparePythonClient();
    if (found.missing !== null) skip(this, found.missing);
    bin = found.bin;
  });

  const program = async (name: string, args: string[], env: Record<string, string> = {}): Promise<string> => {
    try {
      const { stdout } = await run(join(bin, name), args, {
        cwd: project,
        env: { ...process.env, PATH: `${bin}:${process.env.PATH}`, ...env },
        maxBuffer: 2 ** 26,
      });
      return stdout;
    } catch (error) {
      const { stdout, stderr } = error as { stdout: string; stderr: string };
      throw new Error(`${name} ${args.join(' ')} failed:\n${stdout}\n${stderr}`, { cause: error });
    }
  };

  describe('with a service', () => {
    let service: TurnService;
    let mcp: TestMcpServer;
    let proxy: FaultyProxy;
    let gate: Gate;
    let serverId: string;
    const cases = use(startCaseServer, (started) => started.close());
    const control = use(
      async () => {
        const server = createServer((req, res) => {
          void (async () => {
            const body = await buffer(req);
            if (req.url === '/faults') {
              proxy.requests.length = 0;
              proxy.faults = JSON.parse(body.toString()) as Fault[];
            } else if (req.url === '/gate') {
              // A turn that comes later would wait for the next one.
              await gate.reached;
              gate.open();
              gate = service.model.gate();
            }
            if (req.url === '/token') {
              const { session_id, ...more } = JSON.parse(body.toString()) as { session_id: string };
              res.end(await newToken(service, session_id, more));
            } else res.end(JSON.stringify(proxy.requests.map(({ method, path }) => ({ method, path }))));
          })();
        });
        const { url } = await listen(server);
        return { url, close: () => closeServer(server) };
      },
      (started) => started.close(),
    );
    before(async () => {
      mcp = await startMcpServer({ tools: [{ name: 'send' }] });
      // The model stands still at its gate until 200 streams have come there, which takes a busy machine long. Called again, it
      // would say its words twice.
      service = await startTurnService({ config: { mcpAllowedHosts: [mcp.host], modelIdleSeconds: 600 } });
      proxy = await startFaultyProxy(service.url);
      gate = service.model.gate();
      const client = new AgentSessionClient({ baseUrl: service.url, apiKey: service.key });
      serverId = (await client.registerMcpServer({ name: 'mail', url: mcp.url })).id;
      const weather = (id: string, input: string) => toolUse('get_weather', input, { id });
      const mail = (id: string) => toolUse('mcp__mail__send', {}, { id });
      service.model.on(/^Count/, text(WORDS));
      service.model.on(/^Go slowly/, () => text(WORDS, { every: 5, before: { [WORDS.length - 1]: wait(gate) } }));
      service.model.on(
        /^Weather/,
        steps([weather('toolu_w', '{"city":"Rome","n":123456789012345678901234567890}')], 'Sunny.'),
      );
      service.model.on(/^Mail/, steps([mail('toolu_1'), mail('toolu_2')], 'Done.'));
      const delegate = toolUse('agent__mailer', { message: 'Mail' }, { id: 'toolu_1' });
      service.model.on(/^Delegate/, steps([delegate], 'It is sent.'));
      service.model.on(/^Output/, [toolUse('give_output', { late: [4711], note: null })]);
    });
    after(async () => {
      await proxy?.close();
      await service?.close();
      await mcp?.close();
    });

    it('the Python client passes its tests', async function () {
      this.timeout(600_000);
      const env = {
        TEST_SERVICE: service.url,
        TEST_PROXY: proxy.url,
        TEST_KEY: service.key,
        TEST_CASES: cases.url,
        TEST_CONTROL: control.url,
        TEST_SERVER_ID: serverId,
      };
      const pytest = (...files: string[]) =>
        program('python', ['-m', 'pytest', '-q', '-p', 'no:cacheprovider', ...files], env);
      // Only the tests of one file ask for faults.
      const outs = await Promise.all([
        pytest('tests/test_service.py'),
        pytest('tests/test_cases.py', 'tests/test_parts.py'),
      ]);
      for (const out of outs)
        expect(out)
          .to.match(/\d+ passed/)
          .and.not.match(/skipped|warning/);
    });
  });

  it('the Python client has the form that ruff wants', async () => {
    await program('ruff', ['check', '.']);
    await program('ruff', ['format', '--check', '.']);
  });

  it('the Python client and its examples have no error of pyright and mypy in their strict modes', async function () {
    this.timeout(600_000);
    await program('mypy', []);
    await program('pyright', ['--pythonpath', join(bin, 'python'), '--warnings']);
  });
});
