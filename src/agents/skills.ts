import type { Db } from '../db/db.js';
import { SkillEntity, type SkillRow } from '../db/entities/skills.js';
import type { SkillEntry } from '../db/entities/sessions.js';
import { findResources } from '../db/resources.js';
import { runSql, sql } from '../db/sql.js';
import { ServiceError } from '../platform/errors.js';
import { objectSchema, shownAs } from '../platform/object-schema.js';

const MAX_SKILLS = 20;

const byName = {
  $id: 'SkillByName',
  description: 'The skill that has this name when a turn begins; none while there is none.',
  ...objectSchema({ name: { type: 'string', description: 'Name of the skill.' } }),
} as const;

/** The skills of an agent. */
export const agentSkillsSchema = {
  type: 'array',
  maxItems: MAX_SKILLS,
  uniqueItems: true,
  description: 'Skills of every turn, beside those that its message selects.',
  items: shownAs(
    {
      type: ['string', 'object'],
      properties: byName.properties,
      required: byName.required,
      additionalProperties: false,
    } as const,
    {
      $id: 'AgentSkill',
      description: 'A skill: its id, or its name.',
      anyOf: [{ $id: 'SkillId', description: 'Id of a skill.', type: 'string' }, byName],
    },
  ),
} as const;

/**
 * Checks that the skills exist now.
 * @throws ServiceError `skill_not_found` with all that are missing
 */
export async function requireAgentSkills(db: Db, projectId: string, entries: readonly SkillEntry[]): Promise<void> {
  const ids = entries.filter((entry) => typeof entry === 'string');
  const names = entries.flatMap((entry) => (typeof entry === 'string' ? [] : [entry.name]));
  const found = new Set((await findResources<SkillRow>(db, SkillEntity, projectId, ids)).map(({ id }) => id));
  const taken = new Set(await namesTaken(db, projectId, names));
  const missing = {
    skill_ids: ids.filter((id) => !found.has(id)),
    skill_names: names.filter((name) => !taken.has(name)),
  };
  const all = [...missing.skill_ids, ...missing.skill_names];
  if (all.length === 0) return;
  const details = Object.fromEntries(Object.entries(missing).filter(([, list]) => list.length > 0));
  throw new ServiceError('skill_not_found', `There is no skill ${all.join(', ')}.`, details);
}

async function namesTaken(db: Db, projectId: string, names: string[]): Promise<string[]> {
  if (names.length === 0) return [];
  const rows = await runSql<{ name: string }>(
    db,
    sql`SELECT name FROM skills WHERE project_id = ${projectId} AND name = ANY(${names}) AND deleted_at IS NULL`,
  );
  return rows.map(({ name }) => name);
}
