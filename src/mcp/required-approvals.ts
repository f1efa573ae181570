import type { McpServerRow, RequiredApproval } from '../db/entities/mcp-servers.js';
import { ServiceError, validationError } from '../platform/errors.js';
import { requireApprover } from '../projects/approver-groups.js';
import { requireKnownTools } from './store.js';

/** The entry that asks for calls of the tool: that of its name, else the one without a name; null if none does. */
export function requiredApprovalOf(required: readonly RequiredApproval[], toolName: string): RequiredApproval | null {
  const ofName = required.find(({ name }) => name === toolName);
  return ofName ?? required.find(({ name }) => name === undefined) ?? null;
}

/** @throws ServiceError `validation_error` for a second entry for one tool, or a second one without a name */
export function checkRequiredApprovals(entries: readonly RequiredApproval[]): void {
  const repeated = entries.findIndex(({ name }, at) => entries.findIndex((other) => other.name === name) !== at);
  if (repeated < 0) return;
  const { name } = entries[repeated]!;
  throw validationError(
    `/required_approvals/${repeated}`,
    name === undefined ? 'is a second entry without a name' : `is a second entry for the tool ${name}`,
  );
}

/** @throws ServiceError `unknown_mcp_tool` for names of tools that the server does not offer */
export function requireOffered(
  entries: readonly RequiredApproval[],
  {
    tools,
    leftOut,
    allowed,
  }: { tools: readonly { name: string }[]; leftOut: number; allowed: readonly string[] | null },
): void {
  const offered = tools.filter(({ name }) => allowed?.includes(name) ?? true);
  const names = entries.flatMap(({ name }) => name ?? []);
  requireKnownTools(names, { tools: offered, leftOut }, 'required_approvals');
}

/** Who calls a tool without a session. */
interface ToolCaller {
  scopes: ReadonlySet<string>;
  approverGroups: ReadonlySet<string>;
}

/**
 * A person who calls a tool that asks in every session decides about the call by making it.
 * @throws ServiceError `not_an_approver`
 */
export function requireOwnApproval(
  caller: ToolCaller,
  { required_approvals: required }: Pick<McpServerRow, 'required_approvals'>,
  toolName: string,
): void {
  const entry = requiredApprovalOf(required, toolName);
  if (entry === null) return;
  if (entry.approvers !== undefined) requireApprover(caller.approverGroups, entry.approvers);
  if (caller.scopes.has('approvals:write')) return;
  throw new ServiceError(
    'not_an_approver',
    `A person must allow the calls of ${toolName}: this request needs a key with the permission approvals:write.`,
    { required: 'approvals:write', ...(entry.approvers !== undefined && { approvers: entry.approvers }) },
  );
}
