import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Webhooks and their deliveries (contract.md §7). */
export class Webhooks1700000000005 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE webhooks (
        id text PRIMARY KEY,
        project_id text NOT NULL REFERENCES projects,
        url text NOT NULL,
        event_types text[] NOT NULL,
        description text,
        enabled boolean NOT NULL,
        disabled_reason text,
        -- Sealed; null once the webhook is deleted.
        secret text,
        -- Sealed; the secret before the last rotation also signs until previous_secret_until.
        previous_secret text,
        previous_secret_until timestamptz,
        -- The first failed attempt since the last successful one.
        failing_since timestamptz,
        created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
        updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
        deleted_at timestamptz
      );
      CREATE INDEX webhooks_list ON webhooks (project_id, created_at DESC, id DESC) WHERE deleted_at IS NULL;

      CREATE TABLE webhook_deliveries (
        id text PRIMARY KEY,
        webhook_id text NOT NULL,
        project_id text NOT NULL,
        event_type text NOT NULL,
        -- Null for webhook.test.
        event_id text,
        session_id text,
        turn_id text,
        -- The session's metadata at the time of the event.
        metadata json NOT NULL DEFAULT '{}',
        state text NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'delivered', 'failed')),
        -- The latest attempts, oldest first: {at, status, error, duration_ms}.
        attempts json NOT NULL DEFAULT '[]',
        attempt_count integer NOT NULL DEFAULT 0,
        -- Pauses of the schedule that were used up.
        pauses integer NOT NULL DEFAULT 0,
        -- Counts requests to send it again, so that an attempt under way cannot close over one.
        retry_requests integer NOT NULL DEFAULT 0,
        next_attempt_at timestamptz,
        -- When the reconciler starts or wakes the workflow, unless an attempt moves it on before.
        wake_at timestamptz NOT NULL,
        created_at timestamptz NOT NULL
      );
      CREATE INDEX webhook_deliveries_list ON webhook_deliveries (webhook_id, created_at DESC, id DESC);
      CREATE INDEX webhook_deliveries_age ON webhook_deliveries (created_at);
      CREATE INDEX webhook_deliveries_new ON webhook_deliveries (project_id, wake_at)
        WHERE state = 'pending' AND attempt_count = 0;
      CREATE INDEX webhook_deliveries_retried ON webhook_deliveries (wake_at)
        WHERE state = 'pending' AND attempt_count > 0;
      CREATE INDEX webhook_deliveries_due ON webhook_deliveries (next_attempt_at) WHERE state = 'pending';
      CREATE INDEX webhook_deliveries_pending ON webhook_deliveries (created_at) WHERE state = 'pending';
    `);
  }

  down(): Promise<void> {
    return Promise.reject(new Error('migrations only go forward'));
  }
}
