/**
 * SQL for what a session or a turn is configured with: a configuration `c`, which is its own or that of a version of its agent, and what
 * the session has instead of fields of its agent's, the overrides `o`. Neither row ever changes.
 */

const OVERRIDES = (of: string, session: string): string =>
  `LEFT JOIN session_overrides o ON o.session_id = ${session} AND o.number = ${of}.overrides_number`;

/** Joins `c` and `o` of a turn. */
export const configurationOfTurn = (turn: string): string =>
  `JOIN configurations c ON c.id = ${turn}.configuration_id ${OVERRIDES(turn, `${turn}.session_id`)}`;

/** Joins `c` and `o` of the session's next turn, and its agent `agent`. A session that follows an agent has no configuration_id. */
export const configurationOfSession = (session: string): string => `
  LEFT JOIN agents agent ON agent.id = ${session}.agent_id
  JOIN configurations c ON c.id = coalesce(${session}.configuration_id, agent.id || '@' || agent.live_version)
  ${OVERRIDES(session, `${session}.id`)}`;

export const MODEL_ID = `coalesce(o.overrides->>'model_id', c.model_id)`;
export const THINKING_ENABLED = `coalesce((o.overrides->>'thinking_enabled')::boolean, c.thinking_enabled)`;
/** An override may be null. */
export const INSTRUCTION = `CASE WHEN o.overrides->'instruction' IS NULL THEN c.instruction ELSE o.overrides->>'instruction' END`;
/** A later version may have a fallback that is the model by now. */
export const FALLBACK_MODEL_IDS = `array_remove(CASE WHEN o.overrides->'fallback_model_ids' IS NULL THEN c.fallback_model_ids
  ELSE ARRAY(SELECT json_array_elements_text(o.overrides->'fallback_model_ids')) END, ${MODEL_ID})`;
const SKILLS = `coalesce(o.overrides->'skills', c.skills)`;

/** The version of an agent that the session's next turn begins with. */
export const AGENT_VERSION = (session: string): string => `coalesce(${session}.agent_version, agent.live_version)`;

/**
 * The skills of the session's agent as they are now, in order, each once: an entry names one by its id or its name. Null without an agent;
 * a skill that is deleted is left out.
 */
const AGENT_SKILLS = (session: string): string => `
  CASE WHEN ${session}.agent_id IS NULL THEN NULL WHEN json_array_length(${SKILLS}) = 0 THEN '[]' ELSE (
    SELECT coalesce(json_agg(json_build_object('id', id, 'name', name, 'description', description) ORDER BY place), '[]') FROM (
      SELECT DISTINCT ON (k.id) k.id, k.name, k.description, place
      FROM json_array_elements(${SKILLS}) WITH ORDINALITY AS e (entry, place), LATERAL (
        SELECT * FROM skills WHERE id = e.entry #>> '{}'
        UNION ALL SELECT * FROM skills WHERE project_id = ${session}.project_id AND name = e.entry->>'name' AND deleted_at IS NULL) AS k
      WHERE k.project_id = ${session}.project_id AND k.deleted_at IS NULL
      ORDER BY k.id, place) AS found) END`;

/** With which configuration a turn runs: columns of `turns`. */
export interface TurnConfiguration {
  configuration_id: string;
  /** The agent, its version and its skills, of which the last are JSON text; null without an agent. */
  agent_id: string | null;
  agent_version: number | null;
  overrides_number: number | null;
  agent_skills: string | null;
}

export const TURN_CONFIGURATION = [
  'configuration_id',
  'agent_id',
  'agent_version',
  'overrides_number',
  'agent_skills',
] as const satisfies (keyof TurnConfiguration)[];

/** That of the session's next turn. */
export const NEXT_CONFIGURATION = (session: string): string => `
  c.id AS configuration_id, ${session}.agent_id, ${AGENT_VERSION(session)} AS agent_version, ${session}.overrides_number,
  (${AGENT_SKILLS(session)})::text AS agent_skills`;

/** Whether the configuration `c` has an entry of this type in `tools`. */
export const HAS_ENTRY = (type: string): string =>
  `EXISTS (SELECT FROM json_array_elements(c.tools) AS entry WHERE entry->>'type' = '${type}')`;
