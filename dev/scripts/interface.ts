/**
 * Prints what users and operators of the service in the current directory meet, as JSON: `npm run compare` runs it in each of two revisions.
 */
import { execFileSync } from 'node:child_process';
import { basename, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { MetricObject } from 'prom-client';
import type * as OpenApiModule from '../../api/http/openapi/openapi.js';
import type * as RoutesModule from '../../api/routes.js';
import type * as EventsModule from '../../src/events/schema.js';
import type * as ConfigModule from '../../src/platform/config.js';
import type * as ErrorsModule from '../../src/platform/errors.js';
import type * as MetricsModule from '../../src/platform/metrics.js';
import type * as SettingsModule from '../../src/platform/settings-schema.js';
import { flattenOpenApi, flattenSchema, type OpenApiDocument } from './flatten-openapi.js';

const files = execFileSync('git', ['ls-files', 'api', 'src'], { encoding: 'utf8' }).trim().split('\n');
/** Types are those of this revision: another one may lack a part. */
const load = async <Module>(file: string): Promise<Module> =>
  (await import(pathToFileURL(resolve(file)).href)) as Module;
/** Files move between revisions: they are found by their names. */
const loadNamed = <Module>(name: string): Promise<Module> => load(files.find((file) => basename(file) === name)!);

const { registry } = await load<typeof MetricsModule>('src/platform/metrics.ts');
await Promise.all(files.filter((file) => /\/(.*metrics|gauges)\.ts$/.test(file)).map((file) => load(file)));
/** prom-client returns its metrics whole, and its types name less. */
type Metric = MetricObject & { labelNames?: string[]; buckets?: number[] };
const metrics = Object.fromEntries(
  registry
    .getMetricsAsArray()
    .map(({ name, help, type, labelNames, buckets }: Metric) => [name, { help, type, labelNames, buckets }]),
);

const { openApiDocument } = await loadNamed<typeof OpenApiModule>('openapi.ts');
const { routes } = await load<typeof RoutesModule>('api/routes.ts');
const { ERROR_STATUS } = await load<typeof ErrorsModule>('src/platform/errors.ts');
const { eventSchema } = await load<typeof EventsModule>('src/events/schema.ts');

/** What the process makes of a value of each setting: the whole configuration, or the errors. */
const { SETTING_NAMES } = await load<typeof SettingsModule>('src/platform/settings-schema.ts');
const { loadConfig } = await load<typeof ConfigModule>('src/platform/config.ts');
const VALUES = [
  '',
  'x',
  'on',
  '-1',
  '0',
  '0.5',
  '7',
  '1e12',
  'https://a.example',
  'a.example:80',
  'postgres://u:p@h/d',
];
const REQUIRED = { DATABASE_URL: 'postgres://u@h/d', ENCRYPTION_KEY: Buffer.alloc(32).toString('base64') };
function configOf(env: NodeJS.ProcessEnv): Record<string, unknown> {
  try {
    return loadConfig(env);
  } catch (error) {
    return { refused: (error as Error).message };
  }
}
const defaults = configOf(REQUIRED);
const changed = (config: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(config).filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(defaults[name])),
  );
const settings = Object.fromEntries(
  SETTING_NAMES.map((name) => [
    name,
    Object.fromEntries(VALUES.map((value) => [value, changed(configOf({ ...REQUIRED, [name]: value }))])),
  ]),
);

const all = {
  openapi: flattenOpenApi(openApiDocument(routes) as unknown as OpenApiDocument),
  events: flattenSchema('event', eventSchema),
  errors: ERROR_STATUS,
  metrics,
  settings: { defaults, of: settings, missing: configOf({}) },
};
process.stdout.write(JSON.stringify(all).replaceAll(process.cwd(), ''), () => process.exit());
