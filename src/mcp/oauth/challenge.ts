/** A challenge of WWW-Authenticate (RFC 9110 §11.6.1). The names of parameters are in lower case. */
export interface Challenge {
  /** In lower case. */
  scheme: string;
  parameters: readonly (readonly [name: string, value: string])[];
}

const NAME = "[!#$%&'*+.^_`|~0-9A-Za-z-]+";
/** Servers also leave the quotes of a url out, or write single ones. */
const PARAMETER = new RegExp(
  `(${NAME})[ \\t]*=[ \\t]*(?:"((?:[^"\\\\]|\\\\.)*)"|'([^']*)'|([^\\s,"'=][^\\s,"]*))(?=[\\s,]|$)`,
  'y',
);
const SCHEME = new RegExp(`(${NAME})(?=[\\s,]|$)`, 'y');
const SEPARATORS = /[\s,]*/y;
/** What is no challenge, such as the token of a scheme that has no parameters. */
const OTHER = /[^\s,]+/y;

/**
 * Reads the challenges of all fields of an answer, joined by commas as `Headers.get` does. A field may hold several challenges, and a
 * comma separates challenges and parameters alike.
 */
export function readChallenges(fields: string): Challenge[] {
  const challenges: { scheme: string; parameters: [string, string][] }[] = [];
  let at = 0;
  const match = (pattern: RegExp): RegExpExecArray | null => {
    pattern.lastIndex = at;
    const found = pattern.exec(fields);
    if (found !== null) at = pattern.lastIndex;
    return found;
  };
  for (match(SEPARATORS); at < fields.length; match(SEPARATORS)) {
    const current = challenges.at(-1);
    const parameter = current === undefined ? null : match(PARAMETER);
    if (parameter !== null) {
      const [, name, quoted, single, plain] = parameter;
      const value = quoted === undefined ? (single ?? plain!) : quoted.replace(/\\(.)/g, '$1');
      current!.parameters.push([name!.toLowerCase(), value]);
      continue;
    }
    const scheme = match(SCHEME);
    if (scheme !== null) challenges.push({ scheme: scheme[1]!.toLowerCase(), parameters: [] });
    else match(OTHER);
  }
  return challenges;
}

/** The values of a parameter in the challenges of a scheme, in their order. */
export function challengeValues(challenges: readonly Challenge[], scheme: string, parameter: string): string[] {
  return challenges
    .filter((challenge) => challenge.scheme === scheme)
    .flatMap(({ parameters }) => parameters.filter(([name]) => name === parameter).map(([, value]) => value));
}
