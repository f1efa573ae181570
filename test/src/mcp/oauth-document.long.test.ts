import {
  OAuthMetadataSchema,
  OAuthProtectedResourceMetadataSchema,
  OpenIdProviderDiscoveryMetadataSchema,
} from '@modelcontextprotocol/sdk/shared/auth.js';
import { expect } from 'chai';
import fc from 'fast-check';
import { parseObject, reduceObject } from '../../../src/mcp/oauth/document.js';
import { OauthFailure } from '../../../src/mcp/oauth/failure.js';

const SCHEMAS = [OAuthProtectedResourceMetadataSchema, OAuthMetadataSchema, OpenIdProviderDiscoveryMetadataSchema];
/** One for each field that may be missing or wrong. */
const MAX_ISSUES = 24;

const reducedText = (text: string): Record<string, unknown> => reduceObject(parseObject(text)!);
const reduced = (document: unknown): Record<string, unknown> => reducedText(JSON.stringify(document));
const refusal = (document: unknown): string => {
  try {
    reduced(document);
  } catch (error) {
    expect(error).to.be.instanceOf(OauthFailure);
    return (error as Error).message;
  }
  throw new Error('the document was not refused');
};

describe('OAuth documents', () => {
  it('OAuth documents keep the fields that are used', () => {
    const document = { issuer: 'https://as.example', expires_in: 60, jwks: { keys: [{}] }, claims_supported: ['sub'] };
    expect(reduced({ ...document, client_secret: null })).to.deep.equal({
      issuer: 'https://as.example',
      expires_in: 60,
    });
  });

  it('OAuth documents have lists of at most 1,000 texts of 256 characters', () => {
    const scopes = (count: number, length: number): unknown => ({
      scopes_supported: Array(count).fill('😀'.repeat(length)),
    });
    expect(reduced(scopes(1000, 1)).scopes_supported).to.have.length(1000);
    expect(reduced(scopes(1, 256)).scopes_supported).to.have.length(1);
    expect(refusal(scopes(1001, 1))).to.contain('1000 items (scopes_supported)');
    expect(refusal(scopes(1, 257))).to.contain('256 characters (scopes_supported)');
    expect(refusal({ scopes_supported: ['a', {}] })).to.contain('something else than texts');
    expect(refusal({ 'not ours': Array(1001).fill(0) }))
      .to.contain('1000 items')
      .and.not.to.contain('ours');
  });

  it('OAuth documents have secrets and tokens of at most 8 KiB', () => {
    for (const name of ['access_token', 'refresh_token', 'client_secret', 'client_id', 'authorization_endpoint']) {
      expect(reduced({ [name]: 'x'.repeat(8192) })[name]).to.have.length(8192);
      expect(refusal({ [name]: 'x'.repeat(8193) })).to.contain(`8192 bytes (${name})`);
    }
    expect(reduced({ id_token: 'x'.repeat(20_000) })).to.deep.equal({});
  });

  it('OAuth documents have only text that can be stored, at any depth', () => {
    for (const text of ['\0', '\ud800', 'a\udc00']) {
      for (const document of [
        { issuer: text },
        { scopes_supported: [text] },
        { x: [{ y: text }] },
        { x: { [text]: 1 } },
      ]) {
        expect(refusal(document)).to.contain('NUL');
      }
    }
  });

  it('OAuth documents are objects', () => {
    for (const text of ['', '<html>', '[]', 'null', '"a"', '{"a":']) expect(parseObject(text)).to.equal(null);
  });

  it('OAuth documents nest without limit', () => {
    const text = `{"issuer":${'['.repeat(30_000)}${']'.repeat(30_000)}}`;
    expect(() => reducedText(text)).to.throw(OauthFailure);
    expect(reducedText(text.replace('issuer', 'claims'))).to.deep.equal({});
  });

  it('OAuth documents have lists of addresses with nothing else in them', () => {
    const name = 'authorization_servers';
    expect(reduced({ [name]: ['https://a.example/x'] })).to.deep.equal({ [name]: ['https://a.example/x'] });
    for (const item of ['', 'no address', 'javascript:x'])
      expect(() => reduced({ [name]: [item] }), item).to.throw(OauthFailure, name);
  });

  it('OAuth documents never give a schema of the SDK more than one fault for each field', () => {
    const names = [
      ...Object.keys(OpenIdProviderDiscoveryMetadataSchema.shape),
      ...Object.keys(OAuthProtectedResourceMetadataSchema.shape),
      '__proto__',
      'constructor',
    ];
    // As text, because JSON.stringify cannot write values that nest thousands of levels.
    const leaf = fc
      .oneof(fc.string({ unit: 'binary', maxLength: 300 }), fc.integer(), fc.boolean(), fc.constant(null))
      .map((value) => JSON.stringify(value));
    const long = fc.constantFrom(255, 256, 257, 8192, 8193).map((length) => `"${'x'.repeat(length)}"`);
    const repeated = fc
      .tuple(fc.oneof(leaf, fc.constantFrom('{}', '[]')), fc.constantFrom(0, 1, 20, 1000, 1001, 2000))
      .map(([item, count]) => `[${Array<string>(count).fill(item).join(',')}]`);
    const nested = fc
      .integer({ min: 1, max: 5000 })
      .map((depth) => `${'[{"issuer":'.repeat(depth)}1${'}]'.repeat(depth)}`);
    const field = fc.tuple(fc.constantFrom(...names), fc.oneof(leaf, long, repeated, nested));
    fc.assert(
      fc.property(fc.array(field, { maxLength: 12 }), (fields) => {
        const text = `{${fields.map(([name, value]) => `"${name}":${value}`).join(',')}}`;
        let known: unknown;
        try {
          known = reducedText(text);
        } catch (error) {
          expect(error).to.be.instanceOf(OauthFailure);
          return;
        }
        for (const schema of SCHEMAS) {
          expect(schema.safeParse(known).error?.issues.length ?? 0).to.be.at.most(MAX_ISSUES);
        }
      }),
      { numRuns: 200 },
    );
  });
});
