import type { Db } from './db.js';

/** A piece of SQL with its parameters. Pieces can nest; `sql` numbers the parameters of the whole statement. */
export class Sql {
  constructor(
    readonly strings: readonly string[],
    readonly values: readonly unknown[],
  ) {}
}

/** Builds a piece of SQL: a value becomes a parameter, another piece becomes part of the text. */
export function sql(strings: TemplateStringsArray, ...values: unknown[]): Sql {
  return new Sql(strings, values);
}

/** A constant as a piece of SQL. Never pass input: the text is not escaped. */
export function rawSql(text: string): Sql {
  return new Sql([text], []);
}

/** SQL for a timestamptz as text, as responses have it: in UTC with microseconds. `time` is an SQL expression. */
export function isoText(time: string): string {
  return `to_char(${time} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`;
}

/** Joins pieces with a separator; an empty list gives empty text. */
export function joinSql(pieces: readonly Sql[], separator: string): Sql {
  if (pieces.length === 0) return rawSql('');
  return new Sql(['', ...pieces.slice(1).map(() => separator), ''], pieces);
}

export async function runSql<Row>(db: Db, statement: Sql): Promise<Row[]> {
  const values: unknown[] = [];
  const answer = await db.query<Row[] | [Row[], number]>(textOf(statement, values), values);
  return hasCount(answer) ? answer[0] : answer;
}

/** The answer of an UPDATE or DELETE has the number of rows beside them (`answerOf` in direct-data-source.ts). */
function hasCount<Row>(answer: Row[] | [Row[], number]): answer is [Row[], number] {
  return Array.isArray(answer[0]);
}

function textOf({ strings, values }: Sql, parameters: unknown[]): string {
  return strings.reduce((text, part, index) => {
    const value = values[index - 1];
    const inserted = value instanceof Sql ? textOf(value, parameters) : `$${parameters.push(value)}`;
    return text + inserted + part;
  });
}
