import { expect } from 'chai';
import { execFile, spawn, type ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { startLocalModel, type LocalModel } from '../dev/local-model.js';
import { preparePythonClient, project } from '../dev/python-client.mjs';
import { freePort } from '../src/platform/free-port.js';
import { blocks } from './support/document-blocks.js';
import { skip } from './support/skip.js';
import { startTurnService, type TurnService } from './support/turns.js';
import { webhookCalls } from './support/webhooks.js';

const exec = promisify(execFile);

/** The wheel, in an environment with nothing but what it depends on. */
describe('the Python code in the documents runs with the wheel', () => {
  let service: TurnService;
  let model: LocalModel;
  let folder: string;
  let port: number;
  before(async function () {
    this.timeout(600_000);
    const { bin, missing } = await preparePythonClient();
    if (missing !== null) skip(this, missing);
    folder = await mkdtemp(join(tmpdir(), 'python-wheel-'));
    const pip = ['-m', 'pip', '--quiet', '--disable-pip-version-check'];
    const build = [...pip, 'wheel', project, '--no-deps', '--no-build-isolation', '--wheel-dir', folder];
    await exec(join(bin, 'python'), build);
    const [wheel] = await readdir(folder);
    await exec(join(bin, 'python'), ['-m', 'venv', join(folder, 'venv')]);
    await exec(join(folder, 'venv/bin/python'), [...pip, 'install', join(folder, wheel!)]);
    port = await freePort();
    model = await startLocalModel({ wordsPerSecond: 0 });
    service = await startTurnService({
      models: model.models,
      config: { mcpAllowedHosts: [`127.0.0.1:${port}`], webhookDeliveries: true, webhookRetrySeconds: [0.2, 1, 1, 1] },
    });
  });
  after(async () => {
    await service?.close();
    await model?.close();
    if (folder !== undefined) await rm(folder, { recursive: true });
  });

  const start = (code: string, env: Record<string, string> = {}): ChildProcessByStdio<null, Readable, Readable> =>
    spawn(join(folder, 'venv/bin/python'), ['-'], {
      cwd: folder,
      stdio: ['pipe', 'pipe', 'pipe'],
      env: {
        PATH: process.env.PATH,
        AGENT_SESSION_BASE_URL: service.url,
        AGENT_SESSION_API_KEY: service.key,
        ...env,
      },
    }).on('spawn', function (this: ReturnType<typeof spawn>) {
      this.stdin!.end(code);
    }) as unknown as ChildProcessByStdio<null, Readable, Readable>;
  const run = async (code: string): Promise<string> => {
    const child = start(code);
    const [out, faults] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
    expect(child.exitCode, `${out}\n${faults}`).to.equal(0);
    return out;
  };

  it('the Python code in the documents runs with the wheel: README.md of the package', async () => {
    const [code] = await blocks('python/README.md', 'python');
    expect(await run(code!)).to.match(/\ncompleted:\n\S/);
  });

  it('the Python code in the documents runs with the wheel: docs/python.md', async () => {
    const code = await blocks('docs/python.md', 'python');
    const outs: string[] = [];
    for (const block of code.slice(0, -1)) outs.push(await run(block));
    const [conversation, desk, elsewhere, output, stream, many, files, errors] = outs;
    expect(conversation).to.match(/^completed, \d+ tokens: /m);
    expect(desk)
      .to.include('The tool said: {"customer":"Ada"')
      .and.match(/completed\n$/);
    expect(elsewhere).to.equal('completed Formal, and short.\n');
    expect(output).to.equal('two\n');
    expect(stream).to.match(/\nturn\.completed, last frame \S+\n$/);
    expect(many).to.equal('2\nTrue\n');
    expect(files).to.equal('A-17,lost Bytes need a name.\n');
    expect(errors).to.match(/^404 session_not_found True\nunknown_model \['/);
  });

  it('the Python code in the documents runs with the wheel: a webhook is taken once, and what was not signed is refused', async () => {
    const hooks = webhookCalls(service.api, `http://127.0.0.1:${port}/`);
    const { id, secret } = await hooks.create();
    const code = (await blocks('docs/python.md', 'python')).at(-1)!;
    const child = start(code, { WEBHOOK_SECRET: secret, PORT: String(port) });
    let out = '';
    child.stdout.on('data', (chunk) => (out += String(chunk)));
    const exit = once(child, 'close');
    try {
      const session = (await service.api('POST', '/v1/sessions', { model_id: model.models[0]!.id })).body.id as string;
      await service.send(session, 'Hello');
      await service.ended(session);
      const [delivery] = await hooks.deliveries(id);
      await hooks.inState(id, delivery!.id, 'delivered');
      await service.api('POST', `/v1/webhooks/${id}/deliveries/${delivery!.id}/retry`);
      await hooks.until(id, delivery!.id, ({ attempts, state }) => attempts.length >= 2 && state === 'delivered');
      expect(out).to.equal(`turn.completed ${session}\n`);
      const now = String(Math.floor(Date.now() / 1000));
      const wrong = { 'webhook-id': 'x', 'webhook-timestamp': now, 'webhook-signature': 'v1,AAAA' };
      for (const headers of [undefined, wrong]) {
        const forged = await fetch(`http://127.0.0.1:${port}/`, {
          method: 'POST',
          body: '{}',
          ...(headers && { headers }),
        });
        expect(forged.status).to.equal(401);
      }
    } finally {
      child.kill();
      await exit;
    }
  });
});
