import { Redactor } from '../platform/redactor.js';
import { storableText } from '../platform/text.js';

/** Makes a server's text storable and removes the secrets that the server has received and may echo. */
export class Cleaner {
  #known: readonly string[] = [];
  #redactor = new Redactor([]);

  /** `secrets` may change meanwhile: a refresh adds a token. */
  constructor(private readonly secrets: () => readonly string[]) {}

  clean(text: string): string {
    return this.#current().redact(storableText(text));
  }

  /** As `clean`, for a text of megabytes: other work runs in between. */
  cleanLong(text: string): Promise<string> {
    return this.#current().redactLong(storableText(text));
  }

  /** The cleaned text, cut to `length` code points. The rest of the text is not searched for secrets. */
  cleanStart(text: string, length: number): string {
    return cut(this.#current().redactStart(storableText(text), 2 * length), length);
  }

  #current(): Redactor {
    const secrets = this.secrets();
    const isSame = secrets.length === this.#known.length && secrets.every((secret, at) => secret === this.#known[at]);
    if (!isSame) {
      this.#known = [...secrets];
      this.#redactor = new Redactor(secrets);
    }
    return this.#redactor;
  }
}

function cut(text: string, length: number): string {
  return text.length <= length ? text : [...text.slice(0, 2 * length)].slice(0, length).join('');
}

/** The value with every text of it cleaned, keys too. */
export function cleanJson(value: unknown, cleaner: Cleaner): unknown {
  if (typeof value === 'string') return cleaner.clean(value);
  if (Array.isArray(value)) return value.map((item) => cleanJson(item, cleaner));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [cleaner.clean(key), cleanJson(item, cleaner)]));
}
