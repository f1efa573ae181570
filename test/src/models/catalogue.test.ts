import { expect } from 'chai';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { listen } from '../../../api/http/core/server.js';
import { ConfigError, type Config } from '../../../src/platform/config.js';
import { BUILT_IN_MODELS } from '../../../src/models/built-in.js';
import { apiKeyOf, checkModels, loadModels } from '../../../src/models/catalogue.js';
import { TEST_MODEL } from '../../support/config.js';

describe('the model catalogue (decisions.md "Running it")', () => {
  let dir: string;
  before(() => {
    dir = mkdtempSync(join(tmpdir(), 'models-'));
  });
  after(() => rmSync(dir, { recursive: true }));

  const load = (content: string | object | null) => {
    const modelsFile = content === null ? null : join(dir, 'models.json');
    if (modelsFile !== null) writeFileSync(modelsFile, typeof content === 'string' ? content : JSON.stringify(content));
    return loadModels({ modelsFile, anthropicApiKey: null } as Config);
  };
  const errorsOf = (content: string | object | null): Promise<string[]> =>
    load(content).then(
      () => [],
      (error: ConfigError) => error.problems,
    );

  it('the model catalogue comes from MODELS_FILE, in its order', async () => {
    const models = await load([TEST_MODEL, { ...TEST_MODEL, id: 'a', api_key_env: 'A_KEY', thinking: 'adaptive' }]);
    expect([...models.keys()]).to.deep.equal(['test-model', 'a']);
    expect(models.get('test-model')).to.deep.equal(TEST_MODEL);
  });

  it('the model catalogue lists every error of the file', async () => {
    const errors = await errorsOf([{ ...TEST_MODEL, id: '', context_window: '1', base_url: 'ftp://x', more: 1 }]);
    expect(errors).to.have.length(4);
    for (const part of ['/0/id', '/0/context_window', '/0/base_url', '/0 ']) expect(errors.join('\n')).to.contain(part);
  });

  it('the model catalogue refuses a file that is not a list of models', async () => {
    for (const content of ['', '{', '{}', '[]', [TEST_MODEL, TEST_MODEL], null]) {
      expect(await errorsOf(content), JSON.stringify(content)).to.have.length(1);
    }
    expect(
      await loadModels({ modelsFile: join(dir, 'none') } as Config).catch((error: unknown) => error),
    ).to.be.instanceOf(ConfigError);
  });

  it('the model catalogue names keys, and gives the account key to no other address', () => {
    const env = { ANTHROPIC_API_KEY: 'account', OTHER: 'other' };
    const { base_url: _, ...atAnthropic } = TEST_MODEL;
    expect(apiKeyOf(atAnthropic, env)).to.equal('account');
    expect(apiKeyOf(TEST_MODEL, env)).to.equal(undefined);
    expect(apiKeyOf({ ...TEST_MODEL, api_key_env: 'OTHER' }, env)).to.equal('other');
  });

  it('the model catalogue reads the provider of a model, and refuses one that is incomplete or has a key as well', async () => {
    const { base_url: _, ...plain } = TEST_MODEL;
    const vertex = { ...plain, provider: { google_vertex: { project: 'p', region: 'eu' } } };
    const cloud = { ...plain, id: 'cloud', provider: { google_cloud: { project: 'p', workspace_id: 'w' } } };
    const federated = { ...plain, id: 'federated', credentials: 'federated' };
    const models = await load([vertex, cloud, federated]);
    expect([...models.values()]).to.deep.equal([vertex, cloud, federated]);
    for (const entry of models.values()) expect(apiKeyOf(entry, { ANTHROPIC_API_KEY: 'key' })).to.equal(undefined);

    for (const provider of ['google', {}, { google_vertex: { project: 'p' } }, { google_cloud: { region: 'eu' } }])
      expect((await errorsOf([{ ...plain, provider }])).join(), JSON.stringify(provider)).to.contain('/0/provider');
    for (const second of [
      { ...vertex, api_key_env: 'KEY' },
      { ...vertex, credentials: 'federated' },
    ])
      expect((await errorsOf([second])).join()).to.contain('two kinds of credentials');
  });

  it('the model catalogue reads prices, and refuses those that are incomplete, negative, too precise or in two currencies', async () => {
    const price = { currency: 'USD', input: 3, output: 15, cache_read: 0.3, cache_write: 999_999_999.999999 };
    const priced = { ...TEST_MODEL, price };
    expect((await load([priced, { ...TEST_MODEL, id: 'free' }])).get(TEST_MODEL.id)).to.deep.equal(priced);

    const { cache_write: _, ...incomplete } = price;
    for (const [wrong, part] of [
      [incomplete, '/0/price must have required property'],
      [{ ...price, input: -1 }, '/0/price/input'],
      [{ ...price, input: '3' }, '/0/price/input'],
      [{ ...price, currency: 'dollars' }, '/0/price/currency'],
      [{ ...price, currency: undefined }, '/0/price must have required property'],
      [{ ...price, batch: 1 }, '/0/price must NOT have additional'],
      [{ ...price, output: 0.1234567 }, 'for output: at most 9 digits before and 6 after the point'],
      [{ ...price, output: 1_000_000_000 }, 'for output: at most 9 digits'],
      [{ ...price, output: 1e-7 }, 'for output: at most 9 digits'],
    ] as const) {
      expect((await errorsOf([{ ...TEST_MODEL, price: wrong }])).join(), JSON.stringify(wrong)).to.contain(part);
    }
    const euros = { ...TEST_MODEL, id: 'euros', price: { ...price, currency: 'EUR' } };
    expect((await errorsOf([priced, euros])).join()).to.contain('prices in USD and EUR: use one currency');
  });

  it('the model catalogue asks at the start for what identity federation needs', async () => {
    const file = join(dir, 'models.json');
    const { base_url: _, ...plain } = TEST_MODEL;
    writeFileSync(file, JSON.stringify([{ ...plain, credentials: 'federated' }]));
    const fault = await checkModels({ MODELS_FILE: file, ANTHROPIC_ORGANIZATION_ID: 'o' }).catch(
      (error: Error) => error,
    );
    expect(String(fault))
      .to.contain('ANTHROPIC_FEDERATION_RULE_ID must be set')
      .and.contain('ANTHROPIC_IDENTITY_TOKEN_FILE must be set')
      .and.not.contain('ORGANIZATION');
  });

  describe("from an account's models", () => {
    let server: Server;
    let answer: (after: string | null) => object | null;
    before(async () => {
      server = createServer((req, res) => {
        const page = answer(new URL(req.url!, 'http://host').searchParams.get('after_id'));
        res.writeHead(page === null ? 401 : 200, { 'Content-Type': 'application/json' });
        res.end(JSON.stringify(page ?? { type: 'error', error: { type: 'authentication_error', message: 'no' } }));
      });
      const { port } = await listen(server, '127.0.0.1', 0);
      process.env.ANTHROPIC_BASE_URL = `http://127.0.0.1:${port}`;
    });
    after(() => {
      delete process.env.ANTHROPIC_BASE_URL;
      server.close();
    });

    const model = (id: string, thinking: object | null, more: object = {}): object => ({
      type: 'model',
      id,
      display_name: id.toUpperCase(),
      lifecycle: 'active',
      capabilities: thinking && { thinking },
      max_input_tokens: 1_000_000,
      max_tokens: 128_000,
      ...more,
    });
    const types = (adaptive: boolean): object => ({ adaptive: { supported: adaptive }, enabled: { supported: true } });
    const fromAccount = () => loadModels({ modelsFile: null, anthropicApiKey: 'key' } as Config);

    it("the model catalogue from an account's models reads every page, with limits and thinking modes, without retired models", async () => {
      const pages: Record<string, object> = {
        null: {
          data: [
            model('a', { supported: true, types: types(true) }),
            model('b', { supported: true, types: types(false) }),
          ],
          has_more: true,
          last_id: 'b',
        },
        b: {
          data: [
            model('c', null, { max_input_tokens: null, max_tokens: null }),
            model('old', null, { lifecycle: 'retired' }),
          ],
          has_more: false,
          last_id: 'old',
        },
      };
      answer = (after) => pages[String(after)]!;
      const models = await fromAccount();
      expect([...models.values()].map(({ id, thinking }) => [id, thinking])).to.deep.equal([
        ['a', 'adaptive'],
        ['b', 'budget'],
        ['c', 'none'],
      ]);
      expect(models.get('a')).to.include({
        context_window: 1_000_000,
        max_output_tokens: 128_000,
        supports_thinking: true,
      });
      expect(models.get('c')).to.include({ context_window: 200_000, supports_thinking: false });
    });

    it("the model catalogue from an account's models falls back to the built-in list when the models cannot be listed", async () => {
      answer = () => null;
      expect([...(await fromAccount()).values()]).to.deep.equal(BUILT_IN_MODELS);
    });
  });
});
