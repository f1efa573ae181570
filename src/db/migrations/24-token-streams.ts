import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The open streams of session tokens, over all processes (src/stream/token-streams). */
export class TokenStreams1800000000024 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      -- A session has a fixed number of slots, and the key lets one stream have each. The slots of a dead process go with its lease.
      CREATE TABLE token_streams (
        session_id text COLLATE "C" NOT NULL,
        slot smallint NOT NULL,
        -- Given by the process, so that it can give back a slot of which it does not know whether it got it.
        stream_id text COLLATE "C" NOT NULL,
        lease text COLLATE "C" NOT NULL REFERENCES leases (name) ON DELETE CASCADE,
        PRIMARY KEY (session_id, slot)
      );
      CREATE INDEX token_streams_lease ON token_streams (lease);
      -- Few rows, replaced all the time.
      ALTER TABLE token_streams SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
    `);
  }

  down(): Promise<void> {
    return Promise.reject(new Error('migrations only go forward'));
  }
}
