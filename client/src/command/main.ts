#!/usr/bin/env node
import { AgentSessionClient } from '../client.js';
import { ApiError, ConnectionError } from '../errors.js';
import { connectionOf, parseArguments, type Arguments } from './arguments.js';
import { chat } from './chat.js';
import { agents, cancel, follow, mcpAdd, mcpList, sessions, usage } from './lists.js';
import { Screen } from './screen.js';
import { send } from './send.js';
import { skillsPush } from './skills-push.js';
import { EXIT, helpOf, UsageError, type CommandName } from './usage.js';

type Run = (client: AgentSessionClient, args: Arguments, out: Screen, notes: Screen) => Promise<number>;
const RUN: Record<CommandName, Run> = {
  chat,
  send,
  follow,
  sessions,
  cancel,
  'skills push': skillsPush,
  'mcp add': mcpAdd,
  'mcp list': mcpList,
  agents,
  usage,
};

const out = new Screen(process.stdout, process.env, false);
const notes = new Screen(process.stderr, process.env, true);
// A reader of the output that ends, such as `head`, ends the command.
process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1));
process.exitCode = await main(process.argv.slice(2));

async function main(argv: string[]): Promise<number> {
  try {
    const args = parseArguments(argv);
    if (args.options.help || args.command === null) {
      out.write(helpOf(args.command));
      return argv.length === 0 ? EXIT.usage : EXIT.completed;
    }
    const onRetry = ({ error, delayMs }: { error: Error; delayMs: number }): void =>
      notes.line(`${error.message}; again in ${Math.ceil(delayMs / 1000)} s`, 'dim');
    const client = new AgentSessionClient({ ...connectionOf(args, process.env), onRetry });
    return await RUN[args.command](client, args, out, notes);
  } catch (error) {
    if (error instanceof UsageError) notes.line(error.message, 'red');
    else if (error instanceof ApiError) notes.line(`${error.type}: ${error.message}`, 'red');
    else if (error instanceof ConnectionError) notes.line(error.message, 'red');
    else throw error;
    return error instanceof UsageError ? EXIT.usage : EXIT.failed;
  }
}
