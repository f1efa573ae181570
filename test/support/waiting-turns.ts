import { expect } from 'chai';
import type { ApiResponse } from './client.js';
import type { TurnService } from './turns.js';

/** Waits until the session's turn waits for `count` answers; returns its required actions. */
// oxlint-disable-next-line typescript/no-explicit-any -- tests look into fields of many kinds
export async function requiredActions({ api }: Pick<TurnService, 'api'>, sessionId: string, count = 1): Promise<any[]> {
  const until = performance.now() + 60_000;
  for (;;) {
    const { body } = await api('GET', `/v1/sessions/${sessionId}`);
    if (body.required_actions.length === count) return body.required_actions;
    expect(body.status, `the turn ended before it asked ${count} times`).to.equal('RUNNING');
    expect(performance.now(), `waits for ${body.required_actions.length} answers, not ${count}`).to.be.below(until);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
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

/** Sends answers. */
export function sendAnswers(
  { api }: Pick<TurnService, 'api'>,
  sessionId: string,
  events: object[],
  headers: Record<string, string> = {},
): Promise<ApiResponse> {
  return api('POST', `/v1/sessions/${sessionId}/events`, { events }, headers);
}
