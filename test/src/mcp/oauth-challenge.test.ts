import { expect } from 'chai';
import { challengeValues, readChallenges } from '../../../src/mcp/oauth/challenge.js';

const URL = 'https://a.example/.well-known/oauth-protected-resource/mcp?a=1,2';

describe('challenges of WWW-Authenticate', () => {
  for (const field of [
    `Bearer resource_metadata="${URL}"`,
    `bearer realm="mcp", Resource_Metadata = "${URL}"`,
    `BEARER resource_metadata='${URL}'`,
    `Basic realm="intranet", Bearer realm="mcp", resource_metadata="${URL}"`,
    `Negotiate, Bearer resource_metadata="${URL}"`,
    `Negotiate oYGeMIGboAMKAQChCwYJKoZIgvcSAQICogcEBQ==, Bearer resource_metadata="${URL}"`,
    `Digest realm="a, b", qop="auth, auth-int", nonce="x", Bearer error="invalid_token", resource_metadata="${URL}"`,
    `Bearer resource_metadata="${URL}", Basic realm="x"`,
    `Bearer realm="say \\"Bearer x=1\\", please", resource_metadata="${URL}"`,
    `Bearer realm="x" resource_metadata="${URL}"`,
    `Bearer, Bearer resource_metadata="${URL}"`,
    `,, \t Basic realm=x , , Bearer error=invalid_token ,resource_metadata="${URL}"`,
    `DPoP algs="ES256", resource_metadata="https://other.example", Bearer resource_metadata="${URL}"`,
  ]) {
    it(`challenges of WWW-Authenticate have the parameter of Bearer: ${field.slice(0, 60)}`, () => {
      expect(challengeValues(readChallenges(field), 'bearer', 'resource_metadata')).to.deep.equal([URL]);
    });
  }

  it('challenges of WWW-Authenticate have values without quotes, and each of a repeated parameter', () => {
    const field = 'Bearer resource_metadata=https://a.example/x, scope="a b", resource_metadata="https://a.example/y"';
    const challenges = readChallenges(field);
    const values = challengeValues(challenges, 'bearer', 'resource_metadata');
    expect(values).to.deep.equal(['https://a.example/x', 'https://a.example/y']);
    expect(challengeValues(challenges, 'bearer', 'scope')).to.deep.equal(['a b']);
  });

  const without = ['', ',', 'Basic realm="Bearer resource_metadata=x"', 'Bearer realm="resource_metadata=x', '"=,'];
  for (const field of without) {
    it(`challenges of WWW-Authenticate do not have a parameter in ${JSON.stringify(field)}`, () => {
      expect(challengeValues(readChallenges(field), 'bearer', 'resource_metadata')).to.deep.equal([]);
    });
  }
});
