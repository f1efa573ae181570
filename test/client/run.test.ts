import { expect } from 'chai';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { AgentSessionClient, type Event } from '../../client/src/index.js';
import { text, wait } from '../support/scripted-model.js';
import { useTurnService } from '../support/use.js';

const CALLER = fileURLToPath(new URL('../support/running-caller.ts', import.meta.url));

describe('run() of the client', () => {
  let client: AgentSessionClient;
  const service = useTurnService();
  before(async () => {
    client = new AgentSessionClient({ baseUrl: service.url, apiKey: service.key });
  });

  it('run() of the client follows the same turn after a crash of its process, and finds its result when called once more', async () => {
    const rest = service.model.gate();
    service.model.on(/Count slowly/, text(['one ', 'two ', 'three'], { before: { 2: wait(rest) } }));
    const id = await service.session();
    const caller = spawn(process.execPath, ['--import', 'tsx', CALLER, service.url, service.key, id, 'job-17'], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    for await (const type of createInterface(caller.stdout)) if (type === 'agent.message.delta') break;
    caller.kill('SIGKILL');
    await once(caller, 'exit');

    const message = { content: 'Count slowly' };
    const deltas: string[] = [];
    const options = { idempotencyKey: 'job-17' };
    const result = await client.run(id, message, {
      ...options,
      onEvent(event) {
        rest.open();
        if (event.type === 'agent.message.delta') deltas.push(event.content);
      },
    });
    expect(result).to.include({ status: 'completed', message: 'one two three' });
    expect(deltas.join('')).to.equal('one two three');
    expect(result.events).to.deep.equal(await service.history(id));
    expect(result.events.filter(({ type }) => type === 'user.message')).to.have.length(1);
    expect(await client.run(id, message, options)).to.deep.equal(result);
    expect(service.model.requests.filter(({ body }) => JSON.stringify(body).includes('Count slowly'))).to.have.length(
      1,
    );
  });

  it('followTurn waits for a turn that was started elsewhere, and reads one that has ended', async () => {
    service.model.on(/First/, text('One.'));
    service.model.on(/Second/, text('Two.'));
    const id = await service.session();
    const first = await service.send(id, 'First');
    expect(await client.followTurn(id, first)).to.include({ turnId: first, message: 'One.' });
    const second = await service.send(id, 'Second');
    expect(await client.followTurn(id, second)).to.include({ turnId: second, message: 'Two.' });
    const earlier = await client.followTurn(id, first);
    const { message, status, ...turn } = await client.getTurn(id, second);
    expect({ message, status }).to.deep.equal({ message: 'Two.', status: 'completed' });
    const turns: string[] = [];
    for await (const listed of client.eachTurn(id, { limit: 1 })) turns.push(listed.id);
    expect(turns).to.deep.equal([turn.id, first]);
    const newest = client.eachEvent(id, { types: ['user.message', 'agent.message'], order: 'desc', limit: 3 });
    const contents: string[] = [];
    for await (const event of newest)
      contents.push('content' in event && typeof event.content === 'string' ? event.content : event.type);
    expect(contents).to.deep.equal(['Two.', 'Second', 'One.', 'First']);
    const [event] = earlier.events;
    expect(await client.getEvent(id, event!.id)).to.deep.equal(event);
    expect(earlier.events).to.deep.equal((await service.history(id)).filter(({ turn_id }) => turn_id === first));
  });

  it('eachEvent begins again with the page that it had reached', async () => {
    service.model.on(/Third/, text('Three.'));
    const id = await service.session();
    await service.run(id, 'Third');
    const events = client.eachEvent(id, { limit: 2 });
    expect(events.cursor).to.equal(undefined);
    const read: Event[] = [];
    for await (const event of events) read.push(event);
    expect(read).to.have.length(3);
    const { cursor } = events;
    await service.run(id, 'Third');
    const rest: Event[] = [];
    for await (const event of client.eachEvent(id, { limit: 2, cursor })) rest.push(event);
    // The page that was under way, and what came since.
    expect([...read.slice(0, 2), ...rest]).to.deep.equal(await service.history(id));
  });
});
