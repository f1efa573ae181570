import type { MigrationInterface, QueryRunner } from 'typeorm';

export class LeftOutTools1800000000018 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    // Tools that the server lists and the service does not keep. A server that was probed before tells at its next probe.
    await runner.query('ALTER TABLE mcp_servers ADD COLUMN IF NOT EXISTS tools_left_out integer NOT NULL DEFAULT 0');
  }

  down(): Promise<void> {
    return Promise.reject(new Error('migrations only go forward'));
  }
}
