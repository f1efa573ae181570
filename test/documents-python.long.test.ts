import { expect } from 'chai';
import { spawn, type ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { freePort } from '../src/platform/free-port.js';
import { blocks } from './support/document-blocks.js';
import { eventually } from './support/eventually.js';
import { startFaultyProxy, type FaultyProxy } from './support/faulty-proxy.js';
import { missingPython } from './support/python.js';
import { text as answer, wait } from './support/scripted-model.js';
import { skip } from './support/skip.js';
import { startTurnService, type TurnService } from './support/turns.js';
import { webhookCalls } from './support/webhooks.js';

const WORDS = Array.from({ length: 40 }, (_, n) => `word${n} `);

describe('the code in docs/python.md runs', () => {
  let service: TurnService;
  let proxy: FaultyProxy;
  let port: number;
  before(async function () {
    const missing = missingPython();
    if (missing !== null) skip(this, missing);
    port = await freePort();
    service = await startTurnService({
      config: { mcpAllowedHosts: [`127.0.0.1:${port}`], webhookDeliveries: true, webhookRetrySeconds: [0.2, 1, 1, 1] },
    });
    proxy = await startFaultyProxy(service.url);
  });
  after(async () => {
    await proxy?.close();
    await service?.close();
  });

  const python = (code: string, env: Record<string, string>): ChildProcessByStdio<null, Readable, null> =>
    spawn('python3', ['-'], {
      stdio: ['pipe', 'pipe', 'inherit'],
      env: { PATH: process.env.PATH, ...env },
    }).on('spawn', function (this: ReturnType<typeof spawn>) {
      this.stdin!.end(code);
    }) as unknown as ChildProcessByStdio<null, Readable, null>;

  it('the code in docs/python.md sends its message once and reads its turn whole, through lost answers and cut streams', async () => {
    const [calls, streams] = await blocks('docs/python.md', 'python');
    service.model.on(/Write 40 words/, answer(WORDS));
    const before = (await service.db.query('SELECT FROM turns')).length;
    const passes = { cut: Infinity };
    proxy.faults.push(
      ...[{ answer: { status: 503, headers: { 'X-Should-Retry': 'true', 'Retry-After': '1' } } }, { cut: 20 }, passes],
      ...[{ cut: 'before the answer' as const }, passes],
      ...[{ cut: 'before the answer' as const }, passes],
      { answer: { status: 200 } },
    );
    const child = python(`${calls}\n${streams}`, { BASE: proxy.url, KEY: service.key });
    const [out] = await Promise.all([text(child.stdout), once(child, 'close')]);
    expect(child.exitCode, out).to.equal(0);
    expect((await service.db.query('SELECT FROM turns')).length).to.equal(before + 1);
    const paths = proxy.requests.map(({ method, path }) => `${method} ${path.replace(/ses_\w+/, 'ID')}`);
    expect(paths).to.deep.equal([
      ...Array<string>(3).fill('GET /v1/models'),
      ...Array<string>(2).fill('POST /v1/sessions'),
      ...Array<string>(2).fill('POST /v1/sessions/ID/messages'),
      ...Array<string>(2).fill('GET /v1/sessions/ID/events/stream'),
    ]);
    // Whether deltas came before depends on how fast the stream was opened.
    const [message, end] = out.trim().split('\n').slice(-2);
    expect(message).to.equal(`The whole message: ${WORDS.join('')}`);
    expect(end).to.match(/^turn\.completed \{'input_tokens': \d+, 'output_tokens': \d+\}$/);
  });

  it('the code in docs/python.md resumes a stream inside of a message, without losing or repeating a word', async () => {
    const [calls, streams] = await blocks('docs/python.md', 'python');
    // The answer ends when the last connection is there: resuming needs the deltas of a running turn. Words so long that
    // every cut comes before that, also if all of them are in one delta.
    const rest = service.model.gate();
    const words = Array.from({ length: 40 }, (_, n) => `${n}-${'x'.repeat(200)}|`);
    service.model.on(/Go slowly/, answer(words, { before: { 20: wait(rest) } }));
    const session = await service.session();
    await service.send(session, 'Go slowly');
    const code = `${calls}\n${streams!.slice(0, streams!.indexOf('\nmodel = '))}
for frame_id, event in stream("${session}"):
    if "id" in event: print(event["id"])
    elif event["type"] == "agent.message.delta": print(event["content"])
`;
    proxy.requests.length = 0;
    proxy.faults.push({ cut: 1900 }, { cut: 'before the answer' }, { cut: 700 });
    const child = python(code, { BASE: proxy.url, KEY: service.key });
    void eventually('the fourth connection', () => proxy.requests.length === 4).then(() => rest.open());
    const [out] = await Promise.all([text(child.stdout), once(child, 'close')]);
    const lines = out.trim().split('\n');
    const history = await service.history(session);
    expect(lines.filter((line) => line.startsWith('evt_'))).to.deep.equal(history.map(({ id }) => id));
    // Python prints each delta with a line end. Several words may come as one delta.
    expect(lines.filter((line) => !line.startsWith('evt_')).join('')).to.equal(words.join(''));
    expect(proxy.faults).to.deep.equal([]);
  });

  it('the code in docs/python.md receives a webhook once, and refuses what was not signed', async () => {
    const hooks = webhookCalls(service.api, `http://127.0.0.1:${port}/`);
    const { id, secret } = await hooks.create();
    const [, , code] = await blocks('docs/python.md', 'python');
    const child = python(code!, { WEBHOOK_SECRET: secret, PORT: String(port) });
    let out = '';
    child.stdout.on('data', (chunk) => (out += String(chunk)));
    const exit = once(child, 'close');
    try {
      const session = await service.session();
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
