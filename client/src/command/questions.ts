import { createInterface, type Interface } from 'node:readline';
import type { AgentSessionClient } from '../client.js';
import type { Decision, ElicitationDecision } from '../answers.js';
import type { Elicitation, McpAuthorizationAction, WaitingCall } from '../types.js';
import type { Screen } from './screen.js';

/** Lines that a person types, and what Ctrl-C does. */
export class Keyboard {
  readonly #lines: string[] = [];
  readonly #interface: Interface;
  #waiting: ((line: string | null) => void) | null = null;
  #isClosed = false;
  readonly isTerminal: boolean;

  constructor(input: NodeJS.ReadStream, output: NodeJS.WriteStream, onInterrupt: () => void) {
    this.isTerminal = input.isTTY === true && output.isTTY === true;
    this.#interface = createInterface({ input, output, terminal: this.isTerminal, prompt: '' });
    this.#interface.on('line', (line) => {
      const waiting = this.#waiting;
      this.#waiting = null;
      if (waiting === null) this.#lines.push(line);
      else waiting(line);
    });
    this.#interface.on('close', () => {
      this.#isClosed = true;
      this.#waiting?.(null);
      this.#waiting = null;
    });
    // In raw mode the terminal sends no signal; without a terminal the process gets it.
    this.#interface.on('SIGINT', onInterrupt);
  }

  /** The next line; null at the end of the input, or when `signal` aborts. `fresh`: what was typed before does not count. */
  async ask(prompt: string, signal?: AbortSignal, fresh = false): Promise<string | null> {
    // A person who typed ahead has not seen the question.
    if (fresh && this.isTerminal) this.#lines.length = 0;
    if (this.isTerminal && !this.#isClosed) {
      this.#interface.setPrompt(prompt);
      this.#interface.prompt(true);
    }
    const line = this.#lines.shift();
    if (line !== undefined) return line;
    if (this.#isClosed || signal?.aborted) return null;
    return new Promise((resolve) => {
      const leave = (): void => {
        this.#waiting = null;
        resolve(null);
      };
      signal?.addEventListener('abort', leave, { once: true });
      this.#waiting = (answer) => {
        signal?.removeEventListener('abort', leave);
        resolve(answer);
      };
    });
  }

  close(): void {
    this.#interface.close();
  }
}

/** Asks a person what a turn asks, one question after the other. */
export class Questions {
  #last: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly keyboard: Keyboard,
    private readonly screen: Screen,
    /** Aborts when the turn has ended: nobody waits for the answer. */
    private readonly ended: AbortSignal,
  ) {}

  confirm = (action: WaitingCall): Promise<Decision | undefined> =>
    this.#inTurn(async () => {
      const { title } = action as { title?: string | null };
      this.screen.line(`${action.name}${title ? ` (${title})` : ''} wants to run with:`, 'yellow');
      this.screen.line(JSON.stringify(action.input, null, 2));
      for (;;) {
        const answer = await this.#ask('Allow it? [y/n] ');
        if (answer === null) return undefined;
        if (/^y(es)?$/i.test(answer.trim())) return 'allow';
        if (/^n(o)?$/i.test(answer.trim())) return 'deny';
        this.screen.line('Answer y or n.');
      }
    });

  elicit = (question: Elicitation): Promise<ElicitationDecision | undefined> =>
    this.#inTurn(async () => {
      this.screen.line(`${question.name} asks: ${question.message}`, 'yellow');
      if (question.mode === 'url') {
        this.screen.line(`Open ${question.url}`);
        const done = await this.#yesOrNo('Done? [y/n] ');
        return done === null ? undefined : done ? 'accept' : 'decline';
      }
      const wanted = await this.#yesOrNo('Answer it? [y/n] ');
      if (wanted === null) return undefined;
      return wanted ? this.#form(question.requested_schema) : 'decline';
    });

  /** Shows where the user of the session authorizes a server. The call goes on by itself afterwards. */
  async login(client: AgentSessionClient, sessionId: string, action: McpAuthorizationAction): Promise<void> {
    try {
      const { authorization_url: url } = await client.authorizeSession(sessionId, {
        mcp_server_id: action.mcp_server_id,
      });
      this.screen.line(`${action.name} waits for a login. Open ${url}`, 'yellow');
    } catch (error) {
      this.screen.line(
        `${action.name} waits for a login, but its address cannot be had: ${(error as Error).message}`,
        'red',
      );
    }
  }

  async #form({ properties = {}, required = [] }: FormSchema): Promise<ElicitationDecision | undefined> {
    const content: Record<string, unknown> = {};
    for (const [name, field] of Object.entries(properties)) {
      const choices =
        field.enum ?? field.oneOf?.map((one) => one.const) ?? (field.type === 'boolean' ? ['y', 'n'] : null);
      const isRequired = required.includes(name);
      const about = field.description === undefined ? '' : ` (${field.description})`;
      const wanted = choices === null ? '' : ` [${choices.join('/')}]`;
      for (;;) {
        this.screen.line(`${field.title ?? name}${about}${wanted}${isRequired ? '' : ', or nothing'}`);
        const answer = await this.#ask('> ');
        if (answer === null) return undefined;
        const value = answer.trim() === '' ? (isRequired ? null : undefined) : valueOf(answer.trim(), field, choices);
        if (value === null) this.screen.line('That does not fit.');
        else {
          if (value !== undefined) content[name] = value;
          break;
        }
      }
    }
    return { accept: content };
  }

  async #yesOrNo(prompt: string): Promise<boolean | null> {
    for (;;) {
      const answer = await this.#ask(prompt);
      if (answer === null) return null;
      if (/^y(es)?$/i.test(answer.trim())) return true;
      if (/^n(o)?$/i.test(answer.trim())) return false;
    }
  }

  #ask(prompt: string): Promise<string | null> {
    return this.keyboard.ask(prompt, this.ended, true);
  }

  #inTurn<Result>(ask: () => Promise<Result>): Promise<Result | undefined> {
    const asked = this.#last.then(() => (this.ended.aborted ? undefined : ask()));
    this.#last = asked.catch(() => undefined);
    return asked;
  }
}

interface FormField {
  type?: string;
  title?: string;
  description?: string;
  enum?: string[];
  oneOf?: { const: string }[];
}

interface FormSchema {
  properties?: Record<string, FormField>;
  required?: string[];
}

/** Null if the text is no value of the field. The service checks the rest. */
function valueOf(text: string, { type }: FormField, choices: string[] | null): unknown {
  if (type === 'array') return text.split(',').map((part) => part.trim());
  if (choices !== null && !choices.includes(text)) return null;
  if (type === 'boolean') return text === 'y';
  if (type !== 'number' && type !== 'integer') return text;
  const number = Number(text);
  return Number.isFinite(number) && (type === 'number' || Number.isInteger(number)) ? number : null;
}
