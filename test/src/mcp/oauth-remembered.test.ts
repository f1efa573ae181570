import { expect } from 'chai';
import { RememberedTokens, type OauthServer } from '../../../src/mcp/oauth/remembered.js';

describe('remembered OAuth tokens', () => {
  const server = (id: string, project_id = 'one', credential_version = 1): OauthServer => ({
    id,
    project_id,
    credential_version,
  });
  const current = (token: string): { token: string; expiresAt: number; refreshAt: number } => ({
    token,
    expiresAt: Infinity,
    refreshAt: Infinity,
  });
  const secret = (name: string, length = 8192): string => name.padEnd(length, 'x');

  it('remembered OAuth tokens have the 16 latest secrets of a server', () => {
    const remembered = new RememberedTokens();
    for (let n = 0; n < 20; n += 1) remembered.set(server('a'), current(`t${n}`), [`t${n}`, 'same']);
    const secrets = remembered.secretsOf('a');
    expect(secrets).to.have.length(16).and.include.members(['t19', 't5', 'same']).and.not.include('t4');
    expect(remembered.get(server('a'))?.token).to.equal('t19');
  });

  it('remembered OAuth tokens have at most 64 KiB of secrets of a server', () => {
    const remembered = new RememberedTokens();
    for (let n = 0; n < 9; n += 1) remembered.set(server('a'), current('t'), [secret(`${n}`)]);
    expect(remembered.secretsOf('a').map(([first]) => first)).to.deep.equal([...'12345678']);
  });

  it('remembered OAuth tokens push out the oldest servers of the same project beyond 8 MiB', () => {
    const remembered = new RememberedTokens();
    remembered.set(server('other', 'two'), current('t'), ['kept']);
    const secrets = [...'abcdefgh'].map((name) => secret(name));
    for (let n = 0; n < 128; n += 1) remembered.set(server(`s${n}`), current('t'), secrets);
    expect(remembered.secretsOf('s0')).to.have.length(8);
    remembered.set(server('last'), current('t'), ['one more']);
    expect(remembered.secretsOf('s1')).to.deep.equal([]);
    expect(remembered.get(server('s1'))).to.equal(undefined);
    for (const id of ['s0', 's2', 's127', 'last', 'other']) expect(remembered.secretsOf(id)).not.to.deep.equal([]);
  });

  it('remembered OAuth tokens are forgotten with the server, and with its credential', () => {
    const remembered = new RememberedTokens();
    remembered.set(server('a'), current('t1'), ['first']);
    remembered.set(server('a', 'one', 2), current('t2'), ['second']);
    expect(remembered.secretsOf('a')).to.deep.equal(['second']);
    expect(remembered.get(server('a'))).to.equal(undefined);
    remembered.set(server('a'), current('late'), ['late']);
    expect(remembered.secretsOf('a')).to.deep.equal(['second']);
    remembered.forget('a');
    expect(remembered.secretsOf('a')).to.deep.equal([]);
    expect(remembered.get(server('a', 'one', 2))).to.equal(undefined);
  });

  it('remembered OAuth tokens keep the secrets of a token that is no longer used', () => {
    const remembered = new RememberedTokens();
    remembered.set(server('a'), current('t'), ['echo']);
    remembered.expire('a');
    expect(remembered.get(server('a'))).to.equal(undefined);
    expect(remembered.secretsOf('a')).to.deep.equal(['echo']);
  });
});
