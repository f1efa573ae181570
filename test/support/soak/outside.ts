import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import type { FaultSystem } from '../fault-system.js';
import { tokenGateway, type Question, type TestMcpServer, type TestTask } from '../mcp-server.js';
import { text, toolUse, type Reply } from '../scripted-model.js';
import { verifies, type WebhookReceiver } from '../webhook-receiver.js';
import type { SeenCall } from './ledger.js';

const WORDS = 10;
const EVERY_MS = 40;
const SHORT_MS = 50;
const LONG_MS = 1_500;
const TASK_MS = 2_000;
const POLL_MS = 1_000;
/** Of a slow answer: a message that steers, waits or cancels comes meanwhile. */
const SLOW_EVERY_MS = 250;
/** One of so many first attempts of a delivery fails. */
const FAILING = 10;
/** The model's server keeps its requests; a soak does not need them. */
const MAX_REQUESTS = 1_000;

export const FORM: Question = {
  mode: 'form',
  message: 'Which branch?',
  requestedSchema: { type: 'object', properties: { branch: { type: 'string' } }, required: ['branch'] },
};

/** Everything around the service that sees it work: the servers of the model and of the tools, and the receiver of webhooks. */
export interface Outside {
  /** Ids of the registered MCP servers. */
  shop: string;
  notes: string;
  /** Every call that a tool's server let in. */
  calls: SeenCall[];
  /** Requests that the model got, by the key of the conversation. */
  modelCalls: Map<string, number>;
  receiver: WebhookReceiver;
  /** Deliveries whose signature was wrong. */
  unsigned: string[];
}

/** The whole answer of a turn to this message. */
export const answerTo = (message: string): string =>
  Array.from({ length: WORDS }, (_, word) => `${message}: ${word}`).join(', ');

export const say = (message: string): Reply => text(answerTo(message), { every: EVERY_MS });
export const saySlowly = (message: string): Reply => text(answerTo(message), { every: SLOW_EVERY_MS });
export const call = (tool: string, key: string): Reply => toolUse(`mcp__shop__${tool}`, { key });

/** Prepares what is outside, and registers it. `replies` are those of the model to a message, step by step. */
export async function prepareOutside(
  system: FaultSystem,
  { notes, receiver }: { notes: TestMcpServer; receiver: WebhookReceiver },
  replies: (message: string) => Reply[],
): Promise<Outside> {
  const outside: Outside = { shop: '', notes: '', calls: [], modelCalls: new Map(), receiver, unsigned: [] };
  const { mcp, model } = system;
  const saw = (tool: string, user: string | null, args: Record<string, unknown>): void =>
    void outside.calls.push({ key: String(args.key), tool, user });
  const after = (tool: string, ms: number) => ({
    name: tool,
    run: async ({ arguments: args }: { arguments: Record<string, unknown> }) => {
      saw(tool, null, args);
      await sleep(ms);
      return `${tool} ${String(args.key)}`;
    },
  });
  const task = (tool: string, work: (task: TestTask) => Promise<string>) => ({
    name: tool,
    pollInterval: POLL_MS,
    task: async (begun: TestTask) => {
      saw(tool, null, begun.arguments);
      await begun.end('completed', await work(begun));
    },
  });
  Object.assign(mcp.options, {
    tasks: true,
    sharedTasks: true,
    tools: [
      after('buy', SHORT_MS),
      after('pack', LONG_MS),
      after('send', SHORT_MS),
      task('build', async (begun) => {
        await sleep(TASK_MS);
        return `build ${String(begun.arguments.key)}`;
      }),
      task('ask', async (begun) => {
        await begun.update('input_required');
        const { content } = await begun.ask(FORM);
        await begun.update('working');
        return `ask ${String(begun.arguments.key)}: ${String(content!.branch)}`;
      }),
    ],
  });
  notes.options.tools = [{ name: 'read', run: ({ arguments: args }) => `read ${String(args.key)}` }];
  notes.options.gateway = tokenGateway(
    (token) => token === 'own' || token.startsWith('token-of-'),
    (token, args) => saw('read', token.slice('token-of-'.length), args),
  );

  model.script((request) => {
    if (model.requests.length > MAX_REQUESTS) model.requests.length = 0;
    // Beside what the service says of a steering message, and the message that was not answered yet.
    const said = request.userText.slice(request.userText.lastIndexOf('\n') + 1);
    const key = keyOf(said);
    outside.modelCalls.set(key, (outside.modelCalls.get(key) ?? 0) + 1);
    const reply = replies(said)[request.step];
    if (reply === undefined) throw new Error(`no reply to step ${request.step} of "${said}"`);
    return reply;
  });

  const created = async (path: string, body: object): Promise<Record<string, string>> => {
    const answer = await system.insist('POST', path, body);
    expect(answer.status, JSON.stringify(answer.body)).to.equal(201);
    return answer.body as Record<string, string>;
  };
  outside.shop = (await created('/v1/mcp-servers', { name: 'shop', url: mcp.url })).id!;
  const own = { auth: { type: 'BEARER', token: 'own' }, credentials: 'user' };
  outside.notes = (await created('/v1/mcp-servers', { name: 'notes', url: notes.url, ...own })).id!;
  const event_types = ['turn.completed', 'turn.cancelled', 'turn.failed'];
  const { secret } = await created('/v1/webhooks', { url: receiver.url, event_types });
  let first = 0;
  receiver.answer = (res, request, nth) => {
    // At once: a signature is valid for some minutes.
    if (!verifies(secret!, request)) outside.unsigned.push(request.id);
    const fails = nth === 1 && first++ % FAILING === 0;
    res.writeHead(fails ? 503 : 204).end();
  };
  return outside;
}

/** `tool 17` of every message of that conversation. */
export function keyOf(message: string): string {
  return /^\w+ \d+/.exec(message)?.[0] ?? message;
}
