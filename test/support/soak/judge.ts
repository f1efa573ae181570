import type { FaultCalls } from '../fault-calls.js';
import { allItems } from '../pages.js';
import { checkTurns } from '../turn-checker.js';
import { claimOf, type Entry, type History, type Restore, type SeenCall, type SessionEntry } from './ledger.js';
import { answerTo, keyOf, type Outside } from './outside.js';

const TERMINAL = /^turn\.(completed|cancelled|failed)$/;
const AT_ONCE = 8;

/** What the API shows of a session in the end. */
interface Shown {
  entry: Entry;
  session: SessionEntry;
  claim: 'whole' | 'begun';
  status: string;
  history: History;
  /** The log that the commands of its workspace wrote; null without one. */
  log: string | null;
}

export interface Verdict {
  faults: string[];
  conversations: number;
  /** Of those, how many began before the backup and were open or ended after it. */
  begun: number;
  lost: number;
  turns: number;
  events: number;
  calls: number;
  /** Results that say that the outcome of the call is unknown. */
  unknownOutcomes: number;
  deliveries: number;
  furtherAttempts: number;
  modelCalls: number;
  /** Of those, how many the model never got: their worker died before it had sent them. */
  unsentModelCalls: number;
  cost: string;
}

/**
 * Compares the ledgers: what clients sent, what is stored, what was delivered to watchers and webhooks, which calls the tools' servers
 * saw, and what was paid. Reads nothing but the API.
 */
export async function judge(
  calls: FaultCalls,
  entries: Entry[],
  outside: Outside,
  restore: Restore | null,
  readLog: (sessionId: string) => Promise<string>,
): Promise<Verdict> {
  const claims = entries.map((entry) => ({ entry, claim: claimOf(entry, restore) }));
  const wanted = claims.flatMap(({ entry, claim }) =>
    claim === 'lost'
      ? []
      : entry.sessions
          .filter(({ at }) => claim === 'whole' || at < restore!.backupAt)
          .map((session) => ({ entry, claim, session })),
  );
  const shown: Shown[] = [];
  const faults: string[] = [];
  const reading = wanted.values();
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      for (const one of reading) {
        const { status, body } = await calls.insist('GET', `/v1/sessions/${one.session.id}`);
        if (status !== 200) {
          faults.push(`${one.entry.key}: GET session ${one.session.id} answers ${status}`);
          continue;
        }
        const history = await calls.history(one.session.id, calls.key);
        const log = one.session.appends && body.workspace.version > 0 ? await readLog(one.session.id) : null;
        shown.push({ ...one, status: body.status as string, history, log });
      }
    }),
  );
  const seen = groupBy(outside.calls, ({ key }) => key);
  faults.push(
    ...outside.unsigned.map((id) => `delivery ${id} has a wrong signature`),
    ...claims.flatMap(({ entry, claim }) =>
      claim === 'whole' && entry.doneAt === null ? [`${entry.key}: its client never came to the end`] : [],
    ),
    ...checkTurns({
      accepted: shown.flatMap(({ session, history }) =>
        [...new Set(history.map((event) => event.turn_id as string))].map((turnId) => ({
          turnId,
          sessionId: session.id,
        })),
      ),
      histories: new Map(shown.map(({ session, history }) => [session.id, history])),
      statuses: new Map(shown.map(({ session, status }) => [session.id, status])),
      watched: shown.flatMap(({ session, claim }) => (claim === 'whole' ? watchedTurns(session) : [])),
    }),
    ...shown.flatMap((one) =>
      [...checkMessages(one, restore), ...checkEnds(one), ...checkSeenBefore(one, restore), ...checkLog(one)].map(
        (fault) => `${one.entry.key}, ${one.session.id}: ${fault}`,
      ),
    ),
    ...checkCalls(shown, seen),
    ...checkDeliveries(shown, outside),
  );
  const money = await checkMoney(calls, shown, outside);
  const events = shown.flatMap(({ history }) => history);
  const deliveries = new Set(outside.receiver.received.map(({ id }) => id)).size;
  return {
    faults: [...faults, ...money.faults],
    conversations: entries.length,
    begun: claims.filter(({ claim }) => claim === 'begun').length,
    lost: claims.filter(({ claim }) => claim === 'lost').length,
    turns: events.filter(({ type }) => TERMINAL.test(type as string)).length,
    events: events.length,
    calls: outside.calls.length,
    unknownOutcomes: events.filter(({ type, is_error }) => type === 'agent.tool_result' && is_error === true).length,
    deliveries,
    furtherAttempts: outside.receiver.received.length - deliveries,
    modelCalls: money.modelCalls,
    unsentModelCalls: money.unsentModelCalls,
    cost: money.cost,
  };
}

