import type { McpServer } from '../../../client/src/index.js';

export function ServerState({ server }: { server: McpServer }) {
  if (server.last_connect_error !== null) return <span class="status failed">Not connected</span>;
  if (server.last_connected_at !== null) return <span class="status complete">Connected</span>;
  return <span class="status idle">Not used yet</span>;
}
