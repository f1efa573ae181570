/** Control characters but LF and tab, and those that change the direction of text: they could show what is not there. */
// oxlint-disable-next-line no-control-regex -- these are what it looks for
const UNSAFE = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;
const MAX_INPUT_LENGTH = 200;

/** The text with its unsafe characters escaped, such as `\u001b`. */
export function visible(text: string): string {
  return text.replace(UNSAFE, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** One line, at most 200 characters: what a line about a tool shows of its input or result. */
export function brief(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ').trim();
  return line.length > MAX_INPUT_LENGTH ? `${line.slice(0, MAX_INPUT_LENGTH)}…` : line;
}

/** An output of the command. */
export class Screen {
  readonly #isTerminal: boolean;
  readonly #colors: boolean;
  /** True if the cursor is at the start of a line. */
  #isAtStart = true;

  constructor(
    private readonly stream: NodeJS.WriteStream,
    env: NodeJS.ProcessEnv,
    /** Escape also where it is no terminal: what is on stderr is for people. */
    private readonly alwaysEscape: boolean,
  ) {
    this.#isTerminal = stream.isTTY === true;
    this.#colors = this.#isTerminal && !env.NO_COLOR;
  }

  /** Text as it is in a pipe, and escaped on a terminal. */
  write(text: string, style?: Style): void {
    if (text === '') return;
    const shown = this.#isTerminal || this.alwaysEscape ? visible(text) : text;
    this.stream.write(style !== undefined && this.#colors ? `\u001b[${STYLES[style]}m${shown}\u001b[0m` : shown);
    this.#isAtStart = shown.endsWith('\n');
  }

  /** A line of its own. */
  line(text: string, style?: Style): void {
    this.endLine();
    this.write(text, style);
    this.write('\n');
  }

  endLine(): void {
    if (!this.#isAtStart) this.write('\n');
  }
}

type Style = keyof typeof STYLES;
const STYLES = { dim: 2, bold: 1, red: 31, yellow: 33 };
