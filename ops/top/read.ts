import type { Database } from '../../src/db/db.js';
import { rawSql, runSql, sql } from '../../src/db/sql.js';
import { firstIdAt } from '../../src/platform/ids.js';
import { OPEN_QUESTIONS } from '../../src/turns/gauges.js';

/** Bounds the work of the command, whatever the load: the newest turns that began in the window, and those that ended in it. */
export const MAX_TURNS = 50_000;

/** What Postgres knows of a project's load. */
export interface ProjectLoad {
  project: string;
  project_id: string;
  turns_begun: number;
  /** Now. */
  turns_queued: number;
  turns_running: number;
  /** Of the running ones: those that wait for a person or a client. */
  turns_waiting: number;
  model_calls: number;
  input_tokens: number;
  output_tokens: number;
  tool_calls: number;
  /** Writing requests of each operation in the current window of the rate limit; `tokens:` before those of session tokens. */
  requests: Record<string, number>;
  token_streams: number;
  file_bytes: number;
  row_bytes: number;
}

export interface Load {
  since: string;
  /** There were more turns than MAX_TURNS: those of the window are not all counted. */
  is_cut: boolean;
  /** The busiest one first. Projects without any load are left out. */
  projects: ProjectLoad[];
}

type Part<Key extends keyof ProjectLoad> = Pick<ProjectLoad, 'project_id' | Key>;

export async function readLoad(db: Database, minutes: number, maxTurns = MAX_TURNS): Promise<Load> {
  const since = new Date(Date.now() - minutes * 60_000);
  const [projects, work, open, requests, streams] = await Promise.all([
    readProjects(db),
    readWork(db, since, maxTurns),
    readOpenTurns(db),
    readRequests(db),
    readStreams(db),
  ]);
  const loads = new Map(projects.map((project) => [project.project_id, { ...NOTHING, ...project }]));
  const { seen = 0 } = work[0] ?? {};
  for (const { seen: _, ...part } of work) add(loads, part);
  for (const part of [...open, ...requests, ...streams]) add(loads, part);
  return {
    since: since.toISOString(),
    is_cut: seen > maxTurns,
    projects: [...loads.values()].filter(hasLoad).sort(byLoad),
  };
}

const NOTHING = {
  ...{ turns_begun: 0, turns_queued: 0, turns_running: 0, turns_waiting: 0 },
  ...{ model_calls: 0, input_tokens: 0, output_tokens: 0, tool_calls: 0, requests: {}, token_streams: 0 },
};

function add(loads: Map<string, ProjectLoad>, part: Partial<ProjectLoad>): void {
  const load = loads.get(part.project_id!);
  if (load !== undefined) Object.assign(load, part);
}

export function requestsOf({ requests }: ProjectLoad): number {
  return Object.values(requests).reduce((sum, count) => sum + count, 0);
}

function hasLoad(load: ProjectLoad): boolean {
  return sizesOf(load).some((size) => size > 0);
}

function byLoad(one: ProjectLoad, other: ProjectLoad): number {
  const [sizes, others] = [sizesOf(one), sizesOf(other)];
  const at = sizes.findIndex((size, n) => size !== others[n]);
  return at === -1 ? 0 : others[at]! - sizes[at]!;
}

/** What decides the order, the most important first. */
function sizesOf(load: ProjectLoad): number[] {
  const { model_calls, tool_calls, turns_begun, turns_running, turns_queued, token_streams } = load;
  return [model_calls, tool_calls, turns_begun, turns_running, turns_queued, requestsOf(load), token_streams];
}

function readProjects(db: Database): Promise<Part<'project' | 'file_bytes' | 'row_bytes'>[]> {
  return runSql(
    db,
    sql`SELECT id AS project_id, name AS project, coalesce(bytes, 0) AS file_bytes, coalesce(row_bytes, 0) AS row_bytes
        FROM projects LEFT JOIN project_storage ON project_id = id ORDER BY name`,
  );
}

/**
 * What turns did in the window. The turns are those whose id was made in it, those that ended in it, and the open ones: a message that
 * waited has an id from before its turn began. What a fork copied did not happen again. `seen`: how many they are, up to one more than `max`.
 */
