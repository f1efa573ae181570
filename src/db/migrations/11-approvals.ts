import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Allowing and denying calls has a permission of its own. The keys that could do it until now keep it. */
export class Approvals1800000000011 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      UPDATE api_keys SET scopes = scopes || 'approvals:write'::text
      WHERE 'sessions:write' = ANY(scopes) AND NOT 'approvals:write' = ANY(scopes)`);
  }

  down(): Promise<void> {
    return Promise.reject(new Error('migrations only go forward'));
  }
}
