import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import {
  AgentSessionClient,
  ApiError,
  type NewSession,
  type Session,
  type SessionToken,
} from '@agent-session-service/client';
import type { Person } from './people.js';

export const { BASE = 'http://127.0.0.1:8080', SHOP = 'http://127.0.0.1:7401/mcp' } = process.env;
const AGENT = 'shop-chat';
const SKILL = join(import.meta.dirname, '../skill');
const { KEY } = process.env;
if (KEY === undefined) throw new Error('Set KEY to an API key of the service: see README.md.');

/** The only client with the key. It stays here: the browser gets tokens. */
const service = new AgentSessionClient({ baseUrl: BASE, apiKey: KEY });

/** Whose session it is stands in the session: this application needs no table of its own. */
const metadataOf = ({ id }: Person): Record<string, string> => ({ app: 'chat', person: id });

/** Thrown for what is not there, and for what belongs to somebody else. */
export class NotFound extends Error {}

export async function listChats(person: Person): Promise<object[]> {
  const { items } = await service.listSessions({ metadata: metadataOf(person), order: 'activity', limit: 50 });
  return items.map(({ id, preview, status }) => ({ id, title: preview, isRunning: status === 'RUNNING' }));
}

export async function createChat(person: Person): Promise<{ id: string }> {
  const { agentId } = await (prepared ??= prepare());
  // Whatever the agent becomes, the chat has it from its next turn on.
  const agent = { id: agentId, version: 'live' } as const;
  const { id } = await service.createSession({ agent, metadata: metadataOf(person), user: person.id });
  return { id };
}

/** The agent of this name as this file has it: it is made once, and gets a version where this file has changed. */
async function pushAgent(modelId: string, shopId: string): Promise<string> {
  const configuration = {
    description: 'Helps the customers of a shop.',
    model_id: modelId,
    instruction: 'You help the customers of a shop with their orders. Ask for a date with pick_date.',
    mcp_servers: [shopId],
    tools: toolsOf(shopId),
    // A page with a token may not name skills: they are the agent's. Its scripts run in the workspace.
    skills: [{ name: await pushSkill() }],
  };
  const {
    items: [agent],
  } = await service.listAgents({ name: AGENT });
  if (agent === undefined) return (await service.createAgent({ name: AGENT, ...configuration })).id;
  // One that changes nothing makes no version.
  return (await service.updateAgent(agent.id, configuration)).id;
}

/** The folder `skill` as a package: it takes the place of the one that was pushed before. */
async function pushSkill(): Promise<string> {
  const content = execFileSync('zip', ['-q', '-r', '-X', '-', 'SKILL.md', 'parcel.sh'], { cwd: SKILL });
  return (await service.uploadSkill({ filename: 'skill.zip', content }, { replace: true })).name;
}

/** What the agent may do alone, what a person must allow, and what the page does. */
function toolsOf(shopId: string): NonNullable<NewSession['tools']> {
  return [
    {
      type: 'mcp_toolset',
      mcp_server_id: shopId,
      configs: [{ name: 'refund_order', permission_policy: { type: 'always_ask' } }],
      elicitation: true,
    },
    { type: 'workspace' },
    {
      type: 'custom',
      name: 'pick_date',
      description: 'Asks the user for a date, with a calendar. Returns {"date": "2026-01-31"}.',
      input_schema: { type: 'object', properties: { question: { type: 'string' } }, required: ['question'] },
    },
  ];
}

/** A token for this person's page. It opens one session, and says who gives the answers. */
export async function createToken(person: Person, id: string): Promise<SessionToken> {
  await chatOf(person, id);
  return service.createSessionToken(id, {
    scopes: ['read', 'send', 'cancel', 'answer', 'files', 'fork'],
    actor: person.id,
    expires_in: 900,
  });
}

/** Takes back what this person has allowed for the rest of a chat: a token can approve, and cannot change the session. */
export async function forget(person: Person, id: string, toolUseId: string): Promise<void> {
  await chatOf(person, id);
  await service.updateSession(id, { forget_approvals: [toolUseId] });
}

/** Where the browser gets a file that the agent delivered to this person, also in a session that was forked since. */
export async function linkOf(person: Person, fileId: string): Promise<string> {
  const { session_id: sessionId } = await found(service.getFile(fileId));
  if (sessionId === null) throw new NotFound('There is no such file.');
  await chatOf(person, sessionId);
  return (await service.getDownloadLink(fileId)).url;
}

/** The check that the service cannot make: whether this person may see this session. */
async function chatOf(person: Person, id: string): Promise<Session> {
  const session = await found(service.getSession(id));
  const { app, person: owner } = session.metadata;
  if (app !== 'chat' || owner !== person.id) throw new NotFound('There is no such chat.');
  return session;
}

async function found<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) throw new NotFound('It is not there.');
    throw error;
  }
}

interface Prepared {
  modelId: string;
  agentId: string;
}

let prepared: Promise<Prepared> | null = null;

/** The first model of the service unless MODEL names another one, the shop as an MCP server, and the agent that has both. */
async function prepare(): Promise<Prepared> {
  try {
    const { MODEL } = process.env;
    const modelId = MODEL ?? (await service.listModels({ limit: 1 })).items[0]!.id;
    return { modelId, agentId: await pushAgent(modelId, await shopOf()) };
  } catch (error) {
    // The next request tries again.
    prepared = null;
    throw error;
  }
}

async function shopOf(): Promise<string> {
  for await (const { id, url } of service.eachMcpServer()) if (url === SHOP) return id;
  return (await service.registerMcpServer({ name: 'shop', url: SHOP })).id;
}

const COMMANDS = [
  ['Where is my order?', 'call find_order with {"order": "A-17"}'],
  ['I want my money back', 'call refund_order with {"order": "A-17", "amount": 40}'],
  ['Deliver it on another day', 'call pick_date with {"question": "Which day suits you?"}'],
  ['Choose how it is delivered', 'call book_delivery with {"order": "A-17"}'],
  ['Give me a receipt', 'call deliver_file with {"filename": "receipt.txt", "content": "Order A-17: 40"}'],
  ['What does a parcel cost?', 'call bash with {"command": "sh /mnt/skills/parcel/parcel.sh 1200"}'],
  ['Tell me a long story', 'write 300 words at 15 words per second'],
] as const;

/** What a new chat suggests. The model of `npm start` without a key follows commands; others read sentences. */
export async function suggestions(): Promise<{ label: string; text: string }[]> {
  const { modelId } = await (prepared ??= prepare());
  return COMMANDS.map(([label, command]) => ({
    label,
    text: modelId === 'local-rules' ? command : `${label} (order A-17)`,
  }));
}
