import type { IconName } from '../parts/icon.js';

export interface Place {
  name: string;
  label: string;
  icon: IconName;
}

/** The views of the navigation. A phone shows the first three as tabs, the others behind “More”. */
export const PLACES: readonly Place[] = [
  { name: 'sessions', label: 'Sessions', icon: 'sessions' },
  { name: 'inbox', label: 'Waiting for you', icon: 'inbox' },
  { name: 'usage', label: 'Usage', icon: 'usage' },
  { name: 'agents', label: 'Agents', icon: 'model' },
  { name: 'files', label: 'Files', icon: 'file' },
  { name: 'skills', label: 'Skills', icon: 'skill' },
  { name: 'mcp-servers', label: 'MCP servers', icon: 'server' },
  { name: 'connections', label: 'Connections', icon: 'link' },
  { name: 'memories', label: 'Memories', icon: 'message' },
  { name: 'schedules', label: 'Schedules', icon: 'schedule' },
  { name: 'webhooks', label: 'Webhooks', icon: 'webhook' },
  { name: 'keys', label: 'Keys', icon: 'key' },
  { name: 'audit-log', label: 'Audit log', icon: 'log' },
];

export const TABS = PLACES.slice(0, 3);
