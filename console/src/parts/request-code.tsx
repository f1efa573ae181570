import { exactText } from '../../../src/platform/exact-json.js';
import { BASE_URL } from '../client/service.js';
import { CodeBlock } from './code-block.js';

export interface ApiRequest {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** From `/v1` on. */
  path: string;
  body?: unknown;
  /** The call of the TypeScript client, after `client.`. */
  client: string;
}

/** The request as a command and as client code. The key stays out of both. */
export function RequestCode({ request }: { request: ApiRequest }) {
  return (
    <>
      <CodeBlock text={curlOf(request)} label="curl" />
      <CodeBlock text={clientCodeOf(request)} label="TypeScript" />
    </>
  );
}

export function curlOf({ method, path, body }: ApiRequest): string {
  const url = new URL(path.slice(1), BASE_URL).href;
  const lines = [
    `curl ${method === 'GET' ? '' : `-X ${method} `}'${url}'`,
    `  -H "Authorization: Bearer $API_KEY"`,
    ...(body === undefined
      ? []
      : [`  -H 'Content-Type: application/json'`, `  -d '${exactText(body, 2).replaceAll("'", String.raw`'\''`)}'`]),
  ];
  return lines.join(' \\\n');
}

export function clientCodeOf({ client }: ApiRequest): string {
  return [
    `import { AgentSessionClient } from '@agent-session-service/client';`,
    '',
    `const client = new AgentSessionClient({ baseUrl: '${BASE_URL.replace(/\/$/, '')}', apiKey: process.env.API_KEY! });`,
    `const result = await client.${client};`,
  ].join('\n');
}

/** A value as JavaScript: JSON whose keys that are names have no quotes. */
export function literal(value: unknown): string {
  return exactText(value, 2).replaceAll(/^(\s*)"([A-Za-z_$][\w$]*)":/gm, '$1$2:');
}
