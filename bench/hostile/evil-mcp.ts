import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A 1 × 1 pixel PNG. */
const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const SCOPES_BYTES = 1_000_000;

/** What an MCP server answers to a method; the name of a trick is the first part of its url's path. */
type Answers = Record<string, (id: unknown) => string>;

const result = (id: unknown, json: string): string => `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${json}}`;
const pings = (id: unknown, count: number, last: string): string => {
  const ping = (n: number): string => `{"jsonrpc":"2.0","id":"p${n}","method":"ping"}`;
  return `[${Array.from({ length: count }, (_, n) => ping(n)).join(',')},${result(id, last)}]`;
};
const INITIALIZED =
  '{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"evil","version":"1"}}';
const tools = (schema: string, more = ''): string =>
  `{"tools":[{"name":"dump","description":"Dumps."${more},"inputSchema":${schema}}]}`;
const PLAIN_TOOLS = tools('{"type":"object"}');
const objects = (bytes: number): string =>
  Array(Math.floor(bytes / 3))
    .fill('{}')
    .join(',');
const call = (content: string): Answers => ({ 'tools/call': (id) => result(id, content) });

const TRICKS: Record<string, Answers> = {
  'pings-at-probe': { 'tools/list': (id) => pings(id, 190_000, PLAIN_TOOLS) },
  'pings-at-connect': { initialize: (id) => pings(id, 700_000, INITIALIZED) },
  'dense-tools': { 'tools/list': (id) => result(id, tools(`{"type":"object","x":[${objects(7_900_000)}]}`)) },
  'hostile-text': {
    'tools/list': (id) =>
      result(
        id,
        tools('{"type":"object"}').replace('Dumps.', `${`b${'a'.repeat(4000)}`.repeat(12)}c${'a'.repeat(7_000_000)}`),
      ),
  },
  'dense-content': call(`{"content":[${objects(16_000_000)}]}`),
  structured: call(`{"content":[],"structuredContent":{"x":[${objects(4_000_000)}]}}`),
  pixels: call(
    `{"content":[${Array(100_000).fill(`{"type":"image","mimeType":"image/png","data":"${PIXEL}"}`).join(',')}]}`,
  ),
  authorization: {},
};

/** A hostile MCP server with a path for each trick, and wrong metadata as an authorization server. */
export async function startEvilMcp(): Promise<{ host: string; url: (trick: string) => string }> {
  const server = createServer((req, res) => void serve(req, res).catch(() => res.destroy()));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { host, url: (trick) => `http://${host}/${trick}` };
}

async function serve(req: IncomingMessage, res: ServerResponse): Promise<void> {
  let body = '';
  for await (const chunk of req) body += String(chunk);
  if (req.url!.includes('.well-known'))
    return send(
      res,
      `{"resource":"http://${req.headers.host}","scopes_supported":[${Array(SCOPES_BYTES / 2)
        .fill(1)
        .join(',')}]}`,
    );
  const trick = req.url!.split('/')[1]!;
  if (trick === 'authorization')
    return void res
      .writeHead(401, { 'www-authenticate': `Bearer resource_metadata="http://${req.headers.host}/.well-known/x"` })
      .end();
  const { id, method } = JSON.parse(body || '{}') as { id?: unknown; method?: string };
  if (id === undefined || method === undefined) return void res.writeHead(202).end();
  const known = TRICKS[trick]?.[method];
  if (known !== undefined) return send(res, known(id));
  const answers: Record<string, string> = {
    initialize: INITIALIZED,
    'tools/list': PLAIN_TOOLS,
    'tools/call': '{"content":[]}',
  };
  send(res, result(id, answers[method] ?? '{}'));
}

function send(res: ServerResponse, json: string): void {
  res.writeHead(200, { 'content-type': 'application/json' }).end(json);
}
