import type Router from '@koa/router';
import { temporalSettings } from '../../../src/temporal/connection.js';
import { VERSION } from '../../../src/platform/version.js';
import { namesOfKey } from '../../../src/projects/api-keys.js';
import type { ApiDeps } from '../../deps.js';
import { authenticate } from '../core/authenticate.js';
import type { Caller } from '../core/operation.js';
import type { BuiltPages } from './built.js';

/** `/console`: the built files of the console, and for requests with a key its names and the address of the Temporal UI. */
export function addConsole(
  router: Router,
  { config, db, log, keyLookup }: Pick<ApiDeps, 'config' | 'db' | 'log' | 'keyLookup'>,
  built: BuiltPages,
): void {
  if (!built.has('index.html')) {
    log.warn(
      { folder: built.folder },
      'the console is not built, /console answers 404: run `npm run build` or set CONSOLE=off',
    );
    return;
  }
  router.get('/console', (ctx) => {
    ctx.status = 308;
    // A relative redirect, because a proxy may add a path prefix.
    ctx.set('Location', 'console/');
  });
  router.get('/console/config.json', authenticate(keyLookup), async (ctx) => {
    const { keyId, approverGroups } = ctx.state.caller as Caller;
    ctx.set('Cache-Control', 'no-store');
    const names = await namesOfKey(db, keyId);
    const approver_groups = [...approverGroups];
    ctx.body = { workflow_url: workflowUrl(config.temporalUiUrl), ...names, approver_groups, version: VERSION };
  });
  built.servePage(router, '/console/', 'index.html');
  built.serveAssets(router, '/console');
}

/** The address of a turn's workflow in the Temporal UI. The workflow id is the turn id. */
function workflowUrl(temporalUiUrl: string | null): string | null {
  if (temporalUiUrl === null) return null;
  return `${temporalUiUrl}/namespaces/${encodeURIComponent(temporalSettings().namespace)}/workflows/{turn_id}`;
}
