import { DATABASE_AUTH } from './database-address.js';

/**
 * Every setting: its JSON Schema, where `description` is its text in docs/settings.md, and `shown` its default there if that is not a
 * plain value. `npm run settings-page` writes the page.
 */
const text = { type: 'string', minLength: 1 } as const;
const address = { ...text, pattern: '^https?://[^\\s]+$', shown: 'none' } as const;
const postgres = { type: 'string', pattern: '^postgres(ql)?://' } as const;
const onOff = { type: 'string', enum: ['on', 'off'] } as const;
const port = { type: 'integer', minimum: 0, maximum: 65535 } as const;
const seconds = { type: 'number', exclusiveMinimum: 0 } as const;

// oxfmt-ignore
export const EVERY_PROCESS = {
  DATABASE_URL: { ...postgres, shown: '`npm start`: embedded',
    description: 'Postgres, or a pooler before it: [operations/database.md](operations/database.md)' },
  DATABASE_AUTH: { type: 'string', default: 'password', enum: DATABASE_AUTH,
    description: "`google_iam`: connections log in as the process' Google account, with its token as password; `DATABASE_URL` then has no password, and must have `sslmode=verify-full` ([operations/gcp.md](operations/gcp.md))" },
  DATABASE_LISTEN_URL: { ...postgres, minLength: 1, shown: '`DATABASE_URL`',
    description: "direct connection for LISTEN and for a worker's lease if `DATABASE_URL` is a pooler: a transaction pooler does not support LISTEN, and a lease must not wait in its queue" },
  DATABASE_POOL_SIZE: { type: 'integer', default: 10, minimum: 2, maximum: 500,
    description: 'connections per process, besides one for LISTEN, one to three for background work and one for the lease of a worker; each role may have its own' },
  TASK_QUEUE: { ...text, default: 'turns', description: 'Temporal task queue of the API and the workers' },
  DATA_DIR: { ...text, default: '.data', description: 'state of the embedded parts' },
  STORAGE_URL: { ...text, pattern: '^(file:///|gs://[^/]+)', shown: '`files` under `DATA_DIR`',
    description: '`file:///dir` or `gs://bucket/prefix`' },
  ENCRYPTION_KEY: { ...text, shown: '`npm start` makes one under `DATA_DIR`',
    description: '32 bytes in base64, or a comma list, newest first; a new key: [operations/keys.md](operations/keys.md)' },
  MODELS_FILE: { ...text, shown: 'none', description: 'the catalogue of models, see [models.md](models.md)' },
  ANTHROPIC_API_KEY: { ...text, shown: '`npm start` without it and without `MODELS_FILE`: a local model',
    description: 'the account whose models are offered' },
  MCP_ALLOWED_HOSTS: { type: 'string', default: '',
    description: 'comma list of `host:port` exempt from https and public-address checks' },
  MAX_STORAGE_PER_PROJECT: { type: 'integer', default: 20 * 1024 ** 3, minimum: 0, shown: '21474836480, which is 20 GiB',
    description: 'bytes that the files, skills, workspaces and rows of sessions of a project may take; beyond it 413 `storage_limit_reached`. 0 is off' },
  SANDBOX_PROVIDER: { ...text, default: 'off', enum: ['bubblewrap', 'kubernetes', 'off'], shown: '`off`; `npm start`: `bubblewrap` where it works',
    description: 'where the commands of agents run: `bubblewrap` ([operations/sandbox.md](operations/sandbox.md)), `kubernetes` ([operations/kubernetes-sandbox.md](operations/kubernetes-sandbox.md)) or `off`; the API and the workers have the same value' },
  USAGE_METADATA_DAYS: { type: 'integer', default: 90, minimum: 0, maximum: 36_500,
    description: 'days after the end of a turn when GET usage forgets the metadata that its session had; 0: at the end ([money.md](money.md#usage))' },
  MAX_STEPS: { type: 'integer', default: 100, minimum: 1, maximum: 2000, description: 'model calls per turn' },
  TURN_TIMEOUT_SECONDS: { type: 'integer', default: 3600, minimum: 1, description: 'time per turn' },
  SHUTDOWN_GRACE_SECONDS: { type: 'number', default: 90, minimum: 0, shown: '90; `npm start` passes 5',
    description: 'time that running activities and requests get after SIGTERM, also calls that wait for a person’s answer' },
  MEDIA_BUDGET_MB: { type: 'integer', minimum: 1,
    shown: "an eighth of the container's memory limit, or of the machine's memory, but from 64 to 256",
    description: 'MiB that a worker holds at once of requests with images or PDFs, and of answers of MCP servers over 1 MiB (each counts five times its bytes, and 100 bytes for each JSON value); a project may have half of it, further ones wait for their share; an API process keeps as much again for probes' },
  METRICS_PORT: { ...port, shown: 'worker: off; API: on its own port',
    description: 'where a process serves `/healthz`, `/readyz`, `/metrics`, and nowhere else' },
  LOG_LEVEL: { type: 'string', default: 'info', enum: ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'],
    shown: '`info`; `npm start` passes `warn`',
    description: '`trace`, `debug`, `info`, `warn`, `error`, `fatal`, `silent`' },
  TRUST_TRACEPARENT: { ...onOff, default: 'off',
    description: '`on`: requests continue the trace that their `traceparent` names' },
} as const;

