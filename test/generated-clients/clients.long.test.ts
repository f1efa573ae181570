import { expect } from 'chai';
import { execFile, spawnSync } from 'node:child_process';
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { openApiDocument } from '../../api/http/openapi/openapi.js';
import { routes } from '../../api/routes.js';
import { AgentSessionClient } from '../../client/src/index.js';
import { prepareEnvironment } from '../../dev/python-client.mjs';
import { steps, toolUse } from '../support/scripted-model.js';
import { skip } from '../support/skip.js';
import { useMcpServer, useTurnService } from '../support/use.js';

const GENERATORS = ['openapi-python-client==0.29.1', 'datamodel-code-generator==0.89.0'];
const OAPI_CODEGEN = 'github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2';
const here = fileURLToPath(new URL('.', import.meta.url));
const run = promisify(execFile);

/** What a program of a client prints. */
interface Seen {
  turn: string;
  streamed: string[];
  answered: string[];
  history: string[];
  status: string;
  error: string;
}

describe('clients that generators make from the OpenAPI document', function () {
  this.timeout(1_200_000);
  /** The folder of the Python programs. */
  let bin: string;
  const mcp = useMcpServer({ tools: [{ name: 'send' }] });
  const service = useTurnService(() => ({ config: { mcpAllowedHosts: [mcp.host] } }));
  let folder: string;
  let serverId: string;
  before(async function () {
    const environment = await prepareEnvironment('openapi-clients', GENERATORS);
    if (environment.missing !== null) skip(this, environment.missing);
    bin = environment.bin;
    folder = await mkdtemp(join(tmpdir(), 'openapi-clients-'));
    await writeFile(join(folder, 'openapi.json'), JSON.stringify(openApiDocument(routes)));
    const client = new AgentSessionClient({ baseUrl: service.url, apiKey: service.key });
    serverId = (await client.registerMcpServer({ name: 'mail', url: mcp.url })).id;
  });
  after(() => (folder === undefined ? undefined : rm(folder, { recursive: true })));

  const start = (program: string, args: string[], cwd = folder): Promise<{ stdout: string; stderr: string }> =>
    run(program, args, {
      cwd,
      maxBuffer: 2 ** 26,
      env: {
        ...process.env,
        PATH: `${bin}${delimiter}${process.env.PATH}`,
        BASE: service.url,
        KEY: service.key,
        MCP_SERVER_ID: serverId,
      },
    });

  async function expectConversation(use: () => Promise<{ stdout: string }>): Promise<void> {
    service.model.on(/Go/, steps([toolUse('mcp__mail__send', {}, { id: 'toolu_1' })], 'Done.'));
    const { turn, streamed, answered, history, status, error } = JSON.parse((await use()).stdout) as Seen;
    expect(turn).to.match(/^turn_/);
    expect(history).to.deep.equal([
      ...['user.message', 'agent.tool_use', 'agent.requires_action', 'user.tool_confirmation', 'agent.tool_result'],
      ...['agent.message', 'turn.completed'],
    ]);
    expect(streamed.filter((type) => !type.endsWith('.delta'))).to.deep.equal(history);
    expect(answered).to.deep.equal(['user.tool_confirmation']);
    expect({ status, error }).to.deep.equal({ status: 'COMPLETE', error: 'session_not_found' });
    service.model.reset();
  }

  it('openapi-python-client drops nothing, and its client has a conversation', async () => {
    const args = ['generate', '--path', 'openapi.json', '--output-path', 'agents', '--meta', 'none'];
    const { stdout, stderr } = await start('openapi-python-client', [...args, '--fail-on-warning']);
    expect(stdout + stderr).to.not.match(/warning/i);
    // Also the modules that no program uses: a generated module can be one that cannot be imported.
    const imports =
      'import importlib, pkgutil, agents; all = list(pkgutil.walk_packages(agents.__path__, "agents.")); [importlib.import_module(one.name) for one in all]; print(len(all))';
    const imported = await start('python', ['-W', 'error', '-c', imports]);
    expect(Number(imported.stdout)).to.be.greaterThan(routes.length);
    await expectConversation(() => start('python', [join(here, 'use.py'), folder]));
  });

  it('oapi-codegen makes a Go client without numbered types, which has a conversation', async function () {
    if (spawnSync('go', ['version']).status !== 0) skip(this, 'Go is not here');
    const module = join(folder, 'go');
    await cp(join(here, 'go'), module, { recursive: true });
    const generate = ['run', OAPI_CODEGEN, '-config', 'oapi-codegen.yaml', '-o', 'api/api.go', '../openapi.json'];
    await mkdir(join(module, 'api'));
    const { stderr } = await start('go', generate, module);
    expect(stderr).to.not.match(/warning|error/i);
    const code = await readFile(join(module, 'api/api.go'), 'utf8');
    expect(code.match(/^type \w*\d+ .*$/gm)).to.equal(null);
    await start('go', ['vet', './...'], module);
    await expectConversation(() => start('go', ['run', '.'], module));
  });

  it('datamodel-code-generator makes models without numbered names, which read what the service sends', async () => {
    const args = ['--input', 'openapi.json', '--input-file-type', 'openapi', '--output', 'models.py'];
    const generated = await start('datamodel-codegen', [...args, '--output-model-type', 'pydantic_v2.BaseModel']);
    expect(generated.stdout + generated.stderr).to.not.match(/error/i);
    const models = await readFile(join(folder, 'models.py'), 'utf8');
    expect(models.match(/^class \w*\d+\(.*$/gm)).to.equal(null);
    const session = await service.session();
    await service.run(session, 'Hello');
    const page = await service.api('GET', `/v1/sessions/${session}/events`);
    const more = page.body.items.map((event: object) => ({ ...event, a_new_field: 1 }));
    await writeFile(join(folder, 'page.json'), JSON.stringify({ ...page.body, items: more }));
    const code =
      'import models; print(len(models.EventPage.model_validate_json(open("page.json").read()).items), end="")';
    expect((await start('python', ['-c', code])).stdout).to.equal(String(more.length));
  });
});
