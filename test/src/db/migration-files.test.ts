import { createHash } from 'node:crypto';
import { expect } from 'chai';
import { migrationFiles, nameOf, numberOf, readMigration, titleOf } from '../../../src/db/migrations/index.js';

/** The SHA-256 of each file. */
const FINGERPRINTS: Record<string, string> = {
  '1-baseline.sql': '9c0daccaba346fcb629af35739adf8dd4c141170e16fcb5d5ede1a79248eee00',
  '2-configurations.sql': '4dd9beb6a6eacb3e5a4c61501ab4df23731027290d04ddf17c5a1d85b8c8a6e0',
  '3-configurations-of-before.sql': 'c70cfccb8e07808c9435f63085983286488716113afcc4ac6aa21e3b8a821f08',
  '4-agents.sql': '5f188193e1c5ab9601fcb3244b499b411d06425f4427d3572a3b6fec3994d891',
  '5-sessions-of-agents.sql': '4e4b7a455d2ac7f16acd121aaeb7e701308f71c0acd1e95eb6631e64f585d7dd',
  '6-administration.sql': 'f89a866aa8c5814b778a7d2b7d717f1c40064d242e6449bf7d4671bd5ddfa2bb',
  '7-key-indexes.sql': '9d46e51b5eea49e77204b69c67bef99628c25febf8ac83cd207c10e62d4d6688',
  '8-approvals.sql': 'a94baad2bba2c9a0dbe63e96d7e75701aeb888845c6c41fed9f0af226e972c50',
  '9-sessions-of-a-user.sql': '18327f2e0a199ad6a88b4b44ed5fd939d599f6a97ef8acd49925109d39911e80',
  '10-child-sessions.sql': '2459e15f65902ca6b6969a627ce155cdb94b41ae9769026c732f72cd85bb70a6',
  '11-child-session-indexes.sql': 'd281fff0fdb0a471b9a090db309518edf9df64506e52db4c8aa7539edb12e26b',
  '12-memories.sql': 'baa19ba971bd98792d4c39e1b9fd9b95bf17ce5b3c2d5c435b6bba30b052f856',
  '13-erasures.sql': '0a6459e0c6f58d1678bdb96d72edf6a4d87ea3e92ae09f24001c467bd55bfc7a',
  '14-erasure-indexes.sql': '744fa6b03de071d7db0845f2426c3cab36cb5e374f00331817653af3e5b4c113',
};

describe('the files of migrations', () => {
  it('the files of migrations are numbered from 1 without gaps, and databases remember them by names with these numbers', () => {
    expect(migrationFiles.map(({ number }) => number)).to.deep.equal(migrationFiles.map((_, index) => index + 1));
    for (const each of migrationFiles) {
      expect(numberOf(nameOf(each))).to.equal(each.number);
      expect(`${titleOf(nameOf(each))}.sql`).to.equal(each.file);
    }
  });

  it('the files of migrations are those that databases have: a released one never changes', () => {
    expect(Object.keys(FINGERPRINTS)).to.deep.equal(migrationFiles.map(({ file }) => file));
    for (const { file } of migrationFiles) {
      const sha256 = createHash('sha256').update(readMigration(file)).digest('hex');
      const advice =
        `${file} has changed. If it is released, take the change back and write a new file; else write here: ` +
        `'${file}': '${sha256}',`;
      expect(FINGERPRINTS[file], advice).to.equal(sha256);
    }
  });

  it('the files of migrations build indexes of older tables beside the work, in files without a transaction that can run again', () => {
    for (const { file } of migrationFiles) {
      const text = readMigration(file);
      const created = new Set([...text.matchAll(/^CREATE TABLE (\w+)/gm)].map(([, table]) => table));
      for (const [statement, table = ''] of text.matchAll(/CREATE (?:UNIQUE )?INDEX \w+ ON (\w+)/g)) {
        expect(created.has(table), `${file}: ${statement} (CREATE INDEX CONCURRENTLY)`).to.equal(true);
      }
      for (const [, index] of text.matchAll(/CREATE (?:UNIQUE )?INDEX CONCURRENTLY (\w+)/g)) {
        expect(text)
          .to.match(/^-- no transaction\n/)
          .and.contain(`DROP INDEX CONCURRENTLY IF EXISTS ${index};`);
      }
    }
  });
});
