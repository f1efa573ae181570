import type { AgentSessionClient } from '../client.js';
import type { Arguments } from './arguments.js';
import { brief, type Screen } from './screen.js';
import { describeWait, problemOf } from './send.js';
import { TurnScreen } from './turn-screen.js';
import { isTerminal } from '../types.js';
import { EXIT, UsageError } from './usage.js';

type Command = (client: AgentSessionClient, args: Arguments, out: Screen, notes: Screen) => Promise<number>;
const USAGE_DAYS = 30;
const DAY_MS = 86_400_000;

export const follow: Command = async (client, { positionals, options }, out, notes) => {
  const [sessionId] = expectPositionals(positionals, 1, 'follow SESSION');
  const screen = new TurnScreen(out, notes);
  for await (const event of client.follow(sessionId!)) {
    if (options.json) {
      out.write(`${JSON.stringify(event)}\n`);
      continue;
    }
    if (event.type === 'user.message') out.line(`> ${event.content}`, 'bold');
    screen.show(event);
    if (event.type === 'agent.requires_action') for (const one of event.required_actions) notes.line(describeWait(one));
    if (isTerminal(event)) {
      out.endLine();
      notes.line(problemOf(event) ?? event.type, 'dim');
    }
  }
  return EXIT.completed;
};

export const sessions: Command = async (client, { positionals, options }, out) => {
  expectPositionals(positionals, 0, 'sessions');
  const { items } = await client.listSessions({ limit: 20 });
  rows(out, options, items, ({ id, status, preview, updated_at, required_actions }) => [
    id,
    required_actions.length > 0 ? 'WAITS' : status,
    updated_at.slice(0, 19),
    brief(preview ?? ''),
  ]);
  return EXIT.completed;
};

export const cancel: Command = async (client, { positionals, options }, out) => {
  const [sessionId] = expectPositionals(positionals, 1, 'cancel SESSION');
  rows(out, options, [await client.cancelTurn(sessionId!)], ({ id, status }) => [id, status]);
  return EXIT.completed;
};

export const mcpAdd: Command = async (client, { positionals, options }, out, notes) => {
  const [name, url] = expectPositionals(positionals, 2, 'mcp add NAME URL');
  const server = await client.registerMcpServer({ name: name!, url: url! });
  rows(out, options, [server], ({ id, name: its, url: address }) => [id, its, address]);
  if (server.last_connect_error) notes.line(`It cannot be reached yet: ${server.last_connect_error}`, 'red');
  return EXIT.completed;
};

export const mcpList: Command = async (client, { positionals, options }, out) => {
  expectPositionals(positionals, 0, 'mcp list');
  for await (const server of client.eachMcpServer()) {
    rows(out, options, [server], ({ id, name, url, last_connect_error }) => [id, name, url, last_connect_error ?? '']);
  }
  return EXIT.completed;
};

export const agents: Command = async (client, { positionals, options }, out) => {
  expectPositionals(positionals, 0, 'agents');
  for await (const agent of client.eachAgent()) {
    rows(out, options, [agent], ({ id, name, version, live_version, description }) => [
      id,
      name,
      live_version === version ? `version ${version}` : `version ${version}, live ${live_version}`,
      brief(description),
    ]);
  }
  return EXIT.completed;
};

export const usage: Command = async (client, { positionals, options }, out) => {
  expectPositionals(positionals, 0, 'usage');
  const now = Date.now();
  const [from, to] = [new Date(now - USAGE_DAYS * DAY_MS).toISOString(), new Date(now).toISOString()];
  const groupBy = (options['group-by'] as string | undefined) ?? 'day';
  for await (const group of client.eachUsage({ from, to, group_by: groupBy })) {
    rows(out, options, [group], ({ group: name, turns, input_tokens, output_tokens, cost }) => [
      name ?? '-',
      `${turns} turns`,
      `${input_tokens} in`,
      `${output_tokens} out`,
      cost === null ? '' : `${cost.amount} ${cost.currency}`,
    ]);
  }
  return EXIT.completed;
};

/** Prints items: as JSON, or as lines with tabs between their cells. */
export function rows<Item>(
  out: Screen,
  options: Arguments['options'],
  items: Item[],
  cells: (item: Item) => string[],
): void {
  for (const item of items) out.line(options.json ? JSON.stringify(item) : cells(item).join('\t').trimEnd());
}

/** @throws UsageError */
export function expectPositionals(positionals: string[], count: number, usageOf: string): string[] {
  if (positionals.length !== count) throw new UsageError(`Write: agent-session ${usageOf}`);
  return positionals;
}
