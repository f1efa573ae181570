import type { Database } from '../../src/db/db.js';
import { MIB } from '../../src/platform/units.js';
import type { ApiCall } from '../../test/support/client.js';
import { insertEndedTurns, insertSessions } from '../../test/support/factories.js';
import { inParallel, pause } from '../measure.js';
import { callOf, type Attacker } from './attacks.js';
import { newSession, runTurn } from './project.js';

/** The sessions of the attacking project, made before the attacks begin. */
export interface Targets {
  /** Has 20,000 events. */
  long: string;
  /** Its workspace has 19,000 links with long targets. */
  links: string;
  /** Its commands see 500 attachments. */
  attached: string;
  /** Its workspace has a file of 8 MiB. */
  text: string;
  /** Runs commands up to their limits. */
  greedy: string;
}

type Call = [name: string, input: object];
/** One round of an attack; returns the answers. */
type Round = (call: ApiCall, targets: Targets, attacker: Pick<Attacker, 'url'>) => Promise<string[]>;

const SEARCHABLE_SESSIONS = 10_000;
const AT_ONCE = 6;
const TURN_POLL_MS = 250;
/** After a round in which every request was refused. */
const REFUSED_PAUSE_MS = 20;
const STEPS = 3;

const model = { model_id: 'local-rules' };
const inWorkspace = { ...model, tools: [{ type: 'workspace' }] };
const bash = (command: string, more: object = {}): Call => ['bash', { command, ...more }];

/** Has a turn make these calls, one after the other. */
const runCalls = (call: ApiCall, session: string, calls: Call[], files: string[] = []): Promise<string> => {
  const said = calls.map(([name, input]) => `call ${name} with ${JSON.stringify(input)}`).join(', then ');
  return runTurn(call, session, files, said, TURN_POLL_MS);
};
const turnOf =
  (target: 'links' | 'attached' | 'text' | 'greedy', calls: Call[]): Round =>
  async (call, targets) => [await runCalls(call, targets[target], calls)];
const repeated = (one: Call): Call[] => Array<Call>(STEPS).fill(one);
const fork: Round = async (call, { long }) => [
  String((await call('POST', `/v1/sessions/${long}/fork`, { metadata: {} })).status),
];
const sixTimes = (path: (targets: Targets) => string): Round => {
  const get = async (call: ApiCall, targets: Targets): Promise<string> =>
    String((await call('GET', path(targets))).status);
  return (call, targets) => Promise.all(Array.from({ length: AT_ONCE }, () => get(call, targets)));
};

/** What one project does at once, by name. */
export const MIX: Record<string, Round> = {
  'forks of 20,000 events, one after the other': fork,
  'forks of 20,000 events, ten at once': async (...given) =>
    (await Promise.all(Array.from({ length: 10 }, () => fork(...given)))).flat(),
  'commands beside 19,000 links': turnOf('links', repeated(bash('date >> changed'))),
  'commands beside 500 attachments': turnOf('attached', repeated(bash('ls /mnt/session/uploads | wc -l'))),
  'edit that multiplies a file of 8 MiB': turnOf(
    'text',
    repeated(['edit', { file_path: 'text', old_string: 'a', new_string: 'b'.repeat(70), replace_all: true }]),
  ),
  'session tokens beyond their rates': async (call, { long }, { url }) => {
    const made = await call('POST', `/v1/sessions/${long}/tokens`, { scopes: ['read', 'send', 'cancel'] });
    if (made.status !== 201) return [String(made.status)];
    const callWithToken = callOf({ url, key: made.body.token as string });
    const answers = await inParallel(AT_ONCE, 200, (n) =>
      n % 4 === 0
        ? callWithToken('POST', `/v1/sessions/${long}/cancel`)
        : callWithToken('GET', `/v1/sessions/${long}/events?limit=100`),
    );
    return answers.map(({ status }) => String(status));
  },
  'searches without a hit': sixTimes(() => '/v1/sessions?q=no+such+text&limit=1'),
  'lists of a workspace': sixTimes(({ links }) => `/v1/sessions/${links}/workspace/files?limit=1`),
  'commands at their limits': turnOf('greedy', [
    bash('perl -e \'$x .= "x" x 1e7 while 1\''),
    bash('head -c 2000000000 /dev/zero > full'),
    bash('for n in {1..400}; do sleep 2 & done; wait', { timeout_ms: 5000 }),
    bash('for n in {1..8}; do while :; do :; done & done; wait', { timeout_ms: 5000 }),
  ]),
};

