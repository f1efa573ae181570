import { openDataSource } from '../../../src/db/data-source.js';

/** A process that holds a project's row lock in a transaction and waits for its own end. */
const db = await openDataSource(process.env.DATABASE_URL!, 2, 'frozen');
const runner = db.createQueryRunner();
await runner.startTransaction();
await runner.query('SELECT FROM projects FOR UPDATE');
process.stdout.write('locked\n');
setInterval(() => undefined, 1000);
