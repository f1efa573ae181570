import type { ServerResponse } from 'node:http';
import { startMcpServer, type TestMcpServer } from './mcp-server.js';

/** The form of an answer: one JSON body, or one event of a stream. */
export type Form = 'json' | 'stream';

/** Makes the body of an answer from the id of the request; undefined: the real server answers. */
export type RawAnswer = (method: string, id: number) => string | Buffer | undefined;

/** An MCP server of which some answers are raw bytes. */
export function startRawServer(form: Form, answer: RawAnswer): Promise<TestMcpServer> {
  return startMcpServer({
    stateless: true,
    tools: [{ name: 'a' }],
    gateway: (_req, res, body) => {
      const { method = '', id = 0 } = parse(body);
      const raw = answer(method, id);
      if (raw === undefined) return false;
      sendRaw(res, form, raw);
      return true;
    },
  });
}

export function sendRaw(res: ServerResponse, form: Form, raw: string | Buffer): void {
  res.writeHead(200, { 'content-type': form === 'json' ? 'application/json' : 'text/event-stream' });
  res.end(form === 'json' ? raw : Buffer.concat([Buffer.from('data: '), Buffer.from(raw), Buffer.from('\n\n')]));
}

/** A JSON-RPC answer with a result that is given as JSON. */
export const resultJson = (id: number, result: string): string => `{"jsonrpc":"2.0","id":${id},"result":${result}}`;

function parse(body: string): { method?: string; id?: number } {
  return body === '' ? {} : (JSON.parse(body) as { method?: string; id?: number });
}
