import { emptyAnswers } from '../db/answers-of-resources.js';
import type { Db, Tx } from '../db/db.js';
import type { SkillEntry } from '../db/entities/sessions.js';
import { readPage } from '../db/read-page.js';
import { requireRoomFor } from '../db/resources.js';
import { rawSql, runSql, sql } from '../db/sql.js';
import { violatedUniqueConstraint, write } from '../db/transaction.js';
import { ServiceError } from '../platform/errors.js';
import { newId } from '../platform/ids.js';
import type { PageRequest, PageRows } from '../platform/page.js';
import { VERSION_BYTES } from '../sessions/row-bytes.js';
import { configurationIdOf } from '../sessions/agent-of-session.js';
import type { OwnConfiguration } from '../sessions/store.js';

const MAX_AGENTS_PER_PROJECT = 1000;

/** What a version has. `tools` is JSON text: parsed, 2 MiB of it can take 40 MiB. */
type ShownConfiguration = Omit<OwnConfiguration, 'tools' | 'model_tools'> & { tools: string; skills: SkillEntry[] };

/** An agent with the description and the configuration of its newest version. */
export interface Agent extends ShownConfiguration {
  id: string;
  project_id: string;
  name: string;
  description: string;
  version: number;
  live_version: number;
  created_at: string;
  updated_at: string;
}

export interface AgentVersion extends ShownConfiguration {
  agent_id: string;
  version: number;
  description: string;
  created_at: string;
}

/** What is stored of a version. */
export interface NewVersion {
  description: string;
  configuration: OwnConfiguration;
  skills: SkillEntry[];
}

const CONFIGURATION =
  'model_id, thinking_enabled, instruction, mcp_servers, tools::text AS tools, fallback_model_ids, skills';
const OF_CONFIGURATION = `c.model_id, c.thinking_enabled, c.instruction, c.mcp_servers, c.tools, c.fallback_model_ids, c.skills, c.page_bytes`;
const AGENTS = `
  SELECT a.id, a.project_id, a.name, v.description, a.version, a.live_version, ${OF_CONFIGURATION}, a.created_at, a.updated_at
  FROM agents a JOIN agent_versions v ON v.agent_id = a.id AND v.version = a.version
    JOIN configurations c ON c.id = a.id || '@' || a.version`;
const AGENT_COLUMNS = `id, project_id, name, description, version, live_version, ${CONFIGURATION}, created_at, updated_at`;
const VERSIONS = `
  SELECT v.agent_id, v.version AS number, v.description, ${OF_CONFIGURATION}, v.created_at
  FROM agent_versions v JOIN configurations c ON c.id = v.agent_id || '@' || v.version`;
const VERSION_COLUMNS = `agent_id, number AS version, description, ${CONFIGURATION}, created_at`;

export async function findAgent(db: Db, projectId: string, id: string): Promise<Agent | null> {
  const [agent] = await runSql<Agent>(
    db,
    sql`SELECT ${rawSql(AGENT_COLUMNS)} FROM (
          ${rawSql(AGENTS)} WHERE a.project_id = ${projectId} AND a.id = ${id} AND a.deleted_at IS NULL) AS agent`,
  );
  return agent ?? null;
}

/** The ids and numbers of an agent, without its configuration, which may be megabytes. */
export type AgentState = Pick<Agent, 'id' | 'project_id' | 'version' | 'live_version'>;

export async function findAgentState(db: Db, projectId: string, id: string): Promise<AgentState | null> {
  const [agent] = await runSql<AgentState>(
    db,
    sql`SELECT id, project_id, version, live_version FROM agents
        WHERE project_id = ${projectId} AND id = ${id} AND deleted_at IS NULL`,
  );
  return agent ?? null;
}

/** A page of a project's agents, newest first: all, or the one of a name. */
export function listAgents(
  db: Db,
  projectId: string,
  { limit, after }: PageRequest,
  name: string | undefined,
): Promise<PageRows<Agent>> {
  const values: unknown[] = [projectId, limit + 1];
  const add = (value: unknown): string => `$${values.push(value)}`;
  const named = name === undefined ? '' : `AND a.name = ${add(name)}`;
  const behind =
    after === null ? '' : `AND (a.created_at, a.id) < (${add(after[0])}::timestamptz, ${add(after[1])}::text)`;
  return readPage(db, {
    query: `${AGENTS} WHERE a.project_id = $1 AND a.deleted_at IS NULL ${named} ${behind}
      ORDER BY a.created_at DESC, a.id DESC LIMIT $2`,
    values,
    order: 'created_at DESC, id DESC',
    limit,
    large: { bytes: 'page_bytes', columns: AGENT_COLUMNS },
  });
}

