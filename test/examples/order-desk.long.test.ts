import { expect } from 'chai';
import { once } from 'node:events';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { AgentSessionClient, type Event } from '../../client/src/index.js';
import { freePort } from '../../src/platform/free-port.js';
import { eventually } from '../support/eventually.js';
import { OrderDesk, type Part } from '../support/order-desk.js';
import { preparePythonClient } from '../../dev/python-client.mjs';
import { makeStateDir } from '../support/state-dir.js';

const SOURCES = fileURLToPath(new URL('../../python/src', import.meta.url));
const ORDERS = ['A-17', 'B-22', 'C-31'];

describe('the order desk of examples/', () => {
  let desk: OrderDesk;
  before(async () => {
    const [orders, webhooks, api] = [await freePort(), await freePort(), await freePort()];
    desk = new OrderDesk(makeStateDir(), { orders, webhooks, api });
    // The bank answers late: the kill comes while a refund is under way.
    desk.env.REFUND_MS = '5000';
  });
  after(() => desk.killEverything());

  const orderOf = (lines: Record<string, string>[]): string[] => lines.map(({ order }) => order!).sort();
  const ended = async ({ child, output }: Part): Promise<string> => {
    if (child.exitCode === null) await once(child, 'close');
    expect(child.exitCode, output()).to.equal(0);
    return output();
  };

  it('the order desk of examples/ goes through a kill of everything, and loses nothing and does nothing twice', async function () {
    this.timeout(400_000);
    const { bin } = await preparePythonClient();
    const python = bin === null ? null : join(bin, 'python');
    desk.env.PYTHONPATH = SOURCES;
    await desk.startServices();
    desk.script('desk');
    if (python !== null) await desk.prints(desk.start(python, ['reader.py', 'A-17']), /A-17 agent\.tool_use/);
    const waiting = async (): Promise<string[]> =>
      (await ended(desk.script('approve'))).split('\n').flatMap((line) => /^(\S+) waits/.exec(line)?.[1] ?? []);
    // One refund is under way: its money has gone, its answer has not come. Two wait for a person.
    await eventually('the first refund', () => desk.lines('ledger.jsonl').length === 1, 120_000);
    await eventually('the approvals', async () => (await waiting()).length === 2, 60_000);
    await desk.killEverything();
    expect(desk.lines('outbox.jsonl')).to.deep.equal([]);

    await desk.startServices();
    const app = desk.script('desk');
    const reader = python === null ? null : desk.start(python, ['reader.py', 'A-17']);
    await eventually('the approvals', async () => (await waiting()).length === 2, 120_000);
    expect(await ended(desk.script('approve', 'allow', 'B-22'))).to.equal('B-22: allow\n');
    expect(await ended(desk.script('approve', 'deny', 'C-31', 'Too much.'))).to.equal('C-31: deny\n');
    const out = await ended(app);
    for (const order of ORDERS) expect(out).to.match(new RegExp(`^${order} completed in turn_`, 'm'));

    expect(orderOf(desk.lines('ledger.jsonl'))).to.deep.equal(['A-17', 'B-22']);
    expect(orderOf(desk.lines('outbox.jsonl'))).to.deep.equal(ORDERS);
    const client = new AgentSessionClient({ baseUrl: desk.env.BASE!, apiKey: await desk.newKey() });
    for (const order of ORDERS) await checkSession(client, order);
    const messages = () => desk.lines('webhooks.jsonl').filter(({ type }) => type === 'turn.completed');
    await eventually('the webhooks', () => messages().length >= ORDERS.length, 60_000);
    expect(orderOf(messages())).to.deep.equal(ORDERS);
    for (const { message } of messages()) expect(message).to.contain('notify_customer');
    if (reader !== null) {
      await ended(reader);
      const read = desk.lines('reader-A-17.jsonl') as unknown as { event: Event }[];
      expect(read.map(({ event }) => event)).to.deep.equal(await historyOf(client, 'A-17'));
    }
  });

  it('the order desk of examples/ finds everything done when it is started once more', async function () {
    this.timeout(120_000);
    const before = ['ledger.jsonl', 'outbox.jsonl', 'webhooks.jsonl'].map((file) => desk.lines(file));
    const out = await ended(desk.script('desk'));
    for (const order of ORDERS) expect(out).to.match(new RegExp(`^${order} completed in turn_`, 'm'));
    expect(['ledger.jsonl', 'outbox.jsonl', 'webhooks.jsonl'].map((file) => desk.lines(file))).to.deep.equal(before);
  });

  async function historyOf(client: AgentSessionClient, order: string): Promise<Event[]> {
    const { items } = await client.listSessions({ metadata: { order } });
    expect(items).to.have.length(1);
    const events: Event[] = [];
    for await (const event of client.eachEvent(items[0]!.id)) events.push(event);
    return events;
  }

  /** One session and one turn with one call of each tool, and one receipt. */
  async function checkSession(client: AgentSessionClient, order: string): Promise<void> {
    const events = await historyOf(client, order);
    const calls = events.flatMap((event) =>
      event.type === 'agent.tool_use' || event.type === 'agent.custom_tool_use' ? [event.name] : [],
    );
    expect(calls.sort(), order).to.deep.equal([
      'deliver_file',
      'mcp__orders__find_order',
      'mcp__orders__refund_order',
      'notify_customer',
      'use_skill',
    ]);
    expect(events.filter(({ type }) => type === 'user.message')).to.have.length(1);
    expect(events.filter(({ type }) => type === 'turn.completed')).to.have.length(1);
    const refund = events.flatMap((event) =>
      event.type === 'agent.tool_result' && event.name.endsWith('refund_order') ? [event.content] : [],
    );
    expect(refund).to.have.length(1);
    expect(refund[0]).to.match(order === 'C-31' ? /Too much/ : /^Paid back/);
    const receipts: string[] = [];
    const { items } = await client.listSessions({ metadata: { order } });
    const session_id = items[0]!.id;
    for await (const { filename } of client.eachFile({ session_id })) receipts.push(filename);
    expect(receipts).to.deep.equal([`receipt-${order}.txt`]);
  }
});
