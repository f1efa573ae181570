import type { Agent, AgentVersion } from '../../src/agents/store.js';
import { versionNumber } from '../../src/agents/fields.js';
import { agentSkillsSchema } from '../../src/agents/skills.js';
import { JsonText } from '../../src/platform/json-text.js';
import { described } from '../../src/platform/object-schema.js';
import { flag, idField, text, timestamp } from '../../src/platform/schema-fields.js';
import { sessionToolsSchema } from '../../src/sessions/tool-fields.js';
import { presented } from '../http/core/presenter.js';
import { nameField } from './fields.js';

const configuration = {
  model_id: described(text, 'The model of its turns.'),
  thinking_enabled: described(flag, 'Whether the model thinks before it answers.'),
  instruction: { type: ['string', 'null'], description: 'What the agent is for and how it should work.' },
  mcp_servers: { type: 'array', items: text, description: 'Ids of the MCP servers whose tools the agent can call.' },
  tools: sessionToolsSchema,
  fallback_model_ids: {
    type: 'array',
    items: text,
    description: 'The models that a turn goes on with when its model fails, in order.',
  },
  skills: agentSkillsSchema,
} as const;

const configurationExample = {
  description: 'Answers questions about orders.',
  model_id: 'claude-sonnet-5-5',
  thinking_enabled: true,
  instruction: 'Answer in one sentence.',
  mcp_servers: [],
  tools: [{ type: 'workspace' }],
  fallback_model_ids: ['claude-haiku-4-5'],
  skills: [{ name: 'order-report' }],
};

const agent = presented(
  'Agent',
  'A configuration with a name and versions, of which sessions are made.',
  {
    id: idField('agent', 'Id of the agent.'),
    name: nameField,
    description: described(text, 'What it is for.'),
    version: described(versionNumber, 'The newest version, whose description and configuration it shows.'),
    live_version: described(
      versionNumber,
      'The version that sessions get which name none, and those that follow the agent.',
    ),
    ...configuration,
    created_at: described(timestamp, 'When it was created.'),
    updated_at: described(timestamp, 'When it last got a version, or another version became live.'),
  },
  {
    id: 'agent_01kag8t1q2w3e4r5t6y7u8i9o0',
    name: 'order-desk',
    version: 3,
    live_version: 2,
    ...configurationExample,
    created_at: '2026-11-21T09:20:00.000001Z',
    updated_at: '2026-11-21T09:45:00.000001Z',
  },
);
export const { schema: agentSchema } = agent;

const version = presented(
  'AgentVersion',
  'A version of an agent. It never changes.',
  {
    agent_id: idField('agent', 'Id of the agent.'),
    version: described(versionNumber, 'Its number; they count from 1.'),
    description: described(text, 'What the agent is for.'),
    ...configuration,
    created_at: described(timestamp, 'When it was made.'),
  },
  {
    agent_id: 'agent_01kag8t1q2w3e4r5t6y7u8i9o0',
    version: 2,
    ...configurationExample,
    created_at: '2026-11-21T09:31:00.000001Z',
  },
);
export const { schema: versionSchema } = version;

export function presentAgent(row: Agent): Record<string, unknown> {
  return agent.present({ ...row, tools: new JsonText(row.tools) });
}

export function presentVersion(row: AgentVersion): Record<string, unknown> {
  return version.present({ ...row, tools: new JsonText(row.tools) });
}
