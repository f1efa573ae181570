import { expect } from 'chai';
import fc from 'fast-check';
import { TOKEN_SCOPE_NAMES } from '../../../src/projects/permissions.js';
import { permissionsOf, SessionTokens, type SessionToken } from '../../../src/projects/session-token.js';

const key = (byte: number): Buffer => Buffer.alloc(32, byte);
const tokens = new SessionTokens([key(1)]);
const claims: SessionToken = {
  keyId: 'key_01kag8y7m3w9s1p4x2c5v6b7n8',
  familyId: 'ses_first',
  sessionId: 'ses_01kag8y7m3w9s1p4x2c5v6b7n8',
  scopes: new Set(['read', 'answer']),
  actor: 'Jané "x" 🙂',
  approverGroups: new Set(['finance']),
  expiresAt: 2_000_000,
};
const token = tokens.sign(claims);

/** docs/decisions.md "Session tokens". */
describe('the text of a session token', () => {
  it('the text of a session token gives back what it was made of, until it expires', () => {
    expect(tokens.verify(token, 1_999_999)).to.deep.equal(claims);
    expect(tokens.verify(token, 2_000_000)).to.equal(null);
  });

  it('the text of a session token is a bearer token of ASCII characters', () => {
    expect(token).to.match(/^sst_[A-Za-z0-9_-]+\.[A-Za-z0-9_-]{43}$/);
  });

  it('the text of a session token is refused with any one character changed, removed or added', () => {
    const others = 'AQgw059_-.';
    for (let at = 0; at < token.length; at += 1) {
      const cut = token.slice(0, at) + token.slice(at + 1);
      expect(tokens.verify(cut, 0), cut).to.equal(null);
      for (const other of others) {
        const added = token.slice(0, at) + other + token.slice(at);
        expect(tokens.verify(added, 0), added).to.equal(null);
        const changed = token.slice(0, at) + other + token.slice(at + 1);
        if (changed !== token) expect(tokens.verify(changed, 0), changed).to.equal(null);
      }
    }
  });

  it('the text of a session token is refused with the claims of one token and the signature of another', () => {
    const wider = tokens.sign({ ...claims, scopes: new Set(TOKEN_SCOPE_NAMES) });
    const mixed = `${wider.split('.')[0]}.${token.split('.')[1]}`;
    expect(tokens.verify(mixed, 0)).to.equal(null);
  });

  it('the text of a session token is refused when it is anything else', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.string({ unit: 'binary' }).map((text) => `sst_${text}`),
        ),
        (text) => {
          expect(tokens.verify(text, 0)).to.equal(null);
        },
      ),
    );
    expect(tokens.verify(`sst_${'a'.repeat(100_000)}.${'a'.repeat(43)}`, 0)).to.equal(null);
  });

  it('the text of a session token is signed with the newest key, and accepted with each key of the list', () => {
    const rotated = new SessionTokens([key(2), key(1)]);
    expect(rotated.verify(token, 0)).to.deep.equal(claims);
    expect(tokens.verify(rotated.sign(claims), 0)).to.equal(null);
    expect(new SessionTokens([key(2)]).verify(token, 0)).to.equal(null);
  });

  it('the text of a session token fits into a request header with an actor of 128 characters of four bytes', () => {
    const longest = { ...claims, actor: '🙂'.repeat(128), scopes: new Set(TOKEN_SCOPE_NAMES) };
    const signed = tokens.sign(longest);
    expect(signed.length).to.be.below(2048);
    expect(tokens.verify(signed, 0)).to.deep.equal(longest);
    // JSON writes a control character as six.
    const escaped = { ...claims, actor: '\u0001'.repeat(128), scopes: new Set(TOKEN_SCOPE_NAMES) };
    expect(tokens.verify(tokens.sign(escaped), 0)).to.deep.equal(escaped);
  });
});

describe('the permissions of a session token', () => {
  const all = new Set([
    'approvals:write',
    'sessions:read',
    'sessions:write',
    'files:read',
    'files:write',
    'skills:read',
  ]);
  const of = (scopes: SessionToken['scopes'], of_key = all): string[] => [
    ...permissionsOf({ ...claims, scopes }, { scopes: of_key }),
  ];

  it('the permissions of a session token are those that its scopes stand for, and no others of its key', () => {
    expect(of(new Set(['read']))).to.deep.equal(['sessions:read']);
    expect(of(new Set(['send', 'cancel']))).to.deep.equal(['sessions:write']);
    expect(of(new Set(['answer']))).to.deep.equal(['sessions:write', 'approvals:write']);
    expect(of(new Set(['files']))).to.deep.equal(['files:read', 'files:write']);
  });

  it('the permissions of a session token are never more than its key has', () => {
    expect(of(new Set(TOKEN_SCOPE_NAMES), new Set(['sessions:read']))).to.deep.equal(['sessions:read']);
  });
});
