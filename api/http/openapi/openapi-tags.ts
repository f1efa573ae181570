import type { Route } from '../core/operation.js';

/** The groups of operations, in the order of the page. */
export const TAGS = [
  { name: 'sessions', description: 'Conversations with the agent: their messages, turns, events and answers.' },
  { name: 'agents', description: 'Configurations with a name and versions, of which sessions are made.' },
  { name: 'models', description: 'The models that sessions can use.' },
  { name: 'files', description: 'Files that clients attach to messages, and files that the agent delivers.' },
  { name: 'skills', description: 'Packages of instructions for the agent.' },
  { name: 'mcp-servers', description: 'MCP servers, whose tools the agent can call.' },
  { name: 'credentials', description: 'Credentials of users for MCP servers: the agent acts as the signed-in person.' },
  { name: 'memories', description: 'Files that agents keep between sessions.' },
  { name: 'erasures', description: 'Erasing a person with everything that is stored of them.' },
  { name: 'webhooks', description: 'Addresses that are told about events.' },
  { name: 'schedules', description: 'Messages that are sent at given times.' },
  { name: 'keys', description: 'The keys of the project: who may do what.' },
  { name: 'audit-log', description: 'Who changed what.' },
  { name: 'usage', description: 'Tokens and costs, summed up.' },
];

/** `/v1/sessions/{session_id}/events` → `sessions`. */
export function tagOf([, path]: Route): string {
  const [, name] = path.replace(/^\/v1/, '').split('/');
  if (!TAGS.some((tag) => tag.name === name)) throw new Error(`no tag describes ${name}`);
  return name!;
}
