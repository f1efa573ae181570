import type { IncomingHttpHeaders } from 'node:http';
import { createServer } from 'node:http';
import { expect } from 'chai';
import { createMcpNetwork, type GuardedNetwork } from '../../../src/network/network.js';
import { OauthRefusedError, OauthUnavailableError } from '../../../src/mcp/oauth/failure.js';
import { isForgotten, requestTokens } from '../../../src/mcp/oauth/request-tokens.js';
import type { OauthClient } from '../../../src/mcp/oauth/store.js';
import { failureOf } from '../../support/failure.js';
import { closeServer, listen } from '../../support/listen.js';

const FORM_TYPE = 'application/x-www-form-urlencoded';
const TOKENS = { access_token: 'access-token', token_type: 'Bearer' };
const REFRESH = { grant_type: 'refresh_token', refresh_token: 'old-refresh' };
const CLIENT = { client_id: 'client-1', client_secret: 'client-secret' };

interface Asked {
  form: Record<string, string>;
  /** The decoded credentials of Basic. */
  basic: string | undefined;
}
interface Answer {
  status?: number;
  type?: string;
  body: unknown;
}

/** RFC 6749 §5 against authorization servers as they are. */
describe('requests to a token endpoint', () => {
  let url: string;
  let network: GuardedNetwork;
  let answer: (asked: Asked) => Answer;
  let asked: Asked[];
  const http = createServer((req, res) => {
    const chunks: Buffer[] = [];
    req.on('data', (chunk: Buffer) => chunks.push(chunk));
    req.on('end', () => {
      const form = Object.fromEntries(new URLSearchParams(Buffer.concat(chunks).toString()));
      const request = { form, basic: basicOf(req.headers) };
      asked.push(request);
      const { status = 200, type = 'application/json', body } = answer(request);
      res.writeHead(status, { 'content-type': type }).end(typeof body === 'string' ? body : JSON.stringify(body));
    });
  });
  before(async () => {
    const { host, url: base } = await listen(http);
    url = base;
    network = createMcpNetwork([host]);
  });
  beforeEach(() => {
    asked = [];
  });
  after(async () => {
    await network.close();
    await closeServer(http);
  });

  const serverOf = (token_endpoint_auth_methods_supported?: string[]) => ({
    issuer: url,
    authorization_endpoint: `${url}/auth`,
    token_endpoint: `${url}/token`,
    response_types_supported: ['code'],
    code_challenge_methods_supported: ['S256'],
    ...(token_endpoint_auth_methods_supported && { token_endpoint_auth_methods_supported }),
  });
  const request = (client: OauthClient = CLIENT, supported?: string[]) =>
    requestTokens(network, { client, server: serverOf(supported) }, REFRESH);
  const failure = (): Promise<Error> => failureOf(request());

  describe('read tokens', () => {
    for (const [what, given, expected] of [
      ['a type in lower case', { token_type: 'bearer' }, {}],
      ['no type', { token_type: undefined }, {}],
      ['a lifetime as a text', { expires_in: '3600' }, { expires_in: 3600 }],
      ['a lifetime with a fraction', { expires_in: 3599.5 }, { expires_in: 3599.5 }],
      ['a lifetime that is no number', { expires_in: 'never' }, {}],
      ['a lifetime of 0', { expires_in: 0 }, {}],
      ['nulls', { expires_in: null, refresh_token: null, scope: null, error: null }, {}],
      ['an empty refresh token', { refresh_token: '' }, {}],
      ['a list of scopes', { scope: ['a', 'b'] }, {}],
      ['an error beside them', { error: 'none', error_description: '' }, {}],
    ] as const) {
      it(`tokens are read when they have ${what}`, async () => {
        answer = () => ({ body: { ...TOKENS, ...given } });
        expect((await request()).tokens).to.deep.equal({ access_token: 'access-token', ...expected });
      });
    }

    for (const type of [FORM_TYPE, 'text/plain', 'text/html; charset=utf-8']) {
      it(`tokens are read when they come as a form (${type})`, async () => {
        answer = () => ({ type, body: 'access_token=access-token&expires_in=60&token_type=bearer' });
        expect((await request()).tokens).to.deep.equal({ access_token: 'access-token', expires_in: 60 });
      });
    }

    it('tokens are refused when they are no bearer tokens', async () => {
      answer = () => ({ body: { ...TOKENS, token_type: 'DPoP' } });
      expect((await failure()).message).to.equal('its authorization server issues tokens that are no bearer tokens');
    });
  });

  describe('are refused', () => {
    const cases: [what: string, answer: Answer, said: string][] = [
      ['200 with an error', { body: { error: 'bad_refresh_token' } }, 'bad_refresh_token'],
      [
        '200 with a description',
        { body: { error: 'invalid_grant', error_description: 'Token\n was\u202e revoked' } },
        'invalid_grant: “Token was revoked”',
      ],
      ['200 with ok: false', { body: { ok: false, error: 'invalid_refresh_token' } }, 'invalid_refresh_token'],
      [
        '200 with a form',
        { type: FORM_TYPE, body: 'error=bad_refresh_token&error_description=It+has+expired' },
        'bad_refresh_token: “It has expired”',
      ],
      ['200 with a form without its type', { type: 'text/plain', body: 'error=invalid_grant' }, 'invalid_grant'],
      [
        'an error that is an object',
        { status: 400, body: { error: { code: 400, message: 'Bad token', status: 'INVALID' } } },
        '400: “Bad token”',
      ],
      [
        'a type beside an error',
        { status: 400, body: { error: 'invalid_grant', token_type: 'Bearer', access_token: '' } },
        'invalid_grant',
      ],
      ['400 without a body', { status: 400, body: '' }, 'invalid_request'],
      ['401 with other JSON', { status: 401, body: { message: 'no' } }, 'invalid_client'],
      [
        'a description with the token and much text',
        { status: 400, body: { error: 'invalid_grant', error_description: `old-refresh ${'x'.repeat(400)}` } },
        `invalid_grant: “[credential] ${'x'.repeat(287)}…”`,
      ],
    ];
    for (const [what, given, said] of cases) {
      it(`requests to a token endpoint are refused by ${what}`, async () => {
        answer = () => given;
        const error = await failure();
        expect(error).to.be.instanceOf(OauthRefusedError);
        expect(error.message).to.equal(`the authorization server refused the request (${said})`);
      });
    }
  });

  for (const [what, given] of [
    ['200 with a page', { type: 'text/html', body: '<html>error=invalid_grant</html>' }],
    ['200 with JSON without tokens', { body: { ok: true } }],
    ['400 with a page', { status: 400, type: 'text/html', body: '<html>Request blocked</html>' }],
    ['403 without an error', { status: 403, body: { message: 'blocked' } }],
    ['404', { status: 404, body: '' }],
    ['429', { status: 429, body: { error: 'invalid_grant' } }],
    ['500', { status: 500, body: { error: 'invalid_grant' } }],
    ['an error that passes', { status: 400, body: { error: 'temporarily_unavailable' } }],
  ] as [string, Answer][]) {
    it(`requests to a token endpoint are not refused by ${what}`, async () => {
      answer = () => given;
      expect(await failure()).to.be.instanceOf(OauthUnavailableError);
    });
  }

  describe('name the client', () => {
    const REFUSED = (error: string): Answer => ({ status: error === 'invalid_client' ? 401 : 400, body: { error } });
    type Test = (asked: Asked) => unknown;
    const only =
      (isRight: Test, error = 'invalid_client') =>
      (asked: Asked) =>
        isRight(asked) ? null : REFUSED(error);
    const withoutId: Test = ({ form }) => form.client_id === undefined;
    const idBesideHeader: Test = ({ form, basic }) => form.client_id === 'client-1' && basic;
    const decoded: Test = ({ basic }) => basic === 'a%3Ab:se%20cret%2B%25';
    const asItIs: Test = (one) => one.basic === 'a:se cret+%' && withoutId(one);
    const secretInForm: Test = ({ form, basic }) => form.client_secret === 'client-secret' && !basic;
    const idAlone: Test = ({ form, basic }) => form.client_id === 'client-1' && !basic;
    const secret = 'se cret+%';
    const byForm = { ...CLIENT, token_endpoint_auth_method: 'client_secret_post' };
    const noSecret = { client_id: 'client-1', token_endpoint_auth_method: 'client_secret_basic' };
    /** How the client is named, what the server takes, in how many ways it is asked, and the way that worked. */
    const servers: [
      what: string,
      client: OauthClient,
      takes: (asked: Asked) => Answer | null,
      ways: number,
      auth: string,
    ][] = [
      ['both ways at once', CLIENT, () => null, 1, 'basic_with_id'],
      [
        'in the form beside the header, as the MCP SDK for Python wants it',
        CLIENT,
        only(idBesideHeader),
        1,
        'basic_with_id',
      ],
      ['in the header alone, where both are two methods', CLIENT, only(withoutId, 'invalid_request'), 2, 'basic'],
      ['in the header alone, where both are a wrong client', CLIENT, only(withoutId), 2, 'basic'],
      ['encoded, by RFC 6749 §2.3.1', { client_id: 'a:b', client_secret: secret }, only(decoded), 1, 'basic_with_id'],
      [
        'as it is, where nothing is decoded',
        { client_id: 'a', client_secret: secret },
        only(asItIs),
        3,
        'basic_not_encoded',
      ],
      ['in the form, as registered', byForm, only(secretInForm), 1, 'post'],
      ['without a secret', noSecret, only(idAlone), 1, 'none'],
      ['in the way that worked last', { ...CLIENT, auth: 'basic' }, only(withoutId, 'invalid_request'), 1, 'basic'],
    ];
    for (const [what, client, takes, ways, auth] of servers) {
      it(`requests to a token endpoint name the client ${what}`, async () => {
        answer = (request) => takes(request) ?? { body: TOKENS };
        const result = await request(client);
        expect([asked.length, result.client]).to.deep.equal([ways, { ...client, auth }]);
      });
    }

    it('requests to a token endpoint name the client in the form where the server lists only that', async () => {
      answer = ({ form }) => (form.client_secret === 'client-secret' ? { body: TOKENS } : REFUSED('invalid_client'));
      expect((await request(CLIENT, ['client_secret_post', 'private_key_jwt'])).client.auth).to.equal('post');
      expect(asked).to.have.length(1);
    });

    it('requests to a token endpoint are sent once when the refusal is not about the client', async () => {
      answer = () => REFUSED('invalid_grant');
      expect((await failure()).message).to.include('(invalid_grant)');
      expect(asked).to.have.length(1);
    });

    it('requests to a token endpoint say what was wrong with the client, not with the way', async () => {
      answer = ({ form }) => REFUSED(form.client_id === undefined ? 'invalid_client' : 'invalid_request');
      expect((await failure()).message).to.include('(invalid_client)');
    });
  });

  for (const [what, given, isGone] of [
    ['does not know the client', { status: 401, body: { error: 'invalid_client' } }, true],
    ['does not know its id', { status: 400, body: { error: 'invalid_client_id' } }, true],
    ['does not let the client in', { status: 400, body: { error: 'unauthorized_client' } }, true],
    ['does not know the code', { status: 400, body: { error: 'invalid_grant' } }, false],
    ['finds the request wrong', { status: 400, body: { error: 'invalid_request' } }, false],
    ['is away', { status: 503, body: '' }, false],
    ['answers with a page', { status: 400, body: '<html>' }, false],
  ] as [string, Answer, boolean][]) {
    it(`a client is ${isGone ? '' : 'not '}forgotten when the authorization server ${what}`, async () => {
      answer = () => given;
      const redirectUri = 'https://service.example/callback';
      expect(await isForgotten(network, { client: CLIENT, server: serverOf(), redirectUri })).to.equal(isGone);
      expect(asked[0]!.form).to.include({ grant_type: 'authorization_code', redirect_uri: redirectUri });
    });
  }
});

function basicOf({ authorization }: IncomingHttpHeaders): string | undefined {
  const [, base64] = /^Basic (.+)$/.exec(authorization ?? '') ?? [];
  return base64 === undefined ? undefined : Buffer.from(base64, 'base64').toString();
}
