import type { Notifier } from '../src/events/notify.js';
import type { ModelClients } from './model/clients.js';
import type { ToolDeps } from './tools/tool.js';

/** What activities work with; made once by the worker. */
export interface ActivityDeps extends ToolDeps {
  notifier: Notifier;
  models: ModelClients;
}
