import { expect } from 'chai';
import { readAuth, type AuthInput } from '../../../src/mcp/auth.js';

/** The place that the refusal names. */
function refusedAt(auth: AuthInput): string | undefined {
  try {
    readAuth(auth);
    return undefined;
  } catch (error) {
    const { type, details } = error as { type: string; details: { errors: { path: string }[] } };
    expect(type).to.equal('validation_error');
    return details.errors[0]!.path;
  }
}

describe('auth of an MCP server', () => {
  it('auth of an MCP server takes exactly the fields of its type', () => {
    expect(refusedAt({ type: 'BEARER' })).to.equal('/auth/token');
    expect(refusedAt({ type: 'HEADER', value: 'x' })).to.equal('/auth/name');
    expect(refusedAt({ type: 'HEADER', name: 'x' })).to.equal('/auth/value');
    expect(refusedAt({ token: 'x' })).to.equal('/auth/token');
    expect(refusedAt({ type: 'BEARER', token: 'x', name: 'y' })).to.equal('/auth/name');
    expect(refusedAt({ type: 'HEADER', name: 'x', value: 'y', token: 'z' })).to.equal('/auth/token');
  });

  const kept =
    'Host content-LENGTH Connection Transfer-Encoding TE Upgrade Mcp-Session-Id MCP-Protocol-Version Accept Content-Type ' +
    'Last-Event-ID Proxy-Authorization Sec-Fetch-Mode';
  for (const name of ['', 'a b', 'a:b', 'a\r\nb', 'é', ...kept.split(' '), 'x'.repeat(129)]) {
    it(`auth of an MCP server refuses the header name ${JSON.stringify(name.slice(0, 40))}`, () => {
      expect(refusedAt({ type: 'HEADER', name, value: 'secret' })).to.equal('/auth/name');
    });
  }

  const lines = ['a\r\nX-Other: b', 'a\nb', 'a\rb', 'a\0b'];
  for (const value of ['', ' ', ...lines, ' a', 'a ', 'schlüssel', '🔑', 'x'.repeat(8193)]) {
    it(`auth of an MCP server refuses the value ${JSON.stringify(value.slice(0, 40))}`, () => {
      expect(refusedAt({ type: 'HEADER', name: 'X-Key', value })).to.equal('/auth/value');
      expect(refusedAt({ type: 'BEARER', token: value })).to.equal('/auth/token');
    });
  }
});
