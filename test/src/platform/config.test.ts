import { expect } from 'chai';
import { ConfigError, loadConfig } from '../../../src/platform/config.js';
import { misspeltSettings } from '../../../src/platform/misspelt-settings.js';
import { loadSettings } from '../../../src/models/settings.js';

const KEY = Buffer.alloc(32, 1).toString('base64');
const GOOD = { DATABASE_URL: 'postgres://localhost/x', ENCRYPTION_KEY: KEY };

const errorsOf = (env: NodeJS.ProcessEnv): string[] => {
  try {
    loadConfig(env);
    return [];
  } catch (error) {
    return (error as ConfigError).problems;
  }
};

describe('the configuration', () => {
  it('the configuration is small: two settings are enough, empty ones count as unset', () => {
    expect(loadConfig({ ...GOOD, PORT: '', RETENTION_DAYS: '' })).to.include({ port: 8080, retentionDays: null });
    const set = loadConfig({ ...GOOD, RETENTION_DAYS: '30', MAINTENANCE: 'off' });
    expect(set).to.include({ retentionDays: 30, maintenance: false });
  });

  it('the configuration lists every error in one message, including those of the models', async () => {
    const wrong = { PORT: 'x', MAX_STEPS: '0', ENCRYPTION_KEY: 'short', MODELS_FILE: '/none' };
    const error = await loadSettings(wrong).catch((fault: unknown) => fault as ConfigError);
    expect(error).to.be.instanceOf(ConfigError);
    const { problems, message } = error as ConfigError;
    expect(problems).to.have.length(5);
    for (const part of ['DATABASE_URL', 'PORT', 'MAX_STEPS', 'ENCRYPTION_KEY', 'MODELS_FILE']) {
      expect(message).to.contain(part);
    }
  });

  it('the configuration names the values that a setting may have', () => {
    expect(errorsOf({ ...GOOD, LOG_LEVEL: 'loud' })).to.deep.equal([
      'LOG_LEVEL must be equal to one of the allowed values: trace, debug, info, warn, error, fatal, silent',
    ]);
  });

  it('the configuration knows a name that is misspelt, and does not take other programs for it', () => {
    const env = { DATABASE_POOL_SISE: '5', RETENTION_DAY: '30', MODEL_FILE: 'x' };
    const others = { HOME: '/', HOSTNAME: 'a', PORTS: '1', DATABASE_URL: 'x', TEMPORAL_ADDRESS: 'x' };
    const sentences = misspeltSettings({ ...env, ...others });
    const named = [
      ['DATABASE_POOL_SISE', 'DATABASE_POOL_SIZE'],
      ['RETENTION_DAY', 'RETENTION_DAYS'],
      ['MODEL_FILE', 'MODELS_FILE'],
    ];
    expect(sentences).to.deep.equal(
      named.map(([name, meant]) => `There is no setting ${name}, it has no effect. Is ${meant} meant?`),
    );
  });

  it('the configuration ignores the variables of other programs', () => {
    const foreign = { HOME: '/', METRIC_PORT: '9', PGHOST: 'x', DATABSE_URL: 'other' };
    expect(loadConfig({ ...GOOD, ...foreign })).to.deep.equal(loadConfig(GOOD));
  });

  it('the configuration refuses settings that contradict each other', () => {
    for (const [part, env] of [
      ['METRICS_PORT', { PORT: '8081', METRICS_PORT: '8081' }],
      ['twice', { ENCRYPTION_KEY: `${KEY},${KEY}` }],
      ['without TEMPORAL_ADDRESS', { TEMPORAL_API_KEY: 'k' }],
      ['in the clear', { TEMPORAL_API_KEY: 'k', TEMPORAL_ADDRESS: 'a:1', TEMPORAL_TLS: 'false' }],
      ['together', { TEMPORAL_TLS_CLIENT_CERT_PATH: '/c' }],
      ['CORS_ORIGINS', { CORS_ORIGINS: 'https://a.example/,*' }],
    ] as const) {
      const errors = errorsOf({ ...GOOD, ...env });
      expect(errors, part).to.have.length(1);
      expect(errors[0]).to.contain(part);
    }
    expect(errorsOf({ ...GOOD, PORT: '0', METRICS_PORT: '0' })).to.deep.equal([]);
  });

  it('the configuration refuses a database address of several hosts by name, and says what to do', () => {
    const problems = (address: string): string[] =>
      ['DATABASE_URL', 'DATABASE_LISTEN_URL'].flatMap((name) => errorsOf({ ...GOOD, [name]: address }));
    const refused = [
      ['postgres://u:p@a:5432,b:5432/x?target_session_attrs=read-write', 'has target_session_attrs'],
      ['postgres://u:p@a/x?target_session_attrs=primary', 'has target_session_attrs'],
      ['postgres://u:p@a,b/x', 'names several hosts'],
      ['postgres://u:p@a/x?load_balance_hosts=random', 'has load_balance_hosts'],
    ];
    for (const [address, what] of refused) {
      const sentence = (name: string): string =>
        `${name} ${what}, and this service connects to one host: give it an address that always leads to the primary ` +
        '(docs/operations/machines.md, "An address of the primary")';
      expect(problems(address!)).to.deep.equal([sentence('DATABASE_URL'), sentence('DATABASE_LISTEN_URL')]);
    }
    expect(problems('postgres://u:p@a:port/x')[0]).to.contain('DATABASE_URL is not a valid address');
    for (const address of [
      'postgres://u:p,q@a/x?sslmode=require',
      'postgresql://%2Fvar%2Frun/x',
      'postgres:///x?host=/run',
    ])
      expect(problems(address), address).to.deep.equal([]);
  });
});
