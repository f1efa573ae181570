import type { Db } from '../db/db.js';
import { readPage } from '../db/read-page.js';
import type { PageRequest, PageRows } from '../platform/page.js';
import type { AuditSource } from '../db/entities/audit-sender.js';

/** An entry as clients see it. */
export interface ListedEntry {
  id: string;
  created_at: string;
  action: string;
  outcome: 'ok' | 'refused';
  source: AuditSource;
  key_id: string | null;
  key_name: string | null;
  actor: string | null;
  resource: { type: string; id: string } | null;
  session_id: string | null;
  details: object;
  request_id: string | null;
}

/** Which entries are wanted: all that match each of them. Times are in the service's format. */
export interface AuditFilter {
  /** Inclusive. */
  from?: string | undefined;
  /** Exclusive. */
  to?: string | undefined;
  action?: string | undefined;
  key_id?: string | undefined;
  actor?: string | undefined;
  resource_id?: string | undefined;
  outcome?: string | undefined;
}

const CONDITIONS: Record<keyof AuditFilter, string> = {
  from: 'created_at >= ?::timestamptz',
  to: 'created_at < ?::timestamptz',
  action: 'action = ?',
  key_id: 'key_id = ?',
  actor: 'actor = ?',
  resource_id: 'resource_id = ?',
  outcome: 'outcome = ?',
};

const COLUMNS = `id, created_at, action, outcome, source, key_id, key_name, actor,
  CASE WHEN resource_id IS NOT NULL THEN json_build_object('type', resource_type, 'id', resource_id) END AS resource,
  session_id, details, request_id`;

/** A page of the entries of a project, newest first. */
export function listEntries(
  db: Db,
  projectId: string,
  filter: AuditFilter,
  page: PageRequest,
): Promise<PageRows<ListedEntry>> {
  const { text, values } = pageOfEntries(projectId, filter, page);
  return readPage<ListedEntry>(db, {
    query: text,
    values,
    order: 'created_at DESC, id DESC',
    limit: page.limit,
  });
}

/** The statement of a page. It names only the columns that are filtered by: each has its index, in the order of the page. */
export function pageOfEntries(
  projectId: string,
  filter: AuditFilter,
  { limit, after }: PageRequest,
): { text: string; values: unknown[] } {
  const values: unknown[] = [projectId];
  const place = (value: unknown): string => `$${values.push(value)}`;
  const conditions = ['project_id = $1'];
  for (const [name, condition] of Object.entries(CONDITIONS)) {
    const value = filter[name as keyof AuditFilter];
    if (value !== undefined) conditions.push(condition.replace('?', place(value)));
  }
  if (after !== null) {
    const [at, id] = [place(after[0]), place(after[1])];
    // The first condition leaves out the partitions after the page.
    conditions.push(`created_at <= ${at}::timestamptz`, `(created_at, id) < (${at}::timestamptz, ${id})`);
  }
  const text = `SELECT ${COLUMNS} FROM audit_log WHERE ${conditions.join(' AND ')}
     ORDER BY created_at DESC, id DESC LIMIT ${place(limit + 1)}`;
  return { text, values };
}
