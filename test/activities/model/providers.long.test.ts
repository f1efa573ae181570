import { expect } from 'chai';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { modelCheck } from '../../../ops/doctor/models.js';
import type { ModelEntry } from '../../../src/models/catalogue.js';
import { eventually } from '../../support/eventually.js';
import { GoogleWire } from '../../support/google-wire.js';
import {
  message,
  startScriptedModel,
  text,
  thinking,
  toolUse,
  type ScriptedModel,
} from '../../support/scripted-model.js';
import { expectNoSecrets } from '../../support/secrets.js';
import { startTurnService, type TurnService } from '../../support/turns.js';
import { TEST_MODEL } from '../../support/config.js';

const IDENTITY_TOKEN = 'eyJhbGciOiJub25lIn0.projected-identity-token.sig';

describe('Claude without a key (docs/decisions.md "Running it", MODELS_FILE)', () => {
  const folder = mkdtempSync(join(tmpdir(), 'identity-token-'));
  let saved: NodeJS.ProcessEnv;
  let model: ScriptedModel;
  let wire: GoogleWire;
  let service: TurnService;
  let entries: Record<'vertex' | 'cloud' | 'federated', ModelEntry>;
  before(async () => {
    saved = { ...process.env };
    model = await startScriptedModel();
    wire = await new GoogleWire(model.url, IDENTITY_TOKEN).listen();
    const identityTokenFile = join(folder, 'token');
    writeFileSync(identityTokenFile, IDENTITY_TOKEN, { mode: 0o600 });
    Object.assign(process.env, wire.environment(identityTokenFile), {
      ANTHROPIC_API_KEY: 'key-that-google-never-gets',
    });
    const entry = (id: string, more: Partial<ModelEntry>): ModelEntry => ({
      ...TEST_MODEL,
      ...{ id, display_name: id, model: 'claude-sonnet-5-5' },
      ...more,
    });
    entries = {
      vertex: entry('vertex', {
        provider: { google_vertex: { project: 'test-project', region: 'europe-west1' } },
        base_url: wire.url('vertex/v1'),
      }),
      cloud: entry('cloud', {
        provider: { google_cloud: { project: 'test-project', workspace_id: 'wrkspc_1' } },
        base_url: wire.url('cloud'),
      }),
      federated: entry('federated', { credentials: 'federated', base_url: wire.url('anthropic') }),
    };
    service = await startTurnService({ models: Object.values(entries) });
  });
  after(async () => {
    for (const name of Object.keys(process.env)) if (!(name in saved)) delete process.env[name];
    Object.assign(process.env, saved);
    rmSync(folder, { recursive: true });
    await service.close();
    await Promise.all([wire.close(), model.close()]);
  });
  afterEach(() => {
    model.reset();
    wire.requests.length = 0;
  });

  // oxlint-disable-next-line typescript/no-explicit-any -- a terminal event of any type
  const run = async (model_id: string): Promise<{ session: string; end: any }> => {
    const session = await service.session({ model_id });
    await service.send(session, 'Go');
    return { session, end: await service.ended(session) };
  };

  it("Claude without a key does not count the wait for the first token as the model's time", async () => {
    const WAIT_MS = 3000;
    let open!: () => void;
    wire.tokenGate = new Promise((resolve) => (open = resolve));
    const turn = run('vertex');
    await eventually('the token is asked for', () => wire.tokenRequests > 0);
    await sleep(WAIT_MS);
    open();
    expect((await turn).end.timing.model_ms).to.be.lessThan(WAIT_MS);
  });

  for (const name of ['vertex', 'cloud', 'federated'] as const) {
    it(`${name}: a turn with thinking, a tool and caching, and its token nowhere else`, async () => {
      model.reply(
        message([thinking('Let me see.'), toolUse('deliver_file', { filename: 'a.txt', content: 'hello' })]),
        message([text('Done.')]),
      );
      const { session, end } = await run(name);
      expect(end).to.deep.include({ type: 'turn.completed', stop_reason: 'end_turn' });
      const events = await service.history(session);
      expect(events.map(({ type }) => type)).to.include.members(['agent.thinking', 'agent.file', 'agent.message']);
      const calls = wire.requests.filter(({ path }) => !/count/.test(path));
      expect(calls).to.have.length(2);
      const seen = JSON.stringify(calls.map(({ body }) => body));
      expect(seen).to.contain('cache_control').and.contain('"thinking"').and.contain('"stream":true');
      for (const { headers } of calls) {
        expect(headers['x-api-key']).to.equal(undefined);
        expect(wire.tokens).to.include(headers.authorization!.slice('Bearer '.length));
      }
      await expectNoSecrets(service, session, [...wire.tokens, IDENTITY_TOKEN, 'key-that-google-never-gets'], {
        model,
      });
    });

    it(`${name}: a token that was withdrawn is replaced within the call`, async () => {
      await run(name);
      for (const token of wire.tokens) wire.withdrawn.add(token);
      expect((await run(name)).end).to.include({ type: 'turn.completed' });
    });
  }

  it("Claude without a key reports Google's refusal in plain words, and retries without a retry-after", async () => {
    const quota = { code: 429, message: 'Quota exceeded for claude-sonnet-5-5.', status: 'RESOURCE_EXHAUSTED' };
    wire.replies.push({ status: 429, body: [{ error: quota }] });
    expect((await run('vertex')).end).to.include({ type: 'turn.completed' });
    const denied = { code: 403, message: `Permission denied for ${wire.tokens[0]}.`, status: 'PERMISSION_DENIED' };
    wire.replies.push({ status: 403, body: [{ error: denied }] });
    const { end } = await run('vertex');
    expect(end.error).to.include({ type: 'model_error', retryable: false });
    expect(end.error.message).to.contain('HTTP 403').and.contain('Permission denied for [credential].');
  });

  it('doctor counts tokens with each entry, and names the remedy of a refusal', async () => {
    for (const entry of Object.values(entries))
      expect(await modelCheck(entry, process.env).run()).to.equal('claude-sonnet-5-5 answers');
    const refused = async (status: number): Promise<{ message: string; remedy: string }> => {
      wire.replies.push({ status, body: [{ error: { code: status, message: 'no', status: 'X' } }] });
      return modelCheck(entries.vertex, process.env)
        .run()
        .then(
          () => expect.fail('it must not be ok'),
          (error: unknown) => error as { message: string; remedy: string },
        );
    };
    expect((await refused(403)).remedy).to.contain('roles/aiplatform.user');
    expect((await refused(429)).remedy).to.contain('Ask for quota');
    expect((await refused(404)).message).to.contain('answers 404');
  });
});
