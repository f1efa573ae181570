/** Import rules of docs/architecture: one per folder. Nothing else checks them. */
const npm = 'node_modules';
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
      comment: 'turn → prompt, model, tools → src: turn passes to each room what another one has',
      severity: 'error',
      from: { path: '^activities/(prompt|model|tools)/' },
      to: { path: '^activities/', pathNot: '^activities/$1/' },
    },
    only(
      'ops-imports',
      '^ops/',
      [npm, '^ops/', '^src/', '^temporal-dev/'],
      'commands of an operator; temporal-dev only where it finds the embedded parts',
    ),
    only(
      'console-uses-the-public-api',
      '^console/src/',
      ['^console/src/', '^client/src/index\\.ts$', 'node_modules/(preact|marked)/'],
      'the console is built on the typed client alone',
    ),
    only('client-stands-alone', '^client/src/', ['^client/src/'], 'what is published depends on nothing'),
    {
      name: 'workflows-values',
      comment: 'a value import ends up in the bundle: typeorm would, silently',
      severity: 'error',
      from: { path: '^workflows/' },
      to: {
        dependencyTypesNot: ['type-only'],
        pathNot: ['^workflows/', 'node_modules/@temporalio/(workflow|common)', '^src/turns/states\\.ts$'],
      },
    },
    {
      name: 'contract-imports-nothing',
      severity: 'error',
      from: { path: '^workflows/contract\\.ts$' },
      to: { path: '.' },
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
    {
      name: 'src-direction-resources',
      comment: 'db ← projects skills mcp files events ← sessions ← temporal ← turns',
      severity: 'error',
      from: { path: '^src/(projects|skills|mcp|files|events)/' },
      to: { path: '^src/(sessions|temporal|turns)/', dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'src-direction-db',
      severity: 'error',
      from: { path: '^src/(platform|db)/' },
      to: {
        path: '^src/(projects|skills|mcp|files|events|sessions|temporal|turns)/',
        dependencyTypesNot: ['type-only'],
      },
    },
    {
      name: 'src-direction-sessions',
      severity: 'error',
      from: { path: '^src/sessions/' },
      to: { path: '^src/(temporal|turns)/', dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'nothing-imports-test-or-temporal-dev',
      severity: 'error',
      from: { path: '^(src|api|activities|workflows)/' },
      to: { path: '^(test|ops|temporal-dev|bench)/' },
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
