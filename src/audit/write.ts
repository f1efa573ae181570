import type { AuditSender } from '../db/entities/audit-sender.js';
import type { Tx } from '../db/db.js';
import { write } from '../db/transaction.js';
import { newId } from '../platform/ids.js';

/** What changes that operators make with a command are called in the log. Those over HTTP have their operationId. */
export type CommandAction = 'createKey' | 'revokeKey' | 'expireKey' | 'limitProject' | 'forgetUsage';

export interface AuditResource {
  type: string;
  id: string;
}

/** An entry of the audit log. It has no content and no secret. */
export interface AuditEntry extends AuditSender {
  projectId: string;
  action: string;
  resource: AuditResource | null;
  sessionId: string | null;
  details: object;
  requestId: string | null;
}

/**
 * Writes an entry in the transaction of the change. It travels with the commit, whose error is that of the entry, too: change and
 * entry are both there, or neither.
 */
export function writeEntry(tx: Tx, entry: AuditEntry): void {
  write(tx, 'SELECT write_audit_entry($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)', entryValues(entry, 'ok'));
}

/** Writes the entry of a command. */
export function writeCommandEntry(
  tx: Tx,
  projectId: string,
  action: CommandAction,
  resource: AuditResource | null,
  details: object = {},
): void {
  const sender = { source: 'command', keyId: null, actor: null } as const;
  writeEntry(tx, { ...sender, projectId, action, resource, sessionId: null, details, requestId: null });
}

/** The parameters of `write_audit_entry` (src/db/migrations). */
export function entryValues(entry: AuditEntry, outcome: 'ok' | 'refused'): unknown[] {
  const { projectId, action, source, keyId, actor, resource, sessionId, details, requestId } = entry;
  return [
    ...[newId('auditEntry'), projectId, action, outcome, source, keyId, actor, resource?.type ?? null],
    ...[resource?.id ?? null, sessionId, JSON.stringify(details), requestId],
  ];
}
