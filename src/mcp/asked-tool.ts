import type { McpTool } from '../db/entities/mcp-servers.js';
import { jsonHash } from '../platform/json-hash.js';

/** What a tool may do, as its server says; null where it does not. */
export interface ShownAnnotations {
  read_only: boolean | null;
  destructive: boolean | null;
  idempotent: boolean | null;
  open_world: boolean | null;
}

export const NO_ANNOTATIONS: ShownAnnotations = {
  read_only: null,
  destructive: null,
  idempotent: null,
  open_world: null,
};

export function annotationsOf({ hints, annotations }: Pick<McpTool, 'hints' | 'annotations'>): ShownAnnotations {
  return {
    ...NO_ANNOTATIONS,
    // Tools that were listed before hints were stored have these.
    ...(annotations?.readOnlyHint === true && { read_only: true }),
    ...(annotations?.idempotentHint === true && { idempotent: true }),
    ...hints,
  };
}

/** A tool whose calls a person allows, as it is in one turn. */
export interface AskedTool {
  /** For the person; null without one. */
  title: string | null;
  annotations: ShownAnnotations;
  /** Null for a built-in tool. */
  server_id: string | null;
  /** The server's own name of the tool. */
  tool_name: string;
  /** Of what a person knows when allowing calls: another version of the tool has another one. */
  digest: string;
  /** By which an input that a person changes is checked; null: as the server of the turn has it. */
  input_schema: object | null;
  /** An approval of it may be remembered. */
  may_remember: boolean;
}

/** What `askedTool` makes an `AskedTool` of. */
export interface ToolToAsk {
  title: string | null;
  annotations: ShownAnnotations;
  serverId: string | null;
  toolName: string;
  description: string;
  inputSchema: object;
}

/**
 * Describes a tool for its approvals. Everything by which a remembered approval becomes invalid is in the digest: what
 * decides who may approve belongs there, too.
 * @param changeSchema by which an input that a person changes is checked, of a built-in tool
 */
export function askedTool(
  { title, annotations, serverId, toolName, description, inputSchema }: ToolToAsk,
  { approvers, mayRemember }: { approvers: readonly string[]; mayRemember: boolean },
  changeSchema: object = inputSchema,
): AskedTool {
  const digest = jsonHash({ description, inputSchema, annotations, approvers: approvers.toSorted() }).toString('hex');
  const input_schema = serverId === null ? changeSchema : null;
  return {
    title,
    annotations,
    server_id: serverId,
    tool_name: toolName,
    digest,
    input_schema,
    may_remember: mayRemember,
  };
}
