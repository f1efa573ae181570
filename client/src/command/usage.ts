/** Wrong usage: the command ends with 2 and says what is right. */
export class UsageError extends Error {}

export const EXIT = {
  completed: 0,
  failed: 1,
  usage: 2,
  cancelled: 3,
  /** The turn stays open, and waits for a person or for a client. */
  waits: 4,
} as const;

/** An option with its help. `value` names its value; without it the option is a flag. */
export interface Option {
  value?: string;
  multiple?: true;
  help: string;
}

export interface CommandHelp {
  /** The arguments, as the help shows them. */
  args: string;
  about: string;
  options: Record<string, Option>;
}

export const COMMON: Record<string, Option> = {
  url: { value: 'URL', help: 'address of the service; default: AGENT_SESSION_BASE_URL' },
  'key-file': { value: 'FILE', help: 'a file with the key; default: AGENT_SESSION_API_KEY' },
  key: { value: 'KEY', help: 'the key itself. Other users of this machine can see it while the command runs' },
  json: { help: 'print JSON, one object a line' },
  help: { help: 'show this help' },
};

const NEW_SESSION: Record<string, Option> = {
  model: { value: 'ID', help: 'the model of a new session; default: the first of the models' },
  agent: { value: 'ID', help: 'the agent of a new session' },
};

const MESSAGE: Record<string, Option> = {
  file: { value: 'PATH', multiple: true, help: 'upload a file and attach it to the message; may be repeated' },
  skill: { value: 'ID', multiple: true, help: 'a skill that the agent should use; may be repeated' },
};

export const COMMANDS = {
  chat: { args: '[SESSION]', about: 'talk in the terminal', options: { ...NEW_SESSION, ...MESSAGE } },
  send: {
    args: '[SESSION] TEXT|-',
    about: 'send one message and print the answer',
    options: {
      ...NEW_SESSION,
      ...MESSAGE,
      'output-schema': { value: 'FILE', help: 'a JSON Schema: the answer is a value of it, as JSON' },
    },
  },
  follow: { args: 'SESSION', about: 'show the turns of a session as they happen', options: {} },
  sessions: { args: '', about: 'list the newest sessions', options: {} },
  cancel: { args: 'SESSION', about: 'cancel the open turn of a session', options: {} },
  'skills push': { args: 'FOLDER|ZIP', about: 'upload a skill; one of the same name is replaced', options: {} },
  'mcp add': { args: 'NAME URL', about: 'register an MCP server', options: {} },
  'mcp list': { args: '', about: 'list the MCP servers', options: {} },
  agents: { args: '', about: 'list the agents', options: {} },
  usage: {
    args: '',
    about: 'tokens and costs of the last 30 days',
    options: { 'group-by': { value: 'KEY', help: 'day (default), model, session, …: as the service takes it' } },
  },
} satisfies Record<string, CommandHelp>;

export type CommandName = keyof typeof COMMANDS;

export function helpOf(name: CommandName | null): string {
  if (name === null) {
    const rows = Object.entries(COMMANDS).map(([command, { args, about }]) => [`${command} ${args}`.trimEnd(), about]);
    return `agent-session COMMAND [OPTIONS]\n\n${columns(rows)}\n${optionsHelp(COMMON)}
Exit code of send: 0 completed, 1 failed, 2 wrong usage, 3 cancelled, 4 waits for a person.
\`agent-session COMMAND --help\` shows the options of a command.\n`;
  }
  const { args, about, options } = COMMANDS[name];
  return `agent-session ${name} ${args}\n\n  ${about}\n\n${optionsHelp({ ...options, ...COMMON })}`;
}

function optionsHelp(options: Record<string, Option>): string {
  return columns(
    Object.entries(options).map(([name, { value, help }]) => [`--${name}${value ? ` ${value}` : ''}`, help]),
  );
}

function columns(rows: string[][]): string {
  const width = Math.max(...rows.map(([first]) => first!.length));
  return rows.map(([first, second]) => `  ${first!.padEnd(width)}  ${second}\n`).join('');
}