/** Sent and stored: each message that was accepted is in its session once, and no other. */
function checkMessages({ session, claim, history }: Shown, restore: Restore | null): string[] {
  const stored = history.flatMap((event) => (event.type === 'user.message' ? [event.content as string] : []));
  const sent = session.messages.map(({ content }) => content).concat(session.copied);
  const owed = claim === 'whole' ? sent : answeredBefore(session, restore!.backupAt).concat(session.copied);
  return [
    ...owed.filter((content) => !stored.includes(content)).map((content) => `"${content}" was accepted and is lost`),
    ...stored.filter((content, at) => stored.indexOf(content) !== at).map((content) => `"${content}" is stored twice`),
    ...(claim === 'whole' ? stored.filter((content) => !sent.includes(content)) : []).map(
      (content) => `"${content}" was not sent`,
    ),
  ];
}

function answeredBefore({ messages }: SessionEntry, at: number): string[] {
  return messages.flatMap((message) => (message.at < at ? [message.content] : []));
}

/** Each turn ends as the client expects; what completed says the whole answer to its last message. */
function checkEnds({ session, claim, history }: Shown): string[] {
  const turns = groupBy(history, (event) => event.turn_id as string);
  return [...turns].flatMap(([turnId, events]) => {
    const end = events.at(-1);
    const allowed = claim === 'whole' ? session.ends : ['turn.completed', 'turn.cancelled'];
    if (!allowed.includes(end.type as string)) return [`${turnId} ended with ${JSON.stringify(end)}`];
    if (end.type !== 'turn.completed') return [];
    const message = events.findLast(({ type }) => type === 'user.message');
    const answer = events.findLast(({ type }) => type === 'agent.message');
    const wanted = answerTo(message.content as string);
    return answer?.content === wanted ? [] : [`${turnId} answers "${answer?.content}" to "${message.content}"`];
  });
}

/** What a watcher saw before the backup is in the restored history. */
function checkSeenBefore({ session, claim, history }: Shown, restore: Restore | null): string[] {
  if (claim === 'whole') return [];
  const ids = new Set(history.map(({ id }) => id as string));
  return session.watched
    .flat()
    .filter(({ at, event, data }) => at < restore!.backupAt && !event.endsWith('.delta') && !ids.has(data.id as string))
    .map(({ id, event }) => `${event} ${id} was seen before the backup, and is not in what was restored`);
}

/** The log of a workspace has the number of each command whose result is stored, in order, and so have the deliveries. */
function checkLog({ session, history, log }: Shown): string[] {
  if (!session.appends) return [];
  const results = history.filter(({ type }) => type === 'agent.tool_result');
  const kept = results.flatMap(({ is_error }, n) => (is_error === true ? [] : [n]));
  const delivered = history.flatMap((event) => (event.type === 'agent.file' ? [event.file.filename as string] : []));
  return [
    ...((log ?? '') === kept.map((n) => `${n}\n`).join('') ? [] : [`its log is ${JSON.stringify(log)}, not ${kept}`]),
    ...(delivered.join() === kept.map((n) => `${n}.txt`).join() ? [] : [`delivered ${delivered}, not ${kept}`]),
  ];
}

/** A follower saw several turns; each is judged as one that was watched alone. */
function watchedTurns({ watched }: SessionEntry): { turnId: string; frames: SessionEntry['watched'][number] }[] {
  return watched.flatMap((frames) =>
    [...groupBy(frames, ({ data }) => data.turn_id as string)].map(([turnId, ofTurn]) => ({
      turnId,
      frames: ofTurn,
    })),
  );
}

function groupBy<T>(items: T[], keyOfItem: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const key = keyOfItem(item);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [item]);
    else group.push(item);
  }
  return groups;
}

/** Stored and run: a result that came from the server has its call there, none was sent twice, and none as somebody else. */
function checkCalls(shown: Shown[], seen: Map<string, SeenCall[]>): string[] {
  return shown.flatMap(({ entry, claim, session, history }) => {
    if (session.copied.length > 0) return [];
    const calls = seen.get(entry.key) ?? [];
    const uses = history.filter(({ type, input }) => type === 'agent.tool_use' && input.key === entry.key);
    const results = uses.map(({ tool_use_id }) =>
      history.find((event) => event.type === 'agent.tool_result' && event.tool_use_id === tool_use_id),
    );
    const succeeded = results.filter((result) => result?.is_error === false);
    // A call that was sent after the backup is unknown to what was restored.
    const most = uses.length * (claim === 'whole' ? 1 : 2);
    const user = entry.key.startsWith('credential ') ? `user-${entry.key.split(' ')[1]}` : null;
    return [
      ...(calls.length > most ? [`${calls.length} calls reached the server for ${uses.length}`] : []),
      ...(calls.length < succeeded.length ? [`${succeeded.length} results, and ${calls.length} calls`] : []),
      ...(entry.isDenied && calls.length > 0 ? ['a call that was denied reached the server'] : []),
      ...calls.filter((call) => call.user !== user).map((call) => `called as ${call.user}, not as ${user}`),
      ...succeeded
        .filter(({ content }) => !(content as string).includes(entry.key))
        .map(({ content }) => `has the result of another call: ${content}`),
    ].map((fault) => `${entry.key}: ${fault}`);
  });
}

