import {
  Composer,
  isAlias,
  isMap,
  isScalar,
  Lexer,
  Parser,
  type CST,
  type Document,
  type ParsedNode,
  type YAMLError,
  type YAMLMap,
} from 'yaml';
import { codePointLength, decodeUtf8, isStorableText } from '../platform/text.js';
import { invalidBundle } from './refusals.js';

const DESCRIPTION_LENGTH = 1024;
const NAME_LENGTH = 64;
/**
 * Limit of nested collections. The YAML composer recurses per level, and V8 aborts the process when the stack
 * overflows.
 */
const MAX_DEPTH = 100;
const NAME = /^[a-z0-9]+(-[a-z0-9]+)*$/;
/** The frontmatter: from a first line `---` to the next line `---`. Both may end in blanks; lines may end in CRLF. */
const OPENING = /^---[ \t]*\r?\n/;
const CLOSING = /(?<![^\n])---[ \t]*\r?(?=\n|$)/;

export interface SkillMd {
  name: string;
  description: string;
  body: string;
}

/**
 * Reads a `SKILL.md`: YAML frontmatter with `name` and `description`, then the instructions (decisions.md "Resources", "Skill
 * name"). A byte order mark and CRLF are accepted.
 * @throws ServiceError `invalid_skill_bundle` that says what to change
 */
export function readSkillMd(bytes: Uint8Array): SkillMd {
  const text = decode(bytes);
  const { yaml, body } = split(text);
  const field = parse(yaml);
  return { name: nameOf(field('name')), description: descriptionOf(field('description')), body };
}

function decode(bytes: Uint8Array): string {
  const text = decodeUtf8(bytes);
  if (text === null) throw invalidBundle('SKILL.md is not UTF-8 text.');
  if (text.includes('\0')) throw invalidBundle('SKILL.md contains a NUL character.');
  return text;
}

function split(text: string): { yaml: string; body: string } {
  const opening = OPENING.exec(text);
  if (opening === null) {
    throw invalidBundle('SKILL.md has no frontmatter: its first line must be "---", followed by YAML with a name.');
  }
  const rest = text.slice(opening[0].length);
  const closing = CLOSING.exec(rest);
  if (closing === null) throw invalidBundle('The frontmatter of SKILL.md does not end: a line "---" is missing.');
  return {
    yaml: rest.slice(0, closing.index),
    body: rest.slice(closing.index + closing[0].length).replace(/^(\r?\n)+/, ''),
  };
}

/**
 * A top-level value of the frontmatter; undefined if the key is absent. A value that is not a scalar is never expanded.
 */
type Field = (key: string) => unknown;

function parse(yaml: string): Field {
  const first = compose(yaml);
  const repaired = first.errors.length === 0 ? null : quoteValues(yaml, first.errors);
  const document = repaired === null ? first : compose(repaired);
  const [error] = [...document.errors, ...document.warnings];
  if (error !== undefined) throw invalidBundle(describeError(repaired ?? yaml, error));
  if (!isMap(document.contents)) throw invalidBundle('The frontmatter of SKILL.md must be a YAML mapping with a name.');
  const fields = new Map<string, ParsedNode | null>();
  for (const { key, value } of (document.contents as YAMLMap<ParsedNode, ParsedNode | null>).items) {
    const name = isScalar(key) ? String(key.value) : '';
    if (name !== '' && fields.has(name)) {
      throw invalidBundle(`The frontmatter of SKILL.md has the key ${JSON.stringify(name)} twice.`);
    }
    fields.set(name, value);
  }
  return (key) => (fields.has(key) ? scalarOf(document, fields.get(key) ?? null) : undefined);
}

/** A line with a key and the beginning of its value. */
const VALUE_LINE = /^([ \t]*)([\w.-]+):[ \t]+(\S.*)$/;
/** A value that is meant as YAML: a tag, a block, or a text in quotes, after which nothing comes. */
const IS_YAML = /^([!|>]|"[^"]*$|'[^']*$|"[^"]*"$|'[^']*'$)/;

/**
 * Puts the values that YAML refuses in quotes, as the guide of the format advises its readers to try: people write
 * `description: Use when: …`. The lines keep their numbers. Null if there is no such value.
 */
