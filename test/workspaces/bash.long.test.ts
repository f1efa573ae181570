import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { openStorage } from '../../src/files/open-storage.js';
import { newStorageKey } from '../../src/files/storage.js';
import { eventually } from '../support/eventually.js';
import { freePort } from '../../src/platform/free-port.js';
import { budget, PRICE, tokens } from '../support/money.js';
import { processesWith } from '../support/processes-with.js';
import { failure, message, steps, text, toolUse } from '../support/scripted-model.js';
import { confirmation, requiredActions, sendAnswers } from '../support/waiting-turns.js';
import { useWorkspaceService } from '../support/workspace-service.js';

const isRunning = (mark: string): boolean => processesWith(mark).length > 0;

describe('a session with a workspace', () => {
  const { service, session, calls, bash } = useWorkspaceService({
    config: { sandboxMemoryMb: 300 },
    // For commands of 32,000 characters.
    model: { max_output_tokens: 64_000, price: PRICE },
  });

  const allow = async (id: string, waiting: { tool_use_id: string }[]): Promise<void> => {
    const events = waiting.map(({ tool_use_id }) => confirmation(tool_use_id, 'allow'));
    expect((await sendAnswers(service, id, events)).status).to.be.lessThan(300);
  };

  it('a session with a workspace begins empty, and has a version for each call that changed its tree', async () => {
    const id = await session();
    const workspace = async () => (await service.api('GET', `/v1/sessions/${id}`)).body.workspace;
    expect(await workspace()).to.deep.equal({ version: 0, size_bytes: 0, file_count: 0, updated_at: null });
    const result = await bash(id, 'echo hi; echo err >&2; mkdir d; echo 12345 > d/a; exit 3');
    expect(result).to.include({ content: 'hi\nerr\n[exit code 3]', is_error: true });
    expect(result.workspace).to.deep.include({
      ...{ version: 1, exit_code: 3, stopped: null },
      changes: { created: ['/workspace/d', '/workspace/d/a'], modified: [], deleted: [], more: 0 },
    });
    expect(await workspace()).to.deep.include({ version: 1, size_bytes: 6, file_count: 1 });
    expect((await bash(id, 'cat d/a')).workspace).to.include({ version: 1 });
    expect((await service.api('GET', `/v1/sessions/${await service.session()}`)).body.workspace).to.equal(null);
  });

  it('a session with a workspace keeps files and the working directory from call to call and turn to turn, and nothing else', async () => {
    const id = await session();
    await calls(id, [
      ['bash', { command: 'mkdir sub && cd sub && export X=1 && f() { :; } && echo one > a.txt' }],
      ['bash', { command: 'echo two >> a.txt; sleep 1000 &' }],
    ]);
    const result = await bash(id, 'pwd; cat a.txt; echo "[$X]"; type f 2>&1');
    expect(result.content).to.match(/^\/workspace\/sub\none\ntwo\n\[\]\n.*not found\n\[exit code 1\]$/);
    expect((await bash(id, 'pwd', { restart: true })).content).to.equal('/workspace\n');
    expect((await bash(id, 'cd /tmp && rm -rf /workspace/sub')).workspace).to.include({ version: 3 });
    expect((await bash(id, 'pwd')).content).to.equal('/tmp\n');
  });

  it('a session with a workspace is stopped at its timeout, and keeps what was written until then', async () => {
    const id = await session();
    const result = await bash(id, 'echo part > a; echo said; sleep 60', { timeout_ms: 700 });
    expect(result).to.include({ content: 'said\n[stopped: timeout]', is_error: true });
    expect(result.workspace).to.include({ version: 1, exit_code: null, stopped: 'timeout' });
    expect((await bash(id, 'cat a')).content).to.equal('part\n');
  });

  it('a session with a workspace shows a command’s text without escape sequences and bytes that are no text', async () => {
    const id = await session();
    const result = await bash(id, String.raw`printf '\033[31mred\033[0m\r\nx\ry\n\a\x00\xff\t|\033]0;title\007end'`);
    expect(result.content).to.equal('red\nx\ny\n\ufffd\ufffd\ufffd\t|end');
    expect((await bash(id, ':')).content).to.equal('(no output)');
  });

  it('a session with a workspace gives the model the first and the last part of a long output, and read_file the rest', async () => {
    const id = await session();
    const [, , result] = await calls(id, [['bash', { command: 'seq 1 20000; exit 1' }]]).then((events) => events);
    expect(result).to.not.equal(undefined);
    const request = JSON.stringify(service.model.requests.at(-1)!.body.messages);
    expect(request).to.contain('1\\n2\\n3').and.contain('20000\\n[exit code 1]').and.contain('read_file');
    expect(request).to.not.contain('\\n10000\\n');
    const long = await bash(id, 'yes 0123456789 | head -c 3000000; echo; echo the end');
    expect(long.truncated).to.equal(true);
    const [{ bytes }] = await service.db.query(
      `SELECT overflow_key AS bytes FROM tool_calls WHERE overflow_key IS NOT NULL ORDER BY ended_at DESC LIMIT 1`,
    );
    expect(bytes).to.be.a('string');
  });

  it('a session with a workspace runs the calls of one step one after another, in their order, while other tools run beside them', async () => {
    const id = await session();
    const commands = Array.from({ length: 5 }, (_, n) => ({
      command: `cat log 2>/dev/null | wc -l; echo ${n} >> log; sleep 0.1`,
    }));
    service.model.on(
      /In one step/,
      steps([...commands.map((input) => toolUse('bash', input)), toolUse('list_files')], 'ok'),
    );
    const events = await service.run(id, 'In one step');
    const results = events.filter(({ type, name }) => type === 'agent.tool_result' && name === 'bash');
    expect(results.map(({ workspace }) => workspace.version)).to.deep.equal([1, 2, 3, 4, 5]);
    expect(results.map(({ content }) => content)).to.deep.equal(['0\n', '1\n', '2\n', '3\n', '4\n']);
    expect((await bash(id, 'cat log')).content).to.equal('0\n1\n2\n3\n4\n');
  });

  it('a session with a workspace keeps nothing of a command that is cancelled, ends it at once, and tells the next turn', async () => {
    const id = await session();
    await bash(id, 'echo before > a');
    service.model.on(/Long work/, () =>
      toolUse('bash', { command: 'trap "" TERM; echo during > a; (setsid sleep 876.54 &); sleep 876.54' }),
    );
    await service.send(id, 'Long work');
    await eventually('the command runs', async () => isRunning('sleep\x00876.54'));
    const began = performance.now();
    expect(await service.cancel(id)).to.include({ type: 'turn.cancelled' });
    await eventually('no process is left', async () => !isRunning('876.54'));
    expect(performance.now() - began).to.be.lessThan(10_000);
    expect((await bash(id, 'cat a')).content).to.equal('before\n');
    expect(JSON.stringify(service.model.requests.at(-1)!.body.messages)).to.contain('nothing of it was kept');
  });

  it('a session with a workspace asks a person where its entry says so, for the tools that it names', async () => {
    const id = await session({
      tools: [{ type: 'workspace', configs: [{ name: 'bash', permission_policy: { type: 'always_ask' } }] }],
    });
    service.model.on(
      /Ask me/,
      steps(
        [toolUse('bash', { command: 'echo asked > a' }), toolUse('write', { file_path: 'b', content: 'free' })],
        'ok',
      ),
    );
    await service.send(id, 'Ask me');
    const waiting = await requiredActions(service, id);
    await allow(id, waiting);
    expect(await service.ended(id)).to.include({ type: 'turn.completed' });
    const { body } = await service.api('GET', `/v1/sessions/${id}`);
    expect(body.workspace).to.deep.include({ version: 2, file_count: 2 });
  });

  it('a session with a workspace runs approved calls of one step one after another, each with what the one before has left', async () => {
    const id = await session({
      tools: [{ type: 'workspace', default_config: { permission_policy: { type: 'always_ask' } } }],
    });
    const command = 'cat log 2>/dev/null | wc -l; echo line >> log; sleep 0.2';
    const all = [1, 2, 3].map(() => toolUse('bash', { command }));
    service.model.on(/Ask for all/, steps(all, 'ok'));
    await service.send(id, 'Ask for all');
    const waiting = await requiredActions(service, id, 3);
    await allow(id, waiting);
    expect(await service.ended(id)).to.include({ type: 'turn.completed' });
    const results = (await service.history(id)).filter(({ type }) => type === 'agent.tool_result');
    expect(results.map(({ content }) => content as string)).to.deep.equal(['0\n', '1\n', '2\n']);
    expect(results.map(({ workspace }) => workspace.version as number)).to.deep.equal([1, 2, 3]);
  });

  it('a session with a workspace is stopped for memory, and keeps what it wrote until then', async () => {
    const id = await session();
    const hog = '(head -c 120M /dev/zero | tail -c 110M | sleep 30) &';
    const result = await bash(id, `echo part > a; echo said; ${hog} ${hog} ${hog} ${hog} wait`);
    expect(result).to.include({ content: 'said\n[stopped: memory]', is_error: true });
    expect(result.workspace).to.include({ version: 1, exit_code: null, stopped: 'memory' });
    expect((await bash(id, 'cat a')).content).to.equal('part\n');
  });

  it('a session with a workspace takes a command of 32,000 characters, and none of more', async () => {
    const id = await session();
    const commandOf = (length: number): string => `echo ok; : ${'😀'.repeat(length - 11)}`;
    expect([...commandOf(32_000)]).to.have.length(32_000);
    expect((await bash(id, commandOf(32_000))).content).to.equal('ok\n');
    const longer = await bash(id, commandOf(32_001));
    expect(longer).to.include({ is_error: true }).and.not.have.property('workspace');
  });

  it('a session with a workspace begins in a turn that waited in the queue with what the turn before has left', async () => {
    const id = await session();
    service.model.on(/^First/, steps(toolUse('bash', { command: 'sleep 0.5; echo first > a; cd /tmp' }), 'ok'));
    service.model.on(/^Second/, steps(toolUse('bash', { command: 'pwd; cat /workspace/a' }), 'ok'));
    await service.send(id, 'First');
    await service.send(id, 'Second', { when_running: 'queue' });
    const results = async () => (await service.history(id)).filter(({ type }) => type === 'agent.tool_result');
    await eventually('both turns have called', async () => (await results()).length === 2);
    expect((await results())[1].content).to.equal('/tmp\nfirst\n');
    await service.ended(id);
  });

  it('a session with a workspace waits with its result while the storage is away, and does not run again for it', async () => {
    const id = await session();
    const folder = join(fileURLToPath(service.config.storageUrl), 'tmp');
    const mark = 'sleep\u00000.4321';
    service.model.on(/Away/, steps(toolUse('bash', { command: 'sleep 0.4321; echo once >> log' }), 'ok'));
    rmSync(folder, { recursive: true, force: true });
    writeFileSync(folder, 'no folder');
    let turnId: string;
    try {
      turnId = await service.send(id, 'Away');
      await eventually('the command runs', () => isRunning(mark));
      await eventually('the command has ended', () => !isRunning(mark));
      // It would be there by now, or run again.
      for (let look = 0; look < 20; look += 1) {
        await sleep(50);
        expect(isRunning(mark)).to.equal(false);
      }
      const events = (await service.history(id)).filter((event) => event.turn_id === turnId);
      expect(events.map(({ type }) => type as string)).to.deep.equal(['user.message', 'agent.tool_use']);
      const { body } = await service.api('GET', `/v1/sessions/${id}`);
      expect(body.workspace).to.include({ version: 0, file_count: 0 });
    } finally {
      rmSync(folder);
    }
    expect(await service.ended(id)).to.include({ type: 'turn.completed' });
    const results = (await service.history(id)).filter(({ type }) => type === 'agent.tool_result');
    expect(results.map(({ workspace }) => workspace.version as number)).to.deep.equal([1]);
    expect((await bash(id, 'cat log')).content).to.equal('once\n');
  });

  it('a session with a workspace is followed by the message that steered while a command ran, with the tree that the command has left', async () => {
    const id = await session();
    service.model.on(/Before the steering/, () =>
      toolUse('bash', { command: 'echo one > a; cd /tmp; sleep 600.11; echo two >> /workspace/a' }),
    );
    service.model.on(/Also this/, steps(toolUse('bash', { command: 'pwd; cat /workspace/a' }), 'ok'));
    const turnId = await service.send(id, 'Before the steering');
    await eventually('the command runs', () => isRunning('sleep\x00600.11'));
    const steering = { content: 'Also this', when_running: 'steer' };
    const { status, body } = await service.api('POST', `/v1/sessions/${id}/messages`, steering);
    expect([status, body.state, body.turn_id]).to.deep.equal([201, 'steering', turnId]);
    for (const pid of processesWith('sleep\x00600.11')) process.kill(pid);
    expect(await service.ended(id)).to.include({ type: 'turn.completed', turn_id: turnId });
    const events = await service.history(id);
    expect(events.map(({ type }) => type as string)).to.deep.equal([
      ...['user.message', 'agent.tool_use', 'agent.tool_result', 'user.message'],
      ...['agent.tool_use', 'agent.tool_result', 'agent.message', 'turn.completed'],
    ]);
    expect(events[2].workspace).to.include({ version: 1, exit_code: 0 });
    expect(events[5].content).to.equal('/tmp\none\ntwo\n');
  });

  it('a session with a workspace goes on with its tree as it stands when a failed turn is continued', async () => {
    const id = await session();
    service.model.reply(
      toolUse('bash', { command: 'echo one > a; cd /tmp' }),
      failure('invalid_request_error'),
      toolUse('bash', { command: 'pwd; cat /workspace/a; echo two >> /workspace/a' }),
      text('ok'),
    );
    await service.send(id, 'Fails after a command');
    expect(await service.ended(id)).to.include({ type: 'turn.failed' });
    expect((await service.api('GET', `/v1/sessions/${id}`)).body.workspace).to.include({ version: 1, file_count: 1 });
    expect((await service.api('POST', `/v1/sessions/${id}/continue`)).status).to.equal(201);
    expect(await service.ended(id)).to.include({ type: 'turn.completed' });
    const results = (await service.history(id)).filter(({ type }) => type === 'agent.tool_result');
    expect(results.map(({ content }) => content as string)).to.deep.equal(['(no output)', '/tmp\none\n']);
    expect(results.map(({ workspace }) => workspace.version as number)).to.deep.equal([1, 2]);
  });

  it('a session with a workspace keeps the version of a command that came before the budget was reached, and goes on with it when the budget grows', async () => {
    const id = await session({ budget: budget('0.5', 'pause'), thinking_enabled: false });
    service.model.on(/Spend on commands/, ({ step }) => {
      if (step === 0) return message([toolUse('bash', { command: 'echo paid > a' })], tokens(300));
      if (step === 1) return message([toolUse('bash', { command: 'cat a' })], tokens(2));
      return message([text('ok')], tokens(2));
    });
    await service.send(id, 'Spend on commands');
    const [action] = await requiredActions(service, id);
    expect(action).to.include({ type: 'budget' });
    expect((await service.api('GET', `/v1/sessions/${id}`)).body.workspace).to.include({ version: 1, file_count: 1 });
    expect((await service.api('PATCH', `/v1/sessions/${id}`, { budget: budget('2', 'pause') })).status).to.equal(200);
    expect(await service.ended(id)).to.include({ type: 'turn.completed', stop_reason: 'end_turn' });
    const results = (await service.history(id)).filter(({ type }) => type === 'agent.tool_result');
    expect(results.map(({ content }) => content as string)).to.deep.equal(['(no output)', 'paid\n']);
  });

  it('a session with a workspace gives each call an error result that helps, and ends the turn, when the storage has lost an object of its tree', async () => {
    const id = await session();
    await bash(id, 'echo kept > a');
    const storage = await openStorage(service.config);
    const [{ pack }] = await service.db.query<[{ pack: string }]>(
      'SELECT objects[2] AS pack FROM workspaces WHERE session_id = $1',
      [id],
    );
    // A fork has the same objects, and no tree on the worker's disk.
    const forkOf = async (): Promise<string> =>
      (await service.api('POST', `/v1/sessions/${id}/fork`, {})).body.id as string;
    const expectLost = async (session: string): Promise<void> => {
      const events = await calls(session, [['bash', { command: 'cat a' }]]);
      const result = events.find(({ type }) => type === 'agent.tool_result');
      expect(result).to.include({ is_error: true }).and.not.have.property('workspace');
      expect(result.content).to.contain('has lost files of this workspace').and.contain('a new session');
      expect(result.content).to.contain('Nothing of this call was kept');
      expect(events.at(-1)).to.include({ type: 'turn.completed' });
    };
    const bytes = await storage.read(pack, 1000);
    const put = (key: string, content: Buffer) =>
      storage.put(key, content, { contentType: 'application/octet-stream', size: content.length });
    await put(pack, bytes.subarray(1));
    await expectLost(await forkOf());
    await storage.delete(pack);
    await expectLost(await forkOf());
    // Under a key that no process has read.
    for (const content of [null, Buffer.from('no manifest')]) {
      const key = newStorageKey('workspaces', id);
      if (content !== null) await put(key, content);
      const fork = await forkOf();
      await service.db.query('UPDATE workspaces SET objects[1] = $2 WHERE session_id = $1', [fork, key]);
      await expectLost(fork);
      const { status, body } = await service.api('GET', `/v1/sessions/${fork}/workspace/files`);
      expect([status, body.error.type]).to.deep.equal([502, 'storage_error']);
    }
    await put(pack, bytes);
    expect((await bash(await forkOf(), 'cat a')).content).to.equal('kept\n');
  });

  it('a session with a workspace refuses wrong input without running anything', async () => {
    const id = await session();
    for (const input of [{}, { command: 'a', other: 1 }, { command: 7 }]) {
      const events = await calls(id, [['bash', input]]);
      const [result] = events.filter(({ type }) => type === 'agent.tool_result');
      expect(result.is_error).to.equal(true);
      expect(result).to.not.have.property('workspace');
    }
  });

  it('a session with a workspace has its commands on workers whose /readyz says what keeps each limit', async () => {
    const metricsPort = await freePort();
    const worker = await service.startWorker({ metricsPort });
    try {
      const body = (await (await fetch(`http://127.0.0.1:${metricsPort}/readyz`)).json()) as Record<string, object>;
      expect(body).to.include({ sandbox: 'ok' });
      const { sandbox_limits: limits } = body;
      expect(limits).to.have.all.keys('memory', 'processes', 'cpu', 'disk');
      expect(Object.values(limits!).join()).to.match(
        /^(cgroup|watched),(cgroup|user),(cgroup|nice),(file system|watched)$/,
      );
    } finally {
      await worker.close();
    }
  });

  it('a session with a workspace keeps nothing of a command that fills its disk', async () => {
    const id = await session();
    const result = await bash(id, 'head -c 9000000 /dev/zero > big');
    expect(result).to.include({ is_error: true }).and.have.property('content').that.contains('[stopped: disk]');
    expect(result.workspace).to.deep.include({ version: 0, stopped: 'disk' });
    expect((await bash(id, 'ls | wc -l')).content).to.equal('0\n');
  });
});