/** Stored and delivered: each end has one delivery, whose attempts are alike. */
function checkDeliveries(shown: Shown[], { receiver }: Outside): string[] {
  const byEvent = groupBy(receiver.received, ({ payload }) => payload.data.event_id as string);
  return shown.flatMap(({ claim, session, history }) =>
    ownEnds(session, history).flatMap((end) => {
      const requests = byEvent.get(end.id as string) ?? [];
      if (requests.length === 0) return claim === 'whole' ? [`${end.type} ${end.id} was not delivered`] : [];
      const ids = new Set(requests.map(({ id }) => id));
      const bodies = new Set(requests.map(({ body }) => body));
      return [
        ...(ids.size > 1 ? [`${end.id} was delivered under ${ids.size} ids`] : []),
        ...(bodies.size > 1 ? [`${end.id} was delivered with ${bodies.size} bodies`] : []),
      ];
    }),
  );
}

/** The terminal events of turns that ran in this session. */
function ownEnds({ copied }: SessionEntry, history: History): History {
  return history.filter(({ type }) => TERMINAL.test(type as string)).slice(copied.length);
}

/** Ends whose delivery has not arrived yet. */
export function undelivered(entries: Entry[], { receiver }: Outside, restore: Restore | null): number {
  const arrived = new Set(receiver.received.map(({ payload }) => payload.data.turn_id as string));
  const turns = entries
    .filter((entry) => claimOf(entry, restore) === 'whole')
    .flatMap(({ sessions }) => sessions.flatMap((session) => watchedTurns(session).map(({ turnId }) => turnId)));
  return turns.filter((turnId) => !arrived.has(turnId)).length;
}

/**
 * Paid: the sums of GET /v1/usage are those of the turns' ends, and the model got at least as many requests as tokens were paid for. A call
 * whose process died before any of its answer was recorded counts as a call without tokens and without cost, also if its request
 * never left.
 */
async function checkMoney(
  calls: FaultCalls,
  shown: Shown[],
  outside: Outside,
): Promise<Pick<Verdict, 'faults' | 'modelCalls' | 'unsentModelCalls' | 'cost'>> {
  const api = (method: string, path: string, body?: unknown) => calls.insist(method, path, body);
  const groups = await allItems(api, '/v1/usage?group_by=session&limit=100');
  const paid = new Map(groups.map((group) => [group.group as string, group]));
  let modelCalls = 0;
  let cost = 0n;
  const counted = new Map<string, { calls: number; turns: string[] }>();
  const faults = shown.flatMap(({ entry, session, history }) => {
    const ends = ownEnds(session, history).filter(({ usage_details }) => usage_details !== null);
    const sum = (of: (end: History[number]) => number): number => ends.reduce((total, end) => total + of(end), 0);
    const wanted = {
      model_calls: sum((end) => end.usage_details.model_calls as number),
      input_tokens: sum((end) => end.usage.input_tokens as number),
      output_tokens: sum((end) => end.usage.output_tokens as number),
      cost: ends.reduce((total, end) => total + picos(end.usage_details.cost), 0n),
    };
    modelCalls += wanted.model_calls;
    cost += wanted.cost;
    const before = counted.get(entry.key) ?? { calls: 0, turns: [] };
    counted.set(entry.key, {
      calls: before.calls + wanted.model_calls,
      turns: [...before.turns, ...ends.map((end) => `/v1/sessions/${session.id}/turns/${end.turn_id as string}`)],
    });
    const group = paid.get(session.id);
    const found = {
      model_calls: group?.model_calls ?? 0,
      input_tokens: group?.input_tokens ?? 0,
      output_tokens: group?.output_tokens ?? 0,
      cost: picos(group?.cost),
    };
    const alike = Object.entries(wanted).every(([name, value]) => found[name as keyof typeof found] === value);
    return alike ? [] : [`${entry.key}: GET usage has ${line(found)}, and its turns ${line(wanted)}`];
  });
  let unsentModelCalls = 0;
  for (const [key, { calls: count, turns }] of counted) {
    const seen = outside.modelCalls.get(keyOf(key)) ?? 0;
    if (count <= seen) continue;
    const timelines = await Promise.all(turns.map((turn) => allItems(api, `${turn}/timeline?limit=100`)));
    const free = timelines.flat().filter(isUnrecorded).length;
    unsentModelCalls += count - seen;
    if (count - free > seen) faults.push(`${key}: ${count - free} model calls were charged, and the model got ${seen}`);
  }
  return { faults, modelCalls, unsentModelCalls, cost: `${Number(cost) / 1e12} USD` };
}

/** Of a timeline: a model call that counts and costs nothing, because nothing of its answer came or was recorded. */
const isUnrecorded = ({ type, usage, cost }: History[number]): boolean =>
  type === 'model_call' && ((usage?.output_tokens as number | undefined) ?? 0) === 0 && picos(cost) === 0n;

const line = (values: object): string =>
  Object.entries(values)
    .map(([name, value]) => `${name} ${value}`)
    .join(', ');

/** An amount in 10⁻¹² of its currency. */
function picos(money: { amount: string } | null | undefined): bigint {
  const [whole = '0', fraction = ''] = (money?.amount ?? '0').split('.');
  return BigInt(whole) * 10n ** 12n + BigInt(fraction.padEnd(12, '0'));
}
