import { expect } from 'chai';
import { toolUse } from './scripted-model.js';
import type { ApiResponse } from './client.js';

interface AgentMaker {
  api?: (method: string, path: string, body?: unknown) => Promise<ApiResponse>;
  insist?: (method: string, path: string, body?: unknown) => Promise<ApiResponse>;
}

/** Creates an agent of the scripted model; returns its id. */
export async function createAgent(
  { api, insist }: AgentMaker,
  name: string,
  configuration: Record<string, unknown> = {},
): Promise<string> {
  const agent = { name, description: `Does ${name}.`, model_id: 'scripted', thinking_enabled: false, ...configuration };
  const { status, body } = await (api ?? insist)!('POST', '/v1/agents', agent);
  expect(status, JSON.stringify(body)).to.equal(201);
  return body.id as string;
}

export const agentTool = (agent_id: string, more: object = {}): object => ({ type: 'agent', agent_id, ...more });

/** A call of an agent. */
export const callAgent = (name: string, input: string | Record<string, unknown>, id?: string) =>
  toolUse(`agent__${name}`, typeof input === 'string' ? { message: input } : input, id === undefined ? {} : { id });
