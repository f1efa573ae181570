import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { allRows } from './rows.js';

/** Lists the rows that no test of the run has reached; the folder is the run's REACHED_ROWS. */
const folder = process.argv[2]!;
const files = existsSync(folder) ? readdirSync(folder) : [];
const reached = new Set(files.flatMap((file) => readFileSync(join(folder, file), 'utf8').split('\n')));
const rows = allRows();
const gaps = rows.filter((row) => !reached.has(row));
process.stdout.write(`${rows.length - gaps.length} of ${rows.length} rows were reached\n`);
process.stdout.write(gaps.map((row) => `  no test reaches: ${row}\n`).join(''));
process.exitCode = gaps.length === 0 ? 0 : 1;