/** A page of an agent's versions, newest first: those with a number below `before`. */
export function listVersions(db: Db, agentId: string, before: number, limit: number): Promise<PageRows<AgentVersion>> {
  return readPage(db, {
    query: `${VERSIONS} WHERE v.agent_id = $1 AND v.version < $2 ORDER BY v.version DESC LIMIT $3`,
    values: [agentId, before, limit + 1],
    order: 'number DESC',
    limit,
    large: { bytes: 'page_bytes', columns: VERSION_COLUMNS },
  });
}

/** Also those of a deleted agent. */
export async function findVersion(db: Db, agentId: string, version: number): Promise<AgentVersion | null> {
  const [found] = await runSql<AgentVersion>(
    db,
    sql`SELECT ${rawSql(VERSION_COLUMNS)} FROM (
          ${rawSql(VERSIONS)} WHERE v.agent_id = ${agentId} AND v.version = ${version}::bigint) AS version`,
  );
  return found ?? null;
}

/** @throws ServiceError `agent_limit_reached`, `agent_name_taken`: the unique index accepts one of several parallel requests */
export async function insertAgent(tx: Tx, projectId: string, name: string, first: NewVersion): Promise<Agent> {
  await requireRoomFor(tx, projectId, 'agent', MAX_AGENTS_PER_PROJECT);
  const id = newId('agent');
  try {
    await runSql(
      tx,
      sql`INSERT INTO agents (id, project_id, name, version, live_version, created_at, updated_at)
          VALUES (${id}, ${projectId}, ${name}, 1, 1, statement_timestamp(), statement_timestamp())`,
    );
  } catch (error) {
    if (violatedUniqueConstraint(error) !== 'agents_name') throw error;
    throw new ServiceError(
      'agent_name_taken',
      `The project has an agent named ${name}. Choose another name, or delete it.`,
    );
  }
  insertVersion(tx, projectId, id, 1, first);
  return (await findAgent(tx, projectId, id))!;
}

const INSERT_CONFIGURATION = `
  INSERT INTO configurations (id, model_id, thinking_enabled, instruction, mcp_servers, tools, model_tools, fallback_model_ids, skills)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`;
const INSERT_VERSION = `
  INSERT INTO agent_versions (agent_id, version, description, created_at) SELECT $1, $2, $3, updated_at FROM agents WHERE id = $1`;
/** They count in the storage of the project, as the rows of sessions do. */
const ADD_BYTES = `
  INSERT INTO row_byte_changes (project_id, bytes) SELECT $1, ${VERSION_BYTES.strings.join('')} FROM configurations c WHERE c.id = $2`;

function insertVersion(
  tx: Tx,
  projectId: string,
  agentId: string,
  version: number,
  { description, configuration, skills }: NewVersion,
): void {
  const id = configurationIdOf(agentId, version);
  const { model_id, thinking_enabled, instruction, mcp_servers, tools, model_tools, fallback_model_ids } =
    configuration;
  write(tx, INSERT_CONFIGURATION, [
    ...[id, model_id, thinking_enabled, instruction, mcp_servers, JSON.stringify(tools), JSON.stringify(model_tools)],
    ...[fallback_model_ids, JSON.stringify(skills)],
  ]);
  write(tx, INSERT_VERSION, [agentId, version, description]);
  write(tx, ADD_BYTES, [projectId, id]);
}

/** Locks the agent's row until the transaction ends and reads it; null if it is deleted. */
export async function lockAgent(tx: Tx, projectId: string, id: string): Promise<Agent | null> {
  // Two statements: after a wait for the lock, one statement would join the new row with the version of before.
  await runSql(tx, sql`SELECT FROM agents WHERE id = ${id} AND project_id = ${projectId} FOR NO KEY UPDATE`);
  return findAgent(tx, projectId, id);
}

/** Writes to a locked agent. It touches no session: those that follow the agent read its row when their next turn begins. */
export async function changeAgent(
  tx: Tx,
  { id, project_id, version }: AgentState,
  next: NewVersion | null,
  liveVersion: number,
): Promise<Agent> {
  const newest = next === null ? version : version + 1;
  await runSql(
    tx,
    sql`UPDATE agents SET version = ${newest}, live_version = ${liveVersion}, updated_at = clock_timestamp() WHERE id = ${id}`,
  );
  if (next !== null) insertVersion(tx, project_id, id, newest, next);
  return (await findAgent(tx, project_id, id))!;
}

/** Deletes the agent softly, which frees its name: sessions go on with its versions. Returns false if another request deleted it first. */
export async function deleteAgent(tx: Tx, id: string): Promise<boolean> {
  const [, count] = await tx.query<[unknown[], number]>(
    'UPDATE agents SET deleted_at = clock_timestamp() WHERE id = $1 AND deleted_at IS NULL',
    [id],
  );
  if (count !== 1) return false;
  await emptyAnswers(tx, [id]);
  return true;
}

export function agentNotFound(): never {
  throw new ServiceError('agent_not_found', 'There is no such agent.');
}

export function versionNotFound(): never {
  throw new ServiceError('agent_version_not_found', 'The agent has no such version.');
}
