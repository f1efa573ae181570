/** Import rules: one for each top folder and one for each room of src. Nothing else checks them. */
const npm = 'node_modules';
/** The rooms of src, from the ground up, each with the rooms that it may import (types too). */
const ROOMS = {
  platform: [],
  network: ['platform'],
  forms: ['platform'],
  outputs: ['platform'],
  models: ['platform'],
  db: ['platform'],
  audit: ['platform', 'db'],
  projects: ['platform', 'db', 'audit'],
  files: ['platform', 'models', 'db'],
  memories: ['platform', 'db', 'files'],
  skills: ['platform', 'db', 'files'],
  mcp: ['platform', 'network', 'forms', 'models', 'db', 'audit', 'projects'],
  temporal: ['platform', 'db'],
  webhooks: ['platform', 'network', 'db', 'temporal'],
  events: ['platform', 'db', 'webhooks'],
  stream: ['platform', 'db', 'events'],
  'waits/kinds': ['platform', 'forms', 'db', 'mcp', 'events'],
  sessions: ['platform', 'models', 'db', 'projects', 'files', 'memories', 'mcp', 'webhooks', 'events', 'waits/kinds'],
  agents: ['platform', 'models', 'db', 'projects', 'memories', 'skills', 'sessions'],
  workspaces: ['platform', 'db', 'files', 'skills', 'sessions'],
  turns: ['platform', 'models', 'db', 'temporal', 'files', 'events', 'stream', 'sessions'],
  messages: ['platform', 'outputs', 'models', 'db', 'projects', 'files', 'skills', 'events', 'sessions', 'turns'],
  erasures: ['platform', 'network', 'db', 'temporal', 'files', 'mcp', 'memories', 'schedules', 'sessions', 'turns'],
  schedules: [
    'platform',
    'models',
    'db',
    'projects',
    'files',
    'temporal',
    'stream',
    'sessions',
    'agents',
    'turns',
    'messages',
  ],
  waits: ['platform', 'forms', 'outputs', 'db', 'projects', 'mcp', 'temporal', 'events', 'sessions', 'turns'],
  steps: [
    'platform',
    'models',
    'db',
    'projects',
    'files',
    'mcp',
    'events',
    'stream',
    'sessions',
    'workspaces',
    'turns',
    'waits',
  ],
  tasks: ['platform', 'db', 'mcp', 'events', 'turns', 'waits', 'steps'],
  delegations: ['platform', 'models', 'db', 'temporal', 'events', 'sessions', 'turns', 'messages', 'waits', 'steps'],
  workers: ['platform', 'db', 'temporal'],
  reconciler: ['platform', 'db', 'temporal', 'stream', 'sessions', 'turns', 'waits', 'workers'],
};
/**
 * What a folder may import; Node's own modules go without saying.
 * @param {string} name
 * @param {string} from
 * @param {string[]} to
 * @param {string} comment
 */
