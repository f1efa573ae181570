import type { Readable } from 'node:stream';
import type { McpServerRow } from '../../src/db/entities/mcp-servers.js';
import { createMcpNetwork } from '../../src/network/network.js';
import { NO_CREDENTIAL, type Credential } from '../../src/mcp/auth.js';
import { Probes, type ProbeResult } from '../../src/mcp/probes.js';
import { credentialAuth } from '../../src/mcp/request-auth.js';
import { seal } from '../../src/platform/sealed.js';
import { OauthAccess } from '../../src/mcp/oauth/tokens.js';
import { MemoryShare } from '../../src/platform/memory-share.js';
import { MIB } from '../../src/platform/units.js';
import { testLogger } from './log.js';
import { callDirectly } from '../../activities/tools/mcp/call.js';
import type { McpToolCall } from '../../activities/tools/mcp/send-call.js';
import { McpConnections } from '../../activities/tools/mcp/connections.js';
import type { ToolDeps, ToolResult } from '../../activities/tools/tool.js';

const KEYS = [Buffer.alloc(32, 7)];

/** What calls of MCP tools work with, without a database: one pool of connections and a storage in memory. */
export interface McpCalls {
  mcp: McpConnections;
  stored: Map<string, Buffer>;
  row(name: string, url: string, overrides?: Partial<McpServerRow>, credential?: Credential): McpServerRow;
  call(
    server: McpServerRow,
    tool: string,
    input?: Record<string, unknown>,
    overrides?: Partial<McpToolCall>,
  ): Promise<ToolResult>;
  probe(url: string, options?: { credential?: Credential; seconds?: number }): Promise<ProbeResult>;
  close: () => Promise<void>;
}

export function mcpCalls({
  hosts = [] as string[],
  idleMs,
  failStorage = false,
  memory = new MemoryShare(1024 * MIB),
}: {
  hosts?: string[];
  idleMs?: number;
  failStorage?: boolean;
  memory?: MemoryShare;
} = {}): McpCalls {
  const config = { encryptionKeys: KEYS };
  const network = createMcpNetwork(hosts);
  const log = testLogger();
  const oauth = new OauthAccess({ db: undefined as never, mcpNetwork: network, config, log });
  const mcp = new McpConnections(network, config, oauth, memory, idleMs);
  const stored = new Map<string, Buffer>();
  const storage = {
    put: async (key: string, content: Readable | Buffer) => {
      if (failStorage) throw new Error('away');
      stored.set(key, content as Buffer);
      return (content as Buffer).length;
    },
  };
  const deps = { config, mcp, storage, memory, log } as unknown as ToolDeps;
  let count = 0;
  return {
    mcp,
    stored,
    row: (name, url, overrides = {}, credential) => ({
      id: `mcp_${name}`,
      project_id: 'proj_1',
      name,
      url,
      auth_type: credential?.type ?? 'NONE',
      auth_header: credential?.header ?? null,
      credential: credential?.secret ? seal(KEYS, 'mcp_servers.credential', `mcp_${name}`, credential.secret) : null,
      credentials: 'shared',
      credential_version: 1,
      allowed_tools: null,
      required_approvals: [],
      tool_list: [],
      tools_left_out: 0,
      toolset_hash: '',
      pin_tools: false,
      accepted_hash: null,
      changed_tools: [],
      oauth: null,
      server_name: null,
      last_probed_at: null,
      last_connected_at: null,
      last_connect_error: null,
      created_at: '',
      updated_at: '',
      deleted_at: null,
      ...overrides,
    }),
    call: (server, tool, input = {}, overrides = {}) => {
      count += 1;
      const call: McpToolCall = {
        turn: {
          id: 'turn_1',
          sessionId: 'ses_1',
          projectId: 'proj_1',
          number: 1,
          skills: [],
          workspace: null,
          parentSessionId: null,
        },
        name: tool,
        toolUseId: `toolu_A${count}`,
        idempotencyKey: `key-${count}`,
        repeatable: false,
        wasSent: false,
        input,
        signal: new AbortController().signal,
        progress: () => undefined,
        ...overrides,
      };
      return callDirectly(call, server, tool, deps);
    },
    probe: async (url, { credential = NO_CREDENTIAL, seconds } = {}) => {
      const probes = new Probes(network, memory, seconds);
      return probes.run('proj_1', await network.checkUrl(url), null, () => credentialAuth(credential));
    },
    close: () => mcp.closeAll(),
  };
}

/** True if the result says that the server may have run the tool. */
export function isOutcomeUnknown(result: ToolResult): boolean {
  return textOf(result).includes('Its outcome is unknown: it may have been carried out.');
}

/** The texts of a result, joined. */
export function textOf({ content }: ToolResult): string {
  return content.map((block) => (block.type === 'text' ? block.text : `<${block.type}>`)).join('\n');
}