function readWork(
  db: Database,
  since: Date,
  max: number,
): Promise<
  (Part<'turns_begun' | 'model_calls' | 'input_tokens' | 'output_tokens' | 'tool_calls'> & { seen: number })[]
> {
  const from = since.toISOString();
  return runSql(
    db,
    sql`WITH seen AS MATERIALIZED (
          (SELECT id FROM turns WHERE id >= ${firstIdAt('turn', since.getTime())} ORDER BY id DESC LIMIT ${max + 1})
          UNION
          (SELECT turn_id FROM projects p CROSS JOIN LATERAL (
             SELECT turn_id FROM turn_usage WHERE project_id = p.id AND ended_at >= ${from}::timestamptz
             ORDER BY ended_at DESC LIMIT ${max + 1}) AS ended LIMIT ${max + 1})
          UNION
          SELECT turn_id FROM open_turns),
        taken AS MATERIALIZED (SELECT id FROM seen ORDER BY id DESC LIMIT ${max})
        SELECT project_id, (SELECT count(*) FROM seen)::integer AS seen,
          count(turns.id) FILTER (WHERE queued_at >= ${from}::timestamptz)::integer AS turns_begun,
          coalesce(sum(models.model_calls), 0)::integer AS model_calls, coalesce(sum(models.input_tokens), 0)::bigint AS input_tokens,
          coalesce(sum(models.output_tokens), 0)::bigint AS output_tokens, coalesce(sum(tools.tool_calls), 0)::integer AS tool_calls
        -- Laterally, so that no plan reads the whole table.
        FROM taken LEFT JOIN LATERAL (
            SELECT id, project_id, queued_at FROM turns WHERE turns.id = taken.id AND copied_from IS NULL LIMIT 1) AS turns ON true
          CROSS JOIN LATERAL (
            SELECT count(*) AS model_calls, sum((usage->>'output_tokens')::bigint) AS output_tokens,
              sum((usage->>'input_tokens')::bigint + (usage->>'cache_read_input_tokens')::bigint
                + (usage->>'cache_creation_input_tokens')::bigint) AS input_tokens
            FROM model_calls a WHERE a.turn_id = turns.id AND a.started_at >= ${from}::timestamptz) AS models
          CROSS JOIN LATERAL (
            SELECT count(*) AS tool_calls FROM tool_calls c
            WHERE c.turn_id = turns.id AND c.started_at >= ${from}::timestamptz) AS tools
        GROUP BY project_id`,
  );
}

function readOpenTurns(db: Database): Promise<Part<'turns_queued' | 'turns_running' | 'turns_waiting'>[]> {
  return runSql(
    db,
    sql`WITH waiting AS (SELECT DISTINCT turn_id FROM (${rawSql(OPEN_QUESTIONS)}) AS open)
        SELECT o.project_id, count(*) FILTER (WHERE state = 'queued')::integer AS turns_queued,
          count(*) FILTER (WHERE state = 'running')::integer AS turns_running,
          count(waiting.turn_id)::integer AS turns_waiting
        FROM open_turns o CROSS JOIN LATERAL (SELECT id, state FROM turns WHERE id = o.turn_id LIMIT 1) AS turns
          LEFT JOIN waiting ON waiting.turn_id = id
        GROUP BY o.project_id`,
  );
}

/** The keys of src/projects/limits. */
function readRequests(db: Database): Promise<Part<'requests'>[]> {
  return runSql(
    db,
    sql`SELECT p.id AS project_id, json_object_agg(operation, points ORDER BY points DESC) AS requests
        FROM projects p CROSS JOIN LATERAL (
          SELECT substr(key, length(p.id) + 2) AS operation, points FROM rate_limits
          WHERE key >= p.id || ':' AND key < p.id || ';' AND expire > extract(epoch FROM clock_timestamp()) * 1000) AS counted
        GROUP BY p.id`,
  );
}

function readStreams(db: Database): Promise<Part<'token_streams'>[]> {
  return runSql(
    db,
    sql`SELECT project_id, count(*)::integer AS token_streams
        FROM token_streams JOIN leases ON name = lease JOIN sessions ON id = session_id
        WHERE until > clock_timestamp() GROUP BY project_id`,
  );
}
