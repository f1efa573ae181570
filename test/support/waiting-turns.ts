import { expect } from 'chai';
import type { ApiResponse } from './client.js';
import { eventually } from './eventually.js';
import type { TurnService } from './turns.js';

/** What the session is read with; of a fault system its `insist`. */
interface Asked {
  api: (method: string, path: string) => Promise<ApiResponse>;
}

/** Waits until the session's turn waits for `count` answers; returns its required actions. */
// oxlint-disable-next-line typescript/no-explicit-any -- tests look into fields of many kinds
export async function requiredActions({ api }: Asked, sessionId: string, count = 1): Promise<any[]> {
  let actions: object[] = [];
  await eventually(`the turn waits for ${count} answers`, async () => {
    const { body } = await api('GET', `/v1/sessions/${sessionId}`);
    actions = body.required_actions;
    if (actions.length === count) return true;
    expect(body.status, `the turn ended before it asked ${count} times`).to.equal('RUNNING');
    return false;
  });
  return actions;
}

export const confirmation = (tool_use_id: string, result: string, deny_message?: string | null): object => ({
  type: 'user.tool_confirmation',
  tool_use_id,
  result,
  ...(deny_message !== undefined && { deny_message }),
});

export const customResult = (tool_use_id: string, content: string, is_error?: boolean): object => ({
  type: 'user.custom_tool_result',
  tool_use_id,
  content,
  ...(is_error !== undefined && { is_error }),
});

export const customTool = (name: string): object => ({
  type: 'custom',
  name,
  description: `Does ${name}.`,
  input_schema: { type: 'object', properties: { city: { type: 'string' } } },
});

/** The tools of a session in which calls of `send` of a server need a permission, and in which the client runs `get_weather`. */
export const askingTools = (mcp_server_id: string): object[] => [
  { type: 'mcp_toolset', mcp_server_id, configs: [{ name: 'send', permission_policy: { type: 'always_ask' } }] },
  customTool('get_weather'),
];

/** Sends answers. */
export function sendAnswers(
  { api }: Pick<TurnService, 'api'>,
  sessionId: string,
  events: object[],
  headers: Record<string, string> = {},
): Promise<ApiResponse> {
  return api('POST', `/v1/sessions/${sessionId}/events`, { events }, headers);
}
