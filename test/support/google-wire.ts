import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface WireRequest {
  path: string;
  headers: IncomingHttpHeaders;
  // oxlint-disable-next-line typescript/no-explicit-any -- bodies of three dialects
  body: any;
}

/**
 * The three other ways to Claude, in their own wire formats, and what gives their tokens: Vertex AI, Claude on Google
 * Cloud, Anthropic's identity federation, and Google's metadata server. What they accept goes to `modelUrl`, a server with
 * the Messages API.
 */
export class GoogleWire {
  readonly requests: WireRequest[] = [];
  /** Every token that was given. */
  readonly tokens: string[] = [];
  /** Tokens that are refused with 401, in an answer that does not end. */
  readonly withdrawn = new Set<string>();
  /** Answers instead of the API, once each. */
  readonly replies: { status: number; body: unknown }[] = [];
  /** While true the metadata server does not answer. */
  isMetadataSilent = false;
  /** The metadata server gives a token when this has resolved. */
  tokenGate: Promise<void> = Promise.resolve();
  tokenRequests = 0;
  /** The scopes that each of those asked for. */
  readonly scopes: (string | null)[] = [];
  /** Gives the first token again. */
  keepsToken = false;
  /** How many further requests for a token the metadata server refuses. */
  metadataFailures = 0;
  host = '';
  readonly #server = createServer((req, res) => void this.#serve(req, res).catch(() => res.destroy()));

  constructor(
    private readonly modelUrl: string,
    private readonly identityToken: string,
  ) {}

  async listen(): Promise<this> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    this.host = `127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
    return this;
  }

  url(part: 'vertex/v1' | 'cloud' | 'anthropic'): string {
    return `http://${this.host}/${part}`;
  }

  /** The variables that lead Google's library and Anthropic's SDK here. */
  environment(identityTokenFile: string): Record<string, string> {
    return {
      GCE_METADATA_HOST: this.host,
      METADATA_SERVER_DETECTION: 'assume-present',
      ANTHROPIC_FEDERATION_RULE_ID: 'fdrl_test',
      ANTHROPIC_ORGANIZATION_ID: '00000000-0000-4000-8000-000000000000',
      ANTHROPIC_IDENTITY_TOKEN_FILE: identityTokenFile,
    };
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #newToken(prefix: string): string {
    this.tokens.unshift(`${prefix}.token-${this.tokens.length}-0123456789abcdefghij`);
    return this.tokens[0]!;
  }

  async #serve(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const path = new URL(req.url!, 'http://wire').pathname;
    let text = '';
    for await (const chunk of req) text += String(chunk);
    if (path.startsWith('/computeMetadata/')) {
      if (this.isMetadataSilent) return;
      res.setHeader('metadata-flavor', 'Google');
      if (path.endsWith('/token')) {
        this.tokenRequests += 1;
        this.scopes.push(new URL(req.url!, 'http://wire').searchParams.get('scopes'));
        await this.tokenGate;
        if (this.metadataFailures > 0) {
          this.metadataFailures -= 1;
          return void res.writeHead(403).end('refused');
        }
        const kept = this.keepsToken ? this.tokens[0] : undefined;
        return json(res, 200, { access_token: kept ?? this.#newToken('ya29'), expires_in: 3599, token_type: 'Bearer' });
      }
      return void res.end(path.endsWith('universe-domain') ? 'googleapis.com' : 'test-project');
    }
    const body = text.startsWith('{') ? JSON.parse(text) : Object.fromEntries(new URLSearchParams(text));
    if (path === '/anthropic/v1/oauth/token') {
      if (body.assertion !== this.identityToken) return json(res, 400, { error: 'invalid_grant' });
      return json(res, 200, { access_token: this.#newToken('sk-ant-oat01'), expires_in: 3600, token_type: 'Bearer' });
    }
    this.requests.push({ path, headers: req.headers, body });
    const token = /^Bearer (.+)$/.exec(req.headers.authorization ?? '')?.[1] ?? '';
    if (this.withdrawn.has(token)) return void res.writeHead(401).write('{');
    if (req.headers['x-api-key'] !== undefined || !this.tokens.includes(token))
      return json(res, 401, [{ error: { code: 401, message: 'Invalid credentials.', status: 'UNAUTHENTICATED' } }]);
    const reply = this.replies.shift();
    if (reply !== undefined) return json(res, reply.status, reply.body);
    const vertex =
      /^\/vertex\/v1\/projects\/test-project\/locations\/europe-west1\/publishers\/anthropic\/models\/([^:]+):(streamRawPredict|rawPredict)$/.exec(
        path,
      );
    const isCount = vertex?.[1] === 'count-tokens' || path.endsWith('/count_tokens');
    if (vertex !== null && (typeof body.anthropic_version !== 'string' || (!isCount && body.model !== undefined)))
      return json(res, 400, [
        { error: { code: 400, message: 'Not the wire format of Vertex.', status: 'INVALID_ARGUMENT' } },
      ]);
    const { anthropic_version: _, ...rest } = body;
    const forwarded = vertex === null || isCount ? rest : { ...rest, model: vertex[1] };
    const answer = await fetch(`${this.modelUrl}/v1/messages${isCount ? '/count_tokens' : ''}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'anthropic-version': '2023-06-01' },
      body: JSON.stringify(forwarded),
    });
    res.writeHead(answer.status, { 'content-type': answer.headers.get('content-type')! });
    for await (const chunk of answer.body!) res.write(chunk);
    res.end();
  }
}

function json(res: ServerResponse, status: number, body: unknown): void {
  res.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}