// oxfmt-ignore
export const API = {
  HOST: { ...text, default: '127.0.0.1', description: 'address on which the API listens' },
  PORT: { ...port, default: 8080, description: 'port on which the API listens' },
  PUBLIC_URL: { ...address, shown: '`http://HOST:PORT`', description: 'base address that clients see' },
  SCHEDULE_MIN_PERIOD_SECONDS: { type: 'integer', default: 60, minimum: 60, maximum: 86_400,
    description: 'the shortest pause between two times of a `cron` that the API accepts; schedules that exist keep theirs' },
  RATE_LIMIT_PER_MINUTE: { type: 'integer', default: 60, minimum: 0,
    description: 'requests per project and operation; 0 is off' },
  MAX_STREAMS_PER_PROJECT: { type: 'integer', default: 1000, minimum: 1,
    description: 'open streams of a project that one API process serves; beyond it 429 `too_many_streams`' },
  UPLOAD_BUDGET_MB: { type: 'integer', default: 2048, minimum: 1,
    description: 'MiB of temporary files that uploads to an API process take at once; further uploads wait' },
  CORS_ORIGINS: { type: 'string', default: '', description: 'comma list of origins' },
  CONSOLE: { ...onOff, default: 'on', description: '`off`: `/console` is not served' },
  TEMPORAL_UI_URL: { ...address, shown: 'none; `npm start` sets it',
    description: 'base address of the Temporal UI: the console links each turn to its workflow there' },
} as const;

