import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { COMMANDS, COMMON, UsageError, type CommandName, type Option } from './usage.js';

export interface Arguments {
  /** Null: only help was asked for. */
  command: CommandName | null;
  positionals: string[];
  options: Record<string, string | string[] | boolean | undefined>;
}

/** @throws UsageError that says what is right */
export function parseArguments(argv: string[]): Arguments {
  const words = argv.filter((word) => !word.startsWith('-'));
  const command = (Object.keys(COMMANDS) as CommandName[]).find((name) => {
    const parts = name.split(' ');
    return parts.every((part, n) => words[n] === part) && parts.every((part, n) => argv[n] === part);
  });
  if (command === undefined) {
    if (argv.length === 0 || argv.includes('--help'))
      return { command: null, positionals: [], options: { help: true } };
    const known = Object.keys(COMMANDS).join(', ');
    throw new UsageError(
      `\`${words.slice(0, 2).join(' ') || argv[0]}\` is no command. The commands, each before its options: ${known}`,
    );
  }
  const known: Record<string, Option> = { ...COMMANDS[command].options, ...COMMON };
  const options = Object.fromEntries(
    Object.entries(known).map(([name, { value, multiple = false }]) => [
      name,
      value === undefined ? { type: 'boolean' as const } : { type: 'string' as const, multiple },
    ]),
  );
  const rest = argv.slice(command.split(' ').length);
  try {
    const parsed = parseArgs({ args: rest, options, allowPositionals: true, strict: true });
    return { command, positionals: parsed.positionals, options: parsed.values as Arguments['options'] };
  } catch (error) {
    const list = Object.entries(known).map(([name, { value }]) => `--${name}${value ? ` ${value}` : ''}`);
    const reason = (error as Error).message.split('. ')[0]!;
    throw new UsageError(`${reason}. The options of ${command}: ${list.join(', ')}`);
  }
}

/** Where the service is, and the key. @throws UsageError */
export function connectionOf({ options }: Arguments, env: NodeJS.ProcessEnv): { baseUrl: string; apiKey: string } {
  const baseUrl = (options.url as string | undefined) ?? env.AGENT_SESSION_BASE_URL;
  if (!baseUrl) throw new UsageError('Name the service with --url URL, or set AGENT_SESSION_BASE_URL');
  if (!URL.canParse(baseUrl) || !/^https?:/.test(baseUrl)) {
    throw new UsageError(`\`${baseUrl}\` is no address. Write it like https://agents.example.com`);
  }
  const file = options['key-file'] as string | undefined;
  const apiKey = file === undefined ? ((options.key as string | undefined) ?? env.AGENT_SESSION_API_KEY) : keyIn(file);
  if (!apiKey) throw new UsageError('Give the key with --key-file FILE, or set AGENT_SESSION_API_KEY');
  return { baseUrl, apiKey };
}

function keyIn(file: string): string {
  const key = readText(file, 'the key file').trim();
  if (key === '' || /\s/.test(key)) throw new UsageError(`The key file ${file} must have the key, and nothing else`);
  return key;
}

/** @throws UsageError if it cannot be read */
export function readText(file: string, what: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new UsageError(
      `${what} ${file} cannot be read: ${(error as NodeJS.ErrnoException).code ?? (error as Error).message}`,
    );
  }
}
