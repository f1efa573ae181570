import { expect } from 'chai';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ConfigError, type Config } from '../../../src/config.js';
import { apiKeyOf, loadModels } from '../../../src/models/catalogue.js';
import { TEST_MODEL } from '../../support/config.js';

describe('the model catalogue (contract.md §5)', () => {
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
  const faultsOf = (content: string | object | null): Promise<string[]> =>
    load(content).then(
      () => [],
      (error: ConfigError) => error.faults,
    );

  it('comes from MODELS_FILE, in its order', async () => {
    const models = await load([TEST_MODEL, { ...TEST_MODEL, id: 'a', api_key_env: 'A_KEY', thinking: 'adaptive' }]);
    expect([...models.keys()]).to.deep.equal(['test-model', 'a']);
    expect(models.get('test-model')).to.deep.equal(TEST_MODEL);
  });

  it('lists every fault of the file', async () => {
    const faults = await faultsOf([{ ...TEST_MODEL, id: '', context_window: '1', base_url: 'ftp://x', more: 1 }]);
    expect(faults).to.have.length(4);
    for (const part of ['/0/id', '/0/context_window', '/0/base_url', '/0 ']) expect(faults.join('\n')).to.contain(part);
  });

  it('refuses what is no list of models', async () => {
    for (const content of ['', '{', '{}', '[]', [TEST_MODEL, TEST_MODEL], null]) {
      expect(await faultsOf(content), JSON.stringify(content)).to.have.length(1);
    }
    expect(
      await loadModels({ modelsFile: join(dir, 'none') } as Config).catch((error: unknown) => error),
    ).to.be.instanceOf(ConfigError);
  });

  it('names keys, and gives the account key to no other address', () => {
    const env = { ANTHROPIC_API_KEY: 'account', OTHER: 'other' };
    const { base_url: _, ...atAnthropic } = TEST_MODEL;
    expect(apiKeyOf(atAnthropic, env)).to.equal('account');
    expect(apiKeyOf(TEST_MODEL, env)).to.equal(undefined);
    expect(apiKeyOf({ ...TEST_MODEL, api_key_env: 'OTHER' }, env)).to.equal('other');
  });
});
