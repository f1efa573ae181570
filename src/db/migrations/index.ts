import { readdirSync, readFileSync } from 'node:fs';
import type { MigrationInterface, QueryRunner } from 'typeorm';

const FOLDER = new URL('./', import.meta.url);
/** The first line of a file whose statements run one by one, each committed by itself: those that build an index beside the work. */
const NO_TRANSACTION = '-- no transaction\n';

/** `N-name.sql` of this folder. */
interface MigrationFile {
  number: number;
  file: string;
}

export const migrationFiles: readonly MigrationFile[] = readdirSync(FOLDER)
  .flatMap((file) => {
    const [, number] = /^(\d+)-[a-z0-9-]+\.sql$/.exec(file) ?? [];
    return number === undefined ? [] : [{ number: Number(number), file }];
  })
  .sort((a, b) => a.number - b.number);

/** The name under which a database remembers that a file ran: typeorm orders migrations by 13 digits at its end. */
export function nameOf({ number, file }: MigrationFile): string {
  return `${file.slice(file.indexOf('-') + 1, -'.sql'.length)}-${String(number).padStart(13, '0')}`;
}

/** The number in the name of a migration. */
export function numberOf(name: string): number {
  return Number(name.slice(-13));
}

/** For people: `2-name` of the file `2-name.sql`. */
export function titleOf(name: string): string {
  return `${numberOf(name)}-${name.slice(0, -14)}`;
}

export function readMigration(file: string): string {
  return readFileSync(new URL(file, FOLDER), 'utf8');
}

/** A file as a migration of typeorm, which runs it in a transaction of its own and remembers it. */
export function migrationOf(file: MigrationFile, text: string): new () => MigrationInterface {
  return class implements MigrationInterface {
    readonly name = nameOf(file);
    readonly transaction = !text.startsWith(NO_TRANSACTION);

    async up(runner: QueryRunner): Promise<void> {
      for (const statement of this.transaction ? [text] : statementsOf(text)) await runner.query(statement);
    }

    down(): Promise<void> {
      return Promise.reject(new Error('migrations only go forward'));
    }
  };
}

/** Each ends with a semicolon at the end of a line, outside of `$$`. Postgres takes several in one message as one transaction. */
function statementsOf(text: string): string[] {
  return text.split(/(?<=;)\n(?=(?:[^$]*\$\$[^$]*\$\$)*[^$]*$)/).filter((statement) => statement.trim() !== '');
}

export const migrations = migrationFiles.map((each) => migrationOf(each, readMigration(each.file)));
