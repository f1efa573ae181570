import { migrationFiles, nameOf, titleOf } from '../../src/db/migrations/index.js';

/** What `migrate` says of a database in which all migrations ran. */
export const migrationTitles = migrationFiles.map((each) => titleOf(nameOf(each)));