const only = (name, from, to, comment) => ({
  name,
  comment,
  severity: 'error',
  from: { path: from },
  to: { pathNot: to, dependencyTypesNot: ['core'] },
});
module.exports = {
  forbidden: [
    only('src-imports-src', '^src/(?!temporal/)', [npm, '^src/', '^node:'], 'src knows packages and itself'),
    only(
      'src-temporal',
      '^src/temporal/',
      [npm, '^src/', '^workflows/contract\\.ts$'],
      'the only place of src that names a workflow',
    ),
    only(
      'api-imports',
      '^api/',
      [npm, '^api/', '^src/', '^workflows/contract\\.ts$', '^package\\.json$'],
      'api writes intent and reads facts',
    ),
    only(
      'activities-imports',
      '^activities/',
      [npm, '^activities/', '^src/', '^workflows/contract\\.ts$'],
      'side effects of a turn',
    ),
    {
      name: 'rooms-of-activities-are-strangers',
      comment: 'turn → prompt, model, tools, sandbox → src: turn passes to each room what another one has',
      severity: 'error',
      from: { path: '^activities/(prompt|model|tools|sandbox)/' },
      to: { path: '^activities/', pathNot: '^activities/$1/' },
    },
    {
      name: 'the-path-knows-no-kind-of-tool',
      comment:
        'kinds and sources of tools attach in activities/tools/sources.ts; the path of a turn knows their interfaces',
      severity: 'error',
      from: {
        path: '^activities/(turn/|tools/(definition-bytes|outcomes|run-tool|tool-kind|tool-source|turn-tools)\\.ts$)',
      },
      to: { path: '^activities/tools/(built-in|client|mcp|output|agents)/' },
    },
    {
      name: 'kinds-of-tools-are-strangers',
      comment:
        'a kind imports the interfaces and its own feature. A source may have a tool of the service among its own',
      severity: 'error',
      from: { path: '^activities/tools/(built-in|client|mcp|output|agents)/' },
      to: {
        path: '^activities/tools/(built-in|client|mcp|output|agents)/',
        pathNot: ['^activities/tools/$1/', '^activities/tools/built-in/turn-tool\\.ts$'],
      },
    },
    only(
      'ops-imports',
      '^ops/',
      [npm, '^ops/', '^src/', '^activities/sandbox/open\\.ts$'],
      'commands of an operator; the image runs them. doctor runs a command in a sandbox',
    ),
    only(
      'console-uses-the-public-api',
      '^console/src/',
      [
        '^console/src/',
        '^client/src/index\\.ts$',
        '^src/schedules/calendar/',
        '^src/platform/(decimal|exact-json)\\.ts$',
        'node_modules/(preact|marked|lucide)/',
      ],
      'the console is built on the typed client; the next runs that its form shows are those that fire, its sums of money and the numbers of tool calls are exact',
    ),
    only(
      'client-stands-alone',
      '^client/src/(?!ai-sdk/|ag-ui/)',
      ['^client/src/(?!ai-sdk/|ag-ui/)'],
      'what is published depends on nothing, and the main entry point does not load those of front ends',
    ),
    {
      name: 'ai-sdk-needs-types',
      comment:
        'the entry point for the AI SDK imports nothing at run time: `ai` asks for a newer Node than this client',
      severity: 'error',
      from: { path: '^client/src/ai-sdk/' },
      to: { dependencyTypesNot: ['type-only'], pathNot: ['^client/src/(ai-sdk|front-end)/'] },
    },
    only(
      'ag-ui-needs-its-peers',
      '^client/src/ag-ui/',
      ['^client/src/(?!ai-sdk/)', 'node_modules/(@ag-ui/client|rxjs)/'],
      'the entry point for AG-UI has two peers',
    ),
    {
      name: 'typeorm-stays-in-db',
      comment: 'rooms know `Db`, `Tx` and `Database` of src/db/db.ts',
      severity: 'error',
      from: { pathNot: '^src/db/' },
      to: { path: 'node_modules/typeorm/' },
    },
    {
      name: 'waits-know-their-kinds',
      comment:
        'a turn waits for a kind by its name; the room of waits, and the list of what a session waits for, use the array',
      severity: 'error',
      from: { path: '^(src|api|activities|workflows|ops)/', pathNot: '^src/(waits/|sessions/required-actions\\.ts$)' },
      to: { path: '^src/waits/kinds/' },
    },
    {
      name: 'workflows-values',
      comment: 'a value import ends up in the bundle: typeorm would, silently',
      severity: 'error',
      from: { path: '^workflows/' },
      to: {
        dependencyTypesNot: ['type-only'],
        pathNot: ['^workflows/', 'node_modules/@temporalio/(workflow|common)'],
      },
    },
    {
      name: 'contract-imports-nothing',
      severity: 'error',
      from: { path: '^workflows/contract\\.ts$' },
      to: { path: '.' },
    },
    {
      name: 'ajv-compiles-our-own-schemas',
      comment:
        'A schema of another party takes as long to compile as that party likes: forms are checked by src/forms.',
      severity: 'error',
      from: {
        path: '^(src|api|activities|workflows|ops)/',
        pathNot: [
          '^api/http/core/validate\\.ts$',
          '^src/platform/compile-once\\.ts$', // compiles for those that import it: a constant of a module, once
          '^src/models/catalogue\\.ts$',
          '^src/platform/settings-schema\\.ts$',
          '^activities/tools/(built-in|agents)/kind\\.ts$', // the schemas of the service’s own tools
          '^src/mcp/input-schema\\.ts$', // the meta-schema: it is compiled, and the schemas of servers are its input
          '^src/outputs/check-thread\\.ts$', // the meta-schemas, likewise
        ],
      },
      to: { path: 'node_modules/ajv/' },
    },
    {
      name: 'no-koa-in-src',
      severity: 'error',
      from: { path: '^(src|activities|workflows)/' },
      to: { path: 'node_modules/(koa|@koa|koa-body|koa-helmet)' },
    },
    {
      name: 'temporal-client-in-src-temporal',
      severity: 'error',
      from: { path: '^(src/(?!temporal/)|api/)' },
      to: { path: 'node_modules/@temporalio/', dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'api-resources-are-strangers',
      severity: 'error',
      from: { path: '^api/([^/]+)/', pathNot: '^api/http/' },
      to: { path: '^api/([^/]+)/', pathNot: ['^api/$1/', '^api/http/'] },
    },
    ...Object.entries(ROOMS).map(([room, below]) => ({
      name: `room-${room}`,
      comment: `src/${room} imports only rooms below it`,
      severity: 'error',
      from: { path: `^src/${room}/` },
      to: { path: '^src/', pathNot: `^src/(${[room, ...below].join('|')})/` },
    })),
    {
      name: 'every-room-has-a-rule',
      severity: 'error',
      from: {},
      to: { path: '^src/', pathNot: `^src/((${Object.keys(ROOMS).join('|')})/|engine\\.ts$)` },
    },
    {
      name: 'nothing-imports-test-or-dev',
      severity: 'error',
      from: { path: '^(src|api|activities|workflows)/' },
      to: { path: '^(test|ops|dev|temporal-dev|bench)/' },
    },
    {
      name: 'packages-are-declared',
      comment: 'a package that is installed only because another one needs it can be gone after an update',
      severity: 'error',
      from: { path: '^(src|api|activities|workflows|ops)/' },
      to: { dependencyTypes: ['npm-no-pkg', 'npm-unknown', 'npm-dev'] },
    },
    { name: 'no-circular', severity: 'error', from: {}, to: { circular: true, dependencyTypesNot: ['type-only'] } },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '^(dist|node_modules/.*/node_modules)' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'require', 'node', 'default', 'types'],
    },
  },
};
