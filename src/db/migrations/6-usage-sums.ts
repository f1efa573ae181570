import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The sums of GET usage by day (src/turns/usage-sums). Maintenance adds the rows that exist, too. */
export class UsageSums1800000000006 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE turn_usage
        -- Whether usage_sums has the row.
        ADD COLUMN is_summed boolean NOT NULL DEFAULT false,
        -- Whether it is the first row of its turn, which counts the turn; null in rows of older versions that are not summed.
        ADD COLUMN is_first boolean;

      CREATE TABLE usage_sums (
        project_id text COLLATE "C" NOT NULL,
        -- day, model, session or metadata.KEY, and a group of it. metadata: the turns with a key, and the key.
        kind text COLLATE "C" NOT NULL,
        name text COLLATE "C" NOT NULL,
        -- Of UTC.
        day date NOT NULL,
        -- Empty for turns without one.
        currency text COLLATE "C" NOT NULL,
        turns numeric NOT NULL,
        model_calls numeric NOT NULL,
        input_tokens numeric NOT NULL,
        output_tokens numeric NOT NULL,
        cache_read_input_tokens numeric NOT NULL,
        cache_creation_input_tokens numeric NOT NULL,
        cost numeric NOT NULL,
        -- How many rows of turn_usage have a call without a price.
        unpriced numeric NOT NULL,
        PRIMARY KEY (project_id, kind, name, day, currency)
      );
      ALTER TABLE usage_sums SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02,
        autovacuum_vacuum_insert_scale_factor = 0.05)`);
  }

  down(): Promise<void> {
    return Promise.reject(new Error('migrations only go forward'));
  }
}