// oxfmt-ignore
export const WORKER = {
  ACTION_TIMEOUT_SECONDS: { ...seconds, default: 86_400, maximum: 31_536_000,
    description: 'how long a call waits for a person or for the client that runs it' },
  ELICITATION_TIMEOUT_SECONDS: { ...seconds, default: 600, maximum: 31_536_000,
    description: 'how long a question of an MCP server waits for its answer; then the server gets `cancel`' },
  TASK_TIMEOUT_SECONDS: { type: 'number', default: 86_400, minimum: 1, maximum: 31_536_000,
    description: 'how long the task of a tool call may take; not part of the turn’s time limit' },
  MODEL_RETRY_SECONDS: { type: 'number', default: 300, minimum: 0,
    description: 'how long a model that is away, overloaded or rate limited is tried again, from the first failure of a call; 0: not at all' },
  FALLBACK_AFTER_SECONDS: { type: 'number', default: 30, minimum: 0,
    description: 'the same while the session has another model in `fallback_model_ids`: then its turn continues with that model' },
  MODEL_IDLE_SECONDS: { ...seconds, default: 90, description: 'idle timeout of a model' },
  TOOL_DEFINITION_TOKENS: { type: 'integer', default: 20_000, minimum: 0, maximum: 10_000_000,
    description: "the tools of a turn's MCP servers whose definitions take more than this, by the service's estimate, or more than a tenth of the model's window, are found by search ([mcp.md](mcp.md#many-tools)); 0: only where a session asks for it" },
  TOOL_TIMEOUT_SECONDS: { ...seconds, default: 300, description: 'idle timeout of a tool' },
  WEBHOOK_DELIVERIES: { ...onOff, default: 'on',
    description: '`off`: this worker runs turns but delivers no webhooks; at least one worker of the task queue must deliver' },
  WEBHOOK_RETRY_SECONDS: { type: 'string', default: '5,300,1800,7200,18000,36000,50400,72000,86400',
    pattern: '^\\d+(\\.\\d+)?(,\\d+(\\.\\d+)?)*$',
    description: 'comma list of the pauses between the attempts of a webhook delivery' },
  WORKER_MAX_ACTIVITIES: { type: 'integer', default: 200, minimum: 1,
    description: 'model and tool calls of a worker at once' },
  WORKER_DEPLOYMENT_NAME: { ...text, shown: 'off',
    description: 'worker versioning, see [operations/workflow-changes.md](operations/workflow-changes.md)' },
  WORKER_BUILD_ID: { ...text, shown: 'off', description: 'the build of this worker, for worker versioning' },
  SCHEDULE_CATCHUP_SECONDS: { type: 'number', default: 600, minimum: 10, maximum: 31_536_000,
    description: 'times of schedules that are later than this, after an outage, are skipped; at least 10' },
  SANDBOX_ROOT: { ...text, pattern: '^/', shown: 'the programs of the machine',
    description: 'folder of an unpacked image whose `/usr` and `/etc` commands see' },
  SANDBOX_DIR: { ...text, pattern: '^/', shown: '`sandbox` under `DATA_DIR`, or a folder under the temporary one if the users of sandboxes cannot reach that',
    description: 'cache of trees, skills and uploads on this worker; nothing is lost with it' },
  SANDBOX_NAMESPACE: { ...text, default: 'agent-sandboxes', pattern: '^[a-z0-9-]{1,63}$', description: '`kubernetes`: where claims are made' },
  SANDBOX_WARM_POOL: { ...text, default: 'workspace', pattern: '^[a-z0-9.-]{1,253}$', description: '`kubernetes`: the SandboxWarmPool that claims name' },
  SANDBOX_IDLE_SECONDS: { type: 'integer', default: 300, minimum: 30, maximum: 86_400,
    description: '`kubernetes`: how long a pod of a session stays after a command' },
  SANDBOX_COMMAND_SECONDS: { ...seconds, default: 120, maximum: 600,
    description: 'time of a command that asks for none; it may ask for 600 s' },
  SANDBOX_MEMORY_MB: { type: 'integer', default: 2048, minimum: 64, maximum: 1_048_576,
    description: 'MiB of memory that the processes of a command may have together; with `kubernetes` it is set in the pods' },
  SANDBOX_DISK_MB: { type: 'integer', default: 1024, minimum: 1, maximum: 102_400, description: 'MiB that the files of a workspace may have' },
  SANDBOX_MAX_COMMANDS: { type: 'integer', minimum: 1, maximum: 1000, shown: 'the number of cores, but at least 2; with `kubernetes` 50',
    description: 'commands of this worker at once; a project may have half of them, but at least one; further ones wait without a slot' },
  RETENTION_DAYS: { type: 'integer', default: 0, minimum: 0, maximum: 36_500,
    description: 'sessions without activity for this many days are deleted; 0: never' },
  MAINTENANCE: { ...onOff, default: 'on',
    description: '`off`: this worker makes no maintenance schedules, because another deployment on the same task queue does' },
} as const;