function quoteValues(yaml: string, errors: readonly YAMLError[]): string | null {
  const lines = yaml.split('\n');
  let isChanged = false;
  for (const at of linesOf(lines, errors)) {
    const [, indent, key, value] = VALUE_LINE.exec(lines[at]!.trimEnd()) ?? [];
    if (value === undefined || IS_YAML.test(value)) continue;
    const more: string[] = [];
    for (let next = at + 1; next < lines.length && isDeeper(lines[next]!, indent!); next += 1) {
      more.push(lines[next]!.trim());
      lines[next] = '';
    }
    lines[at] = `${indent}${key}: '${[value, ...more].join(' ').replaceAll("'", "''")}'`;
    isChanged = true;
  }
  return isChanged ? lines.join('\n') : null;
}

/** A text goes on in lines that are indented more than its key. */
function isDeeper(line: string, indent: string): boolean {
  return line.trim() !== '' && line.length - line.trimStart().length > indent.length;
}

/** The lines in which the errors begin, each once. */
function linesOf(lines: readonly string[], errors: readonly YAMLError[]): number[] {
  const places = errors.map(({ pos: [start] }) => start).sort((a, b) => a - b);
  const found = new Set<number>();
  let [at, end] = [0, lines[0]!.length];
  for (const place of places) {
    while (place > end && at < lines.length - 1) end += 1 + lines[(at += 1)]!.length;
    found.add(at);
  }
  return [...found];
}

/** Names the field and its line in SKILL.md, whose first line is `---`. */
function describeError(yaml: string, error: YAMLError): string {
  const lines = yaml.split('\n');
  let [at] = linesOf(lines, [error]) as [number];
  // An open quote is found at the end.
  while (at > 0 && !VALUE_LINE.test(lines[at]!)) at -= 1;
  const key = VALUE_LINE.exec(lines[at]!)?.[2];
  const place = key === undefined ? `line ${at + 2}` : `the value of ${JSON.stringify(key)} in line ${at + 2}`;
  const remedy = key === undefined ? '' : ' Put the value in quotes if it is text.';
  return `The frontmatter of SKILL.md is not valid YAML in ${place}: ${error.message}.${remedy}`;
}

/**
 * @throws ServiceError `invalid_skill_bundle` if collections nest deeper than MAX_DEPTH, or a second document follows
 */
function compose(yaml: string): Document.Parsed {
  // `uniqueKeys` compares every pair of keys, which is quadratic. `parse` checks the top-level keys in one pass.
  const composer = new Composer({
    version: '1.2',
    schema: 'core',
    resolveKnownTags: false,
    uniqueKeys: false,
    prettyErrors: false,
    logLevel: 'error',
  });
  const [document, another] = composer.compose(boundedTokens(yaml), true, yaml.length);
  if (another !== undefined) throw invalidBundle('The frontmatter of SKILL.md has more than one YAML document.');
  return document!;
}

/** The parser keeps open collections on its own stack, so this measures the depth before the composer recurses. */
function* boundedTokens(yaml: string): Generator<CST.Token, void> {
  const parser = new Parser();
  for (const lexeme of new Lexer().lex(yaml)) {
    yield* parser.next(lexeme);
    if (parser.stack.length > MAX_DEPTH) {
      throw invalidBundle(`The frontmatter of SKILL.md nests deeper than ${MAX_DEPTH} levels.`);
    }
  }
  yield* parser.end();
}

function scalarOf(document: Document.Parsed, node: ParsedNode | null): unknown {
  const target = isAlias(node) ? (node.resolve(document) ?? node) : node;
  return isScalar(target) ? target.value : target;
}

function nameOf(name: unknown): string {
  if (name === undefined) throw invalidBundle('The frontmatter of SKILL.md has no name.');
  if (typeof name !== 'string') {
    throw invalidBundle('The name in SKILL.md must be a string (put a number or word like "true" in quotes).');
  }
  if (name.length > NAME_LENGTH || !NAME.test(name)) {
    throw invalidBundle(
      'The name in SKILL.md must have 1 to 64 characters: lowercase letters a-z, digits and single hyphens, none at an end.',
    );
  }
  return name;
}

function descriptionOf(description: unknown): string {
  if (description === undefined || description === null) return '';
  if (typeof description !== 'string') {
    throw invalidBundle('The description in SKILL.md must be a string (leave the key out for none).');
  }
  if (codePointLength(description) > DESCRIPTION_LENGTH) {
    throw invalidBundle(`The description in SKILL.md is longer than ${DESCRIPTION_LENGTH} characters.`);
  }
  if (!isStorableText(description)) {
    throw invalidBundle('The description in SKILL.md contains NUL or half a surrogate pair.');
  }
  return description;
}
