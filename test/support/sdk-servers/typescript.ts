import { randomUUID } from 'node:crypto';
import { DemoInMemoryAuthProvider } from '@modelcontextprotocol/sdk/examples/server/demoInMemoryOAuthProvider.js';
import { requireBearerAuth } from '@modelcontextprotocol/sdk/server/auth/middleware/bearerAuth.js';
import { mcpAuthRouter } from '@modelcontextprotocol/sdk/server/auth/router.js';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import express from 'express';
import { z } from 'zod';

/**
 * A server with 2,000 tools, forms and its own authorization server, made with the MCP SDK for TypeScript. The authorization server says at
 * /verify whether a token is valid. Returns how to end it.
 */
export async function startTypeScriptServer(port: number): Promise<() => Promise<void>> {
  const base = `http://127.0.0.1:${port}`;
  const provider = new DemoInMemoryAuthProvider();
  const resourceMetadataUrl = `${base}/.well-known/oauth-protected-resource/mcp`;
  const guard = requireBearerAuth({ verifier: provider, resourceMetadataUrl });
  const sessions = new Map<string, StreamableHTTPServerTransport>();
  const app = express();
  app.use(
    mcpAuthRouter({
      provider,
      issuerUrl: new URL(base),
      resourceServerUrl: new URL(`${base}/mcp`),
      resourceName: 'sdk',
    }),
  );
  app.get('/verify', guard, (_req, res) => void res.end());
  app.use('/mcp', guard, express.json(), async (req, res) => {
    const known = sessions.get(String(req.headers['mcp-session-id']));
    const transport = known ?? (await openSession(sessions));
    await transport.handleRequest(req, res, req.body);
  });
  const http = app.listen(port, '127.0.0.1');
  await new Promise((resolve) => http.once('listening', resolve));
  return async () => {
    http.closeAllConnections();
    await new Promise((resolve) => http.close(resolve));
  };
}

async function openSession(
  sessions: Map<string, StreamableHTTPServerTransport>,
): Promise<StreamableHTTPServerTransport> {
  const server = new McpServer({ name: 'typescript-sdk', version: '1' });
  server.registerTool('ask', { description: 'Asks for a city.' }, async () => {
    const requestedSchema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] } as const;
    const { content } = await server.server.elicitInput({
      message: 'Where to?',
      requestedSchema: { ...requestedSchema, required: ['city'] },
    });
    return { content: [{ type: 'text', text: `To ${String(content?.city)}` }] };
  });
  const inputSchema = { id: z.string(), limit: z.number().optional() };
  for (let number = 1; number < 2000; number += 1) {
    const description = `Does thing ${number}.`;
    server.registerTool(`tool_${number}`, { description, inputSchema }, ({ id }) => ({
      content: [{ type: 'text', text: id }],
    }));
  }
  const transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    onsessioninitialized: (id) => void sessions.set(id, transport),
    onsessionclosed: (id) => void sessions.delete(id),
  });
  await server.connect(transport);
  return transport;
}
