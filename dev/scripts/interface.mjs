/**
 * Prints what users and operators of the service in the current directory meet, as JSON: `npm run compare` runs it in each of two revisions.
 */
import { execFileSync } from 'node:child_process';
import { basename, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { flattenOpenApi, flattenSchema } from './flatten-openapi.mjs';

const files = execFileSync('git', ['ls-files', 'api', 'src'], { encoding: 'utf8' }).trim().split('\n');
const load = (file) => import(pathToFileURL(resolve(file)).href);
/** Files move between revisions: they are found by their names. */
const loadNamed = (name) => load(files.find((file) => basename(file) === name));

const { registry } = await load('src/platform/metrics.ts');
await Promise.all(files.filter((file) => /\/(.*metrics|gauges)\.ts$/.test(file)).map(load));
const metrics = Object.fromEntries(
  registry
    .getMetricsAsArray()
    .map(({ name, help, type, labelNames, buckets }) => [name, { help, type, labelNames, buckets }]),
);

const { openApiDocument } = await loadNamed('openapi.ts');
const { routes } = await load('api/routes.ts');
const { ERROR_STATUS } = await load('src/platform/errors.ts');
const { eventSchema } = await load('src/events/schema.ts');

/** What the process makes of a value of each setting: the whole configuration, or the errors. */
const { SETTING_NAMES } = await load('src/platform/settings-schema.ts');
const { loadConfig } = await load('src/platform/config.ts');
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
function configOf(env) {
  try {
    return loadConfig(env);
  } catch (error) {
    return { refused: error.message };
  }
}
const defaults = configOf(REQUIRED);
const changed = (config) =>
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
  openapi: flattenOpenApi(openApiDocument(routes)),
  events: flattenSchema('event', eventSchema),
  errors: ERROR_STATUS,
  metrics,
  settings: { defaults, of: settings, missing: configOf({}) },
};
process.stdout.write(JSON.stringify(all).replaceAll(process.cwd(), ''), () => process.exit());
