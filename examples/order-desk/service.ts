import { AgentSessionClient } from '@agent-session-service/client';

const { BASE = 'http://127.0.0.1:8080', KEY } = process.env;
if (KEY === undefined) throw new Error('Set KEY to an API key of the service: see README.md.');

/** Marks the sessions of this application. */
export const APP = 'order-desk';

export const client = new AgentSessionClient({
  baseUrl: BASE,
  apiKey: KEY,
  onRetry: ({ method, path, error, delayMs }) =>
    console.error(`${method} ${path}: ${error.message} Again in ${Math.round(delayMs)} ms.`),
});