/** What a project that works does beside another one: the measure of what an honest load of the same size costs. */
export const ORDINARY = 'ordinary turns';
const ordinaryTurn: Round = async (call) => [
  await runTurn(call, await newSession(call, model), [], 'write 1 words', TURN_POLL_MS),
];

/** Repeats the attacks of these names, all at once, until `isOver`. Returns how often each was answered how. */
export async function mix(
  names: string[],
  attacker: Attacker,
  targets: Targets,
  isOver: () => boolean,
): Promise<Record<string, Record<string, number>>> {
  const call = callOf(attacker);
  const answers: Record<string, Record<string, number>> = {};
  const repeat = async (name: string): Promise<void> => {
    const counts = (answers[name] ??= {});
    const round = name === ORDINARY ? ordinaryTurn : MIX[name]!;
    while (!isOver()) {
      const found = await round(call, targets, attacker).catch((error: unknown) => [String(error).slice(0, 80)]);
      for (const each of found) counts[each] = (counts[each] ?? 0) + 1;
      if (found.every((each) => each.endsWith('429'))) await pause(REFUSED_PAUSE_MS);
    }
  };
  let areEnded = false;
  const rounds = Promise.all(names.map(repeat)).then(() => (areEnded = true));
  // A turn that waits for its commands would take minutes.
  const { links, attached, text, greedy } = targets;
  for (; !areEnded; await pause(TURN_POLL_MS))
    if (isOver())
      for (const session of [links, attached, text, greedy]) await call('POST', `/v1/sessions/${session}/cancel`);
  await rounds;
  return answers;
}

/** Makes the sessions of the attacks. The project's requests must not be limited meanwhile. */
export async function makeTargets(call: ApiCall, db: Database): Promise<Targets> {
  const long = await newSession(call, model);
  await insertEndedTurns(db, long, { count: 200, results: 97 });
  const [project] = await db.query<[{ id: string }]>('SELECT project_id AS id FROM sessions WHERE id = $1', [long]);
  const searchable = await insertSessions(db, project.id, SEARCHABLE_SESSIONS);
  for (const [table, id] of [
    ['sessions', 'id'],
    ['session_states', 'session_id'],
  ])
    await db.query(`UPDATE ${table} SET preview_folded = repeat('a text ', 17) WHERE ${id} = ANY($1)`, [searchable]);
  const inSession = async (...calls: Call[]): Promise<string> => {
    const session = await newSession(call, inWorkspace);
    const status = await runCalls(call, session, calls);
    if (status !== 'COMPLETE') throw new Error(`The turn that prepares an attack: ${status}`);
    return session;
  };
  const links = 'symlink(join("", map { chr(97 + rand 26) } 1..380), "l$_") for 1..19000';
  return {
    long,
    links: await inSession(bash(`perl -e '${links}'`, { timeout_ms: 60_000 })),
    attached: await attach(call, await inSession(bash('true'))),
    text: await inSession(bash(`head -c ${8 * MIB} /dev/zero | tr '\\0' a > text`)),
    greedy: await inSession(bash('true')),
  };
}

/** Attaches 500 files to a session, by 25 messages. */
async function attach(call: ApiCall, session: string): Promise<string> {
  const files = await inParallel(8, 500, async (n) => {
    const form = new FormData();
    form.set('file', new Blob([`attachment ${n}`]), `${n}.txt`);
    return (await call('POST', '/v1/files', form)).body.id as string;
  });
  for (let from = 0; from < files.length; from += 20) {
    const status = await runTurn(call, session, files.slice(from, from + 20), 'write 1 words');
    if (status !== 'COMPLETE') throw new Error(`The turn with attachments: ${status}`);
  }
  return session;
}
