import { expect } from 'chai';
import { build } from 'esbuild';
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { AgentSessionClient } from '../../client/src/index.js';
import { visible } from '../../client/src/command/screen.js';
import { eventually } from '../support/eventually.js';
import { budget, PRICE, tokens } from '../support/money.js';
import { http, message, steps, text, toolUse, wait, type Gate } from '../support/scripted-model.js';
import { skip } from '../support/skip.js';
import { useMcpServer, useOauthPair, useTurnService } from '../support/use.js';

const SOURCE = fileURLToPath(new URL('../../client/src/command/main.ts', import.meta.url));
const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const ESC = '\u001b';
const PAGE = 'https://pay.example.com/1';

interface Ended {
  code: number | null;
  out: string;
  err: string;
}

describe('agent-session', () => {
  let client: AgentSessionClient;
  let folder: string;
  let program: string;
  let serverId: string;
  let gate: Gate;
  const mcp = useMcpServer({
    tools: [
      { name: 'send', title: 'Send a mail' },
      {
        name: 'ask',
        run: async ({ ask }) =>
          JSON.stringify(
            await ask({
              message: 'Which size?',
              requestedSchema: {
                type: 'object',
                properties: {
                  size: { type: 'string', enum: ['S', 'L'] },
                  count: { type: 'integer', title: 'How many' },
                  gift: { type: 'boolean' },
                  note: { type: 'string' },
                },
                required: ['size', 'count'],
              },
            }),
          ),
      },
      {
        name: 'pay',
        run: async ({ ask }) =>
          JSON.stringify(await ask({ mode: 'url', message: 'Please pay.', elicitationId: 'p1', url: PAGE })),
      },
    ],
  });
  const accounts = useOauthPair([{ name: 'read' }]);
  const service = useTurnService(() => ({
    config: { mcpAllowedHosts: [mcp.host, ...accounts.hosts] },
    model: { price: PRICE },
  }));
  before(async () => {
    client = new AgentSessionClient({ baseUrl: service.url, apiKey: service.key });
    serverId = (await client.registerMcpServer({ name: 'mail', url: mcp.url })).id;
    folder = await mkdtemp(join(tmpdir(), 'command-'));
    program = join(folder, 'agent-session.mjs');
    await build({
      entryPoints: [SOURCE],
      outfile: program,
      bundle: true,
      platform: 'node',
      format: 'esm',
      logLevel: 'silent',
    });
  });
  after(() => rm(folder, { recursive: true }));
  beforeEach(() => {
    service.model.reset();
    gate = service.model.gate();
    service.model.on(/^Hello/, 'Good day.');
    service.model.on(/^Evil/, `A${ESC}[2Jb\u202ec\n\td`);
    service.model.on(
      /^Mail/,
      steps([toolUse('mcp__mail__send', { to: `ada${ESC}[31m\u202e` }, { id: 'toolu_1' })], 'Sent.'),
    );
    service.model.on(/^Ask/, steps([toolUse('mcp__mail__ask', {}, { id: 'toolu_2' })], 'Ordered.'));
    service.model.on(/^Pay/, steps([toolUse('mcp__mail__pay', {}, { id: 'toolu_3' })], 'Thank you.'));
    service.model.on(/^Read/, steps([toolUse('mcp__accounts__read', {}, { id: 'toolu_4' })], 'Read.'));
    service.model.on(
      /^Delegate/,
      steps([toolUse('agent__reader', { message: 'Read' }, { id: 'toolu_4' })], 'It was read.'),
    );
    service.model.on(
      /^Spend/,
      steps(message([text('Half.'), toolUse('list_files')], tokens(300)), message([text('All.')], tokens(2))),
    );
    service.model.on(/^Slowly/, text(['one ', 'two ', 'three'], { before: { 2: wait(gate) } }));
    service.model.on(/^Long/, message(text('Cut'), { stopReason: 'max_tokens' }));
    service.model.on(/^Output/, [toolUse('give_output', { late: [4711] })]);
  });

  const start = (
    args: string[],
    { env = {}, input }: { env?: NodeJS.ProcessEnv; input?: string } = {},
  ): ChildProcess => {
    const child = spawn(process.execPath, [program, ...args], {
      cwd: ROOT,
      env: {
        PATH: process.env.PATH,
        AGENT_SESSION_BASE_URL: service.url,
        AGENT_SESSION_API_KEY: service.key,
        ...env,
      },
    });
    child.stdin.end(input);
    return child;
  };
  const collect = async (child: ChildProcess): Promise<Ended> => {
    const [out, err]: string[] = ['', ''];
    const ended: Ended = { code: null, out: out!, err: err! };
    child.stdout!.on('data', (chunk) => (ended.out += String(chunk)));
    child.stderr!.on('data', (chunk) => (ended.err += String(chunk)));
    await once(child, 'close');
    return Object.assign(ended, { code: child.exitCode });
  };
  const run = (args: string[], options: { env?: NodeJS.ProcessEnv; input?: string } = {}): Promise<Ended> =>
    collect(start(args, options));
  const asking = (): Promise<string> =>
    service.session({
      mcp_servers: [serverId],
      tools: [
        { type: 'mcp_toolset', mcp_server_id: serverId, default_config: { permission_policy: { type: 'always_ask' } } },
      ],
    });

  it('agent-session send prints the answer, and the new session on stderr', async () => {
    const { code, out, err } = await run(['send', 'Hello']);
    expect({ code, out }).to.deep.equal({ code: 0, out: 'Good day.\n' });
    expect(err).to.match(/^session ses_\w+\n$/);
    const again = await run(['send', /ses_\w+/.exec(err)![0], '-'], { input: 'Hello again' });
    expect(again).to.deep.equal({ code: 0, out: 'Good day.\n', err: '' });
  });

  it('agent-session send gives events as JSON, files and skills to the message, and an output by a schema', async () => {
    const [schema, note] = [join(folder, 'schema.json'), join(folder, 'note.txt')];
    const shape = {
      type: 'object',
      properties: { late: { type: 'array', items: { type: 'integer' } } },
      required: ['late'],
    };
    await writeFile(schema, JSON.stringify(shape));
    await writeFile(note, 'A note.');
    const output = await run(['send', '--output-schema', schema, 'Output']);
    expect({ code: output.code, out: output.out }).to.deep.equal({ code: 0, out: '{"late":[4711]}\n' });
    const json = await run(['send', '--json', '--file', note, '--model', 'scripted', 'Hello']);
    const events = json.out
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as { type: string; files?: { filename: string }[] });
    expect(events[0]!.files!.map(({ filename }) => filename)).to.deep.equal(['note.txt']);
    expect(events.at(-1)!.type).to.equal('turn.completed');
    const skill = await run(['send', '--skill', 'skill_none', 'Hello']);
    expect(skill.code).to.equal(1);
    expect(skill.err).to.match(/^skill_not_found: /m);
  });

  it('agent-session send ends with a code for each end of a turn', async () => {
    const long = await run(['send', 'Long']);
    expect({ code: long.code, out: long.out }).to.deep.equal({ code: 1, out: 'Cut\n' });
    expect(long.err).to.match(/^The turn ended early: max_\w+$/m);
    service.model.on(/^Broken/, http(400, '{}'));
    const failed = await run(['send', 'Broken']);
    expect(failed.code, failed.err).to.equal(1);
    expect(failed.err).to.match(/^The turn failed: \w+: /m);

    const session = await asking();
    const waits = await run(['send', session, 'Mail']);
    expect(waits.code).to.equal(4);
    expect(waits.err).to.include('mcp__mail__send waits for a person').and.include(`agent-session chat ${session}`);
    expect((await client.getSession(session)).status).to.equal('RUNNING');
    expect(await run(['cancel', session])).to.deep.include({ code: 0, err: '' });
    await service.ended(session);

    const slow = await service.session();
    const child = start(['send', slow, 'Slowly']);
    const ended = collect(child);
    await eventually('the turn streams', async () => (await client.getSession(slow)).status === 'RUNNING');
    child.kill('SIGINT');
    expect(await ended).to.deep.include({ code: 3 });
  });

  it('agent-session says what is right when it is used wrongly, and ends with 2', async () => {
    const wrong: [string[], RegExp, NodeJS.ProcessEnv?][] = [
      [['sed', 'Hello'], /`sed Hello` is no command.*chat, send, follow/],
      [['send', '--fiel', 'x', 'Hello'], /--fiel.*--file PATH/s],
      [['send'], /agent-session send \[SESSION\] TEXT\|-/],
      [['mcp', 'add', 'x'], /agent-session mcp add NAME URL/],
      [['sessions'], /--url URL, or set AGENT_SESSION_BASE_URL/, { AGENT_SESSION_BASE_URL: '' }],
      [['sessions'], /--key-file FILE, or set AGENT_SESSION_API_KEY/, { AGENT_SESSION_API_KEY: '' }],
      [['sessions', '--key-file', '/none'], /the key file \/none cannot be read: ENOENT/],
      [['sessions', '--url', 'localhost:8080'], /no address/],
      [['send', '--output-schema', '/none', 'Hello'], /\/none cannot be read/],
      [['send', '--file', '/none', 'Hello'], /\/none cannot be read/],
    ];
    for (const [args, reason, env = {}] of wrong) {
      const { code, out, err } = await run(args, { env });
      expect({ code, out }, err).to.deep.equal({ code: 2, out: '' });
      expect(err).to.match(reason);
    }
    for (const args of [['--help'], ['send', '--help'], ['mcp', 'add', '--help']]) {
      const { code, out } = await run(args);
      expect(code).to.equal(0);
      expect(out).to.include('--key KEY').and.include('Other users of this machine can see it');
    }
  });

  it('agent-session ends with 1 for an error of the service, and reads the key from a file', async () => {
    const refused = await run(['sessions', '--key', 'ask_wrong']);
    expect(refused).to.deep.include({ code: 1, out: '' });
    expect(refused.err).to.match(/^authentication_error: /);
    const file = join(folder, 'key');
    await writeFile(file, `${service.key}\n`);
    const env = { AGENT_SESSION_API_KEY: '', AGENT_SESSION_BASE_URL: '' };
    const session = await service.session();
    const listed = await run(['sessions', '--key-file', file, '--url', service.url], { env });
    expect(listed.code, listed.err).to.equal(0);
    expect(listed.out).to.match(new RegExp(`^${session}\tIDLE\t`, 'm'));
  });

  it('agent-session lists and changes what it names', async () => {
    const other = await run(['mcp', 'add', 'other', `${mcp.url}?other`]);
    expect(other.code, other.err).to.equal(0);
    expect((await run(['mcp', 'list'])).out)
      .to.match(/^mcp_\w+\tother\t/m)
      .and.match(/\tmail\t/);
    await run(['send', 'Hello']);
    const usage = await run(['usage', '--json']);
    expect(JSON.parse(usage.out.trim()), usage.err).to.have.property('input_tokens').above(0);
  });

  it('agent-session skills push replaces a skill by a folder or a package, and agents have sessions', async () => {
    const skill = join(folder, 'greeting');
    await mkdir(join(skill, 'texts'), { recursive: true });
    await writeFile(join(skill, 'SKILL.md'), '---\nname: greeting\ndescription: How to greet.\n---\nBe kind.\n');
    await writeFile(join(skill, 'texts', 'größe.txt'), 'Hello\n'.repeat(1000));
    await writeFile(join(skill, '.hidden'), 'x');
    const first = await run(['skills', 'push', skill]);
    expect(first.code, first.err).to.equal(0);
    const second = await run(['skills', 'push', '--json', skill]);
    const { id } = JSON.parse(second.out) as { id: string };
    const { items } = await client.listSkills();
    expect(items.map((one) => one.id)).to.deep.equal([id]);
    expect((await client.listSkillFiles(id)).items.map(({ path }) => path)).to.have.members([
      'SKILL.md',
      'texts/größe.txt',
    ]);
    expect(await (await client.skillContent(id, 'texts/größe.txt')).text()).to.equal('Hello\n'.repeat(1000));
    expect((await run(['skills', 'push', folder])).err).to.match(/has no SKILL\.md/);
    expect((await run(['skills', 'push', '/none'])).code).to.equal(2);

    const agent = await client.createAgent({ name: 'greeter', model_id: 'scripted', description: 'Greets.' });
    expect((await run(['agents'])).out).to.equal(`${agent.id}\tgreeter\tversion 1\tGreets.\n`);
    const sent = await run(['send', '--agent', agent.id, 'Hello']);
    expect(sent.code, sent.err).to.equal(0);
    const session = await client.getSession(/ses_\w+/.exec(sent.err)![0]);
    expect(session.agent).to.include({ id: agent.id, version: 1 });
  });

  it('agent-session follow shows the turns of a session to its deletion', async () => {
    const session = await service.session();
    const child = start(['follow', session]);
    const ended = collect(child);
    let shown = '';
    child.stdout!.on('data', (chunk) => (shown += String(chunk)));
    await service.run(session, 'Hello');
    await eventually('it shows the answer', () => shown.includes('Good day.\n'));
    await client.deleteSession(session);
    expect(await ended).to.deep.include({ code: 0, out: '> Hello\nGood day.\n' });
  });

  it('agent-session leaves an answer in a pipe as it is, and escapes what it writes on stderr', async () => {
    const answer = await run(['send', 'Evil']);
    expect(answer.out).to.equal(`A${ESC}[2Jb\u202ec\n\td\n`);
    const session = await asking();
    const waits = await run(['send', session, 'Mail']);
    expect(waits.err).to.not.include(ESC).and.not.include('\u202e');
    expect(waits.err).to.include('\\u202e');
    expect(visible('a\tb\nc\r\u0085\u2066')).to.equal('a\tb\nc\\u000d\\u0085\\u2066');
  });

  describe('in a pseudo terminal', () => {
    before(function () {
      if (spawnSync('script', ['-qec', 'true', '/dev/null'], { stdio: 'ignore' }).status !== 0)
        skip(this, 'the program script of util-linux is not here');
    });

    /** A terminal with the command in it. What is typed is answered to what it shows. */
    const terminal = (args: string[], env: NodeJS.ProcessEnv = {}) => {
      const command = [process.execPath, program, ...args].join(' ');
      const child = spawn('script', ['-qefc', command, '/dev/null'], {
        cwd: ROOT,
        env: {
          PATH: process.env.PATH,
          TERM: 'xterm',
          AGENT_SESSION_BASE_URL: service.url,
          AGENT_SESSION_API_KEY: service.key,
          ...env,
        },
      });
      let shown = '';
      child.stdout.on('data', (chunk) => (shown += String(chunk)));
      let from = 0;
      return {
        type: (keys: string) => child.stdin.write(keys),
        sees: async (what: string | RegExp): Promise<void> => {
          const find = (): number => {
            const rest = shown.slice(from);
            const found = typeof what === 'string' ? rest.indexOf(what) : rest.search(what);
            if (found >= 0) from += found + 1;
            return found;
          };
          await eventually(`the terminal shows ${what}`, () => find() >= 0, 30_000).catch((error: unknown) => {
            throw new Error(`${String(error)}\n${JSON.stringify(shown.slice(from))}`);
          });
        },
        shown: () => shown,
        ended: once(child, 'close').then(() => child.exitCode),
      };
    };

    it('agent-session chat shows text as it comes, and asks for approvals with name, title and whole input', async () => {
      const session = await asking();
      const screen = terminal(['chat', session]);
      await screen.sees('> ');
      screen.type('Hello\r');
      await screen.sees('Good day.');
      screen.type('Mail\r');
      await screen.sees('mcp__mail__send');
      await screen.sees('wants to run with');
      await screen.sees('\\u202e');
      await screen.sees('[y/n]');
      screen.type('maybe\r');
      await screen.sees('Answer y or n.');
      screen.type('y\r');
      await screen.sees('Sent.');
      screen.type('Evil\r');
      await screen.sees('A\\u001b[2Jb\\u202ec');
      await screen.sees('> ');
      screen.type('\u0004');
      expect(await screen.ended).to.equal(0);
      expect(screen.shown()).to.include(`${ESC}[33m`);
      expect(mcp.calls.filter(({ name }) => name === 'send')).to.have.length(1);
    });

    it('agent-session chat denies with n, and has no colours with NO_COLOR', async () => {
      const session = await asking();
      const screen = terminal(['chat', session], { NO_COLOR: '1' });
      await screen.sees('> ');
      screen.type('Mail\r');
      await screen.sees('[y/n]');
      screen.type('n\r');
      await screen.sees('Sent.');
      await screen.sees('> ');
      screen.type('\u0004');
      expect(await screen.ended).to.equal(0);
      // oxlint-disable-next-line no-control-regex -- the colours that it looks for
      expect(screen.shown()).to.not.match(/\u001b\[\d+m/);
      const [answer] = await service
        .history(session)
        .then((all) => all.filter(({ type }) => type === 'user.tool_confirmation'));
      expect(answer).to.include({ result: 'deny' });
    });

    it('agent-session chat fills in the form of a question', async () => {
      const session = await service.session({
        mcp_servers: [serverId],
        tools: [{ type: 'mcp_toolset', mcp_server_id: serverId, elicitation: true }],
      });
      const screen = terminal(['chat', session]);
      await screen.sees('> ');
      screen.type('Ask\r');
      await screen.sees('Which size?');
      await screen.sees('Answer it?');
      screen.type('y\r');
      await screen.sees('size [S/L]');
      screen.type('M\r');
      await screen.sees('That does not fit.');
      screen.type('L\r');
      await screen.sees('How many');
      screen.type('2\r');
      await screen.sees('gift [y/n], or nothing');
      screen.type('y\r');
      await screen.sees('note, or nothing');
      screen.type('\r');
      await screen.sees('Ordered.');
      await screen.sees('> ');
      screen.type('\u0004');
      expect(await screen.ended).to.equal(0);
      const result = (await service.history(session)).find(({ type }) => type === 'user.elicitation_result');
      expect(result).to.deep.include({ action: 'accept', content: { size: 'L', count: 2, gift: true } });
    });

    it('agent-session chat shows the address of a question, and sends what the person says', async () => {
      for (const [answer, action] of [
        ['y', 'accept'],
        ['n', 'decline'],
      ]) {
        const session = await service.session({
          mcp_servers: [serverId],
          tools: [{ type: 'mcp_toolset', mcp_server_id: serverId, elicitation: true }],
        });
        const screen = terminal(['chat', session]);
        await screen.sees('> ');
        screen.type('Pay\r');
        await screen.sees('mcp__mail__pay asks: Please pay.');
        await screen.sees(`Open ${PAGE}`);
        await screen.sees('Done? [y/n]');
        screen.type(`${answer}\r`);
        await screen.sees('Thank you.');
        await screen.sees('> ');
        screen.type('\u0004');
        expect(await screen.ended).to.equal(0);
        const result = (await service.history(session)).find(({ type }) => type === 'user.elicitation_result');
        expect(result).to.include({ action });
      }
    });

    it('agent-session chat shows where the user logs in, also for an agent that was called, and goes on by itself', async () => {
      const server = await client.registerMcpServer({
        name: 'accounts',
        url: accounts.mcp.url,
        auth: { type: 'OAUTH' },
        credentials: 'user',
      });
      const agent = await client.createAgent({ name: 'reader', model_id: 'scripted', mcp_servers: [server.id] });
      const consent = async (address: string): Promise<void> => {
        const callback = await accounts.consent(address);
        expect((await fetch(`${service.url}${callback.pathname}${callback.search}`)).status).to.equal(200);
      };
      // The first login lists the tools of the server.
      const first = await service.session({ user: 'ada', mcp_servers: [server.id] });
      await consent((await client.authorizeSession(first, { mcp_server_id: server.id })).authorization_url);
      const own = await service.session({ user: 'ben', mcp_servers: [server.id] });
      const parent = await service.session({ user: 'cem', tools: [{ type: 'agent', agent_id: agent.id }] });
      for (const [session, content, last] of [
        [own, 'Read', 'Read.'],
        [parent, 'Delegate', 'It was read.'],
      ] as const) {
        const screen = terminal(['chat', session], { NO_COLOR: '1' });
        await screen.sees('> ');
        screen.type(`${content}\r`);
        await screen.sees(/mcp__accounts__read waits for a login\. Open https?:\S+\r/);
        await consent(/waits for a login\. Open (\S+)\r/.exec(screen.shown())![1]!);
        await screen.sees(`\n${last}`);
        await screen.sees('> ');
        screen.type('\u0004');
        expect(await screen.ended).to.equal(0);
      }
      expect(accounts.calls).to.have.length(2);
    });

    it('agent-session chat says that a budget is reached, and goes on when it is raised', async () => {
      const session = await service.session({ budget: budget('0.5', 'pause'), thinking_enabled: false });
      const screen = terminal(['chat', session]);
      await screen.sees('> ');
      screen.type('Spend\r');
      await screen.sees('The budget of 0.5 USD is too small');
      await client.updateSession(session, { budget: budget('5', 'pause') });
      await screen.sees('All.');
      await screen.sees('> ');
      await client.updateSession(session, { budget: budget('0.31', 'stop') });
      screen.type('Spend\r');
      await screen.sees('The turn ended early: budget_reached');
      await screen.sees('> ');
      screen.type('\u0004');
      expect(await screen.ended).to.equal(0);
    });

    it('agent-session chat cancels the turn with Ctrl-C, and leaves with a second one', async () => {
      const session = await service.session();
      const screen = terminal(['chat', session]);
      await screen.sees('> ');
      screen.type('Slowly\r');
      await screen.sees('one two');
      screen.type('\u0003');
      await screen.sees('The turn was cancelled.');
      screen.type('Hello\r');
      await screen.sees('Good day.');
      await screen.sees('> ');
      screen.type('\u0003');
      expect(await screen.ended).to.equal(0);
      expect((await client.getSession(session)).status).to.equal('COMPLETE');
    });

    it('agent-session chat goes on with a turn that is open, and asks what it waits for', async () => {
      const session = await asking();
      await service.send(session, 'Mail');
      await eventually('it waits', async () => (await client.getSession(session)).required_actions.length === 1);
      const screen = terminal(['chat', session]);
      await screen.sees('[y/n]');
      screen.type('y\r');
      await screen.sees('Sent.');
      await screen.sees('> ');
      screen.type('\u0004');
      expect(await screen.ended).to.equal(0);
    });
  });
});
