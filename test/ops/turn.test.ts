import { expect } from 'chai';
import { UsageError } from '../../ops/command.js';
import { runTurn } from '../../ops/turn.js';
import { startMcpServer } from '../support/mcp-server.js';
import { budget, PRICE } from '../support/money.js';
import { failure, message, text, toolUse, wait } from '../support/scripted-model.js';
import { startTurnService, type TurnService } from '../support/turns.js';
import { requiredActions } from '../support/waiting-turns.js';
import { useTurnService } from '../support/use.js';
import { runWritten } from './written.js';

const SECRET = 'SECRET';
const tool = { type: 'custom', name: 'ask', description: 'Asks.', input_schema: { type: 'object' } };

describe('npm run turn', () => {
  const service = useTurnService({ model: { price: PRICE } });
  afterEach(() => service.model.reset());

  const show = (of: TurnService, ...args: string[]) =>
    runWritten(() => runTurn(['show', ...args], of.config.databaseUrl));
  /** The lines of each section. */
  const sectionsOf = (out: string): Record<string, string[]> =>
    Object.fromEntries(
      out
        .trimEnd()
        .split('\n\n')
        .map((section) => section.split('\n'))
        .map(([title, ...lines]) => [title!, lines.map((line) => line.trim())]),
    );

  it('npm run turn shows a turn that runs, with the worker that has it, and no content', async () => {
    const gate = service.model.gate();
    const [worker] = service.workers;
    service.model.reply([text(SECRET), toolUse('list_files', { path: SECRET }, { id: 'toolu_1' })]);
    service.model.reply([text('Done', { before: { 0: wait(gate) } })]);
    const sessionId = await service.session();
    const turnId = await service.send(sessionId, SECRET);
    await gate.reached;
    const { code, out } = await show(service, turnId);
    expect(code).to.equal(0);
    expect(out).to.not.contain(SECRET);
    const shown = sectionsOf(out);
    expect(shown.Turn!.map((line) => line.split(/ {2,}/))).to.deep.include.members([
      ['id', turnId],
      ['session_id', sessionId],
      ['project', 'demo'],
      ['model_id', 'scripted'],
      ['state', 'running'],
      ['model_calls', '2'],
    ]);
    expect(shown['Time line']!.slice(0, 4).map((line) => line.replace(/^\+ *[\d.]+ s +[\d.]+ s {2}/, ''))).to.include(
      'queued',
    );
    const parts = shown['Time line']!.filter((line) => !line.includes('between')).join('\n');
    expect(parts).to.match(/^\+ *\d+\.\d{3} s {2,}\d+\.\d{3} s {2}model call of step 1$/m);
    expect(parts)
      .to.match(/ {2}list_files of step 1 {2}failed$/m)
      .and.match(/ {2}model call of step 2 {2}running$/m);
    expect(shown['Time line']!.at(-1)).to.match(/^largest gap: /);
    expect(shown['Model calls']).to.have.length(2);
    expect(shown['Model calls']![0]).to.match(/^step 1 {2}msg_\w+ {2}\S+Z … \S+Z {2}ended {2}\S+/);
    expect(shown['Model calls']![1]).to.match(/^step 2 {2}msg_\w+ {2}\S+Z … {2}under way, or lost {2}\S+/);
    expect(shown['Tool calls']).to.have.length(1);
    expect(shown['Tool calls']![0]).to.match(/^step 1\.0 {2}toolu_1 {2}list_files {2}\S+Z … \S+Z {2}done/);
    expect(shown.Events!.map((line) => line.split(/ +/)[2])).to.deep.equal([
      'user.message',
      'agent.message',
      'agent.tool_use',
      'agent.tool_result',
    ]);
    const history = await service.history(sessionId);
    expect(shown.Events!.map((line) => line.split(/ +/)[1])).to.deep.equal(history.map((event) => event.created_at));
    const workflow = shown.Workflow!.join('\n');
    expect(workflow)
      .to.match(new RegExp(`^id +${turnId}$`, 'm'))
      .and.match(/^run_id +[0-9a-f-]{36}$/m)
      .and.match(/^status +RUNNING$/m)
      .and.match(/^activity \S+ {2}callModel {2}started {2}attempt 1 {2}\S+$/m);
    const [now] = shown['Workers that have it now']!;
    expect(now).to.match(/ {2}lease until \S+Z$/);
    expect(workflow).to.contain(now!.split('  ')[0]);
    expect(worker).to.not.equal(undefined);
    gate.open();
    await service.ended(sessionId);
    const after = sectionsOf((await show(service, turnId)).out);
    expect(after.Turn!.join('\n')).to.match(/^state +completed$/m);
    expect(after['Workers that have it now']).to.deep.equal(['none']);
  });

  it('npm run turn shows content when it is asked for, and what a turn waits for', async () => {
    service.model.reply(message([text(SECRET), toolUse('ask', { question: SECRET }, { id: 'toolu_2' })]));
    const sessionId = await service.session({ tools: [tool] });
    const stream = await service.stream(sessionId);
    const turnId = await service.send(sessionId, SECRET);
    await stream.until(({ event }) => event === 'agent.requires_action');
    stream.close();
    const without = await show(service, turnId);
    expect(without.out).to.not.contain(SECRET);
    expect(sectionsOf(without.out)['Tool calls']![0]).to.contain('toolu_2  ask  pending  answer open');
    expect(sectionsOf(without.out)['Waits for']).to.have.length(1);
    expect(sectionsOf(without.out)['Waits for']![0]).to.match(
      /^custom_tool_result {2}step 1\.0 {2}since \S+Z {2}expires \S+Z$/,
    );
    for (const when of ['queue', 'steer', 'queue'])
      await service.api('POST', `/v1/sessions/${sessionId}/messages`, { content: SECRET, when_running: when });
    const waiting = await show(service, turnId);
    expect(waiting.out).to.not.contain(SECRET);
    expect(sectionsOf(waiting.out)['Messages that wait']!.map((line) => line.split('  ')[0])).to.deep.equal([
      '1 for the next model call',
      '2 for later turns',
    ]);
    const shown = sectionsOf((await show(service, turnId, '--content')).out);
    expect(shown.Events![0]).to.contain(`"content":"${SECRET}"`);
    expect(shown['Tool calls']![0]).to.contain(`{"question":"${SECRET}"}`);
    await service.cancel(sessionId);
  });

  it('npm run turn shows that a turn waits for a larger budget, and why a turn failed', async () => {
    const sessionId = await service.session({ budget: budget('0.1', 'pause') });
    const turnId = await service.send(sessionId, SECRET);
    await requiredActions(service, sessionId);
    expect(sectionsOf((await show(service, turnId)).out)['Waits for']![0]).to.match(
      /^budget {2}step 1 {2}since \S+Z {2}expires \S+Z$/,
    );
    service.model.reply(failure('invalid_request_error', { message: SECRET }));
    await service.api('PATCH', `/v1/sessions/${sessionId}`, { budget: null });
    await service.ended(sessionId);
    const failed = await show(service, turnId);
    expect(failed.out).to.not.contain(SECRET);
    expect(sectionsOf(failed.out).Turn!.join('\n')).to.match(/^error +model_error$/m);
    expect(sectionsOf(failed.out)['Model calls']!.at(-1)).to.contain('  model_error  HTTP 400  ');
    expect(sectionsOf((await show(service, turnId, '--content')).out).Turn!.join('\n')).to.contain(SECRET);
  });

  it('npm run turn shows the tasks and questions of MCP servers', async () => {
    const mcp = await startMcpServer({
      tasks: true,
      tools: [
        {
          name: 'build',
          pollInterval: 2000,
          task: async ({ update, ask }) => {
            await update('input_required', SECRET);
            await ask({ mode: 'url', message: SECRET, elicitationId: 'p1', url: `https://pay.example.com/${SECRET}` });
          },
        },
      ],
    });
    const asking = await startTurnService({ config: { mcpAllowedHosts: [mcp.host] } });
    try {
      const { body } = await asking.api('POST', '/v1/mcp-servers', { name: 'ops', url: mcp.url });
      asking.model.reply([toolUse('mcp__ops__build', {}, { id: 'toolu_3' })]);
      const sessionId = await asking.session({
        mcp_servers: [body.id],
        tools: [{ type: 'mcp_toolset', mcp_server_id: body.id, elicitation: true }],
      });
      const turnId = await asking.send(sessionId, 'Go');
      const [{ elicitation_id: id }] = await requiredActions(asking, sessionId);
      const { out } = await show(asking, turnId);
      expect(out).to.not.contain(SECRET);
      const { Tasks, Questions } = sectionsOf(out);
      expect(Tasks).to.have.length(1);
      expect(Tasks![0]).to.match(
        /^step 1\.0 {2}mcp_\w+ {2}\S+Z … {2}server says input_required {2}open {2}asked for every 2 s$/,
      );
      expect(Questions).to.have.length(1);
      expect(Questions![0]).to.match(new RegExp(`^step 1\\.0 {2}${id} {2}url {2}\\S+Z {2}open {2}expires \\S+Z$`));
      const shown = sectionsOf((await show(asking, turnId, '--content')).out);
      expect(shown.Tasks![0]).to.contain(`"message":"${SECRET}"`);
      expect(shown.Questions![0]).to.contain(`"url":"https://pay.example.com/${SECRET}"`);
      await asking.api('POST', `/v1/sessions/${sessionId}/cancel`);
      await asking.ended(sessionId);
      const after = sectionsOf((await show(asking, turnId)).out);
      expect(after.Questions![0]).to.match(/ {2}cancelled$/);
    } finally {
      await asking.close();
      await mcp.close();
    }
  });

  it('npm run turn reports a workflow that Temporal does not have', async () => {
    const idle = await startTurnService({ workers: 0 });
    try {
      const sessionId = await idle.session();
      const turnId = await idle.send(sessionId, 'Go');
      await idle.db.query(`UPDATE turns SET id = 'turn_unknown' WHERE id = $1`, [turnId]);
      const { code, out } = await show(idle, 'turn_unknown');
      expect(code).to.equal(0);
      expect(out).to.contain('has no workflow turn_unknown');
    } finally {
      await idle.close();
    }
  });

  it('npm run turn fails for a turn that does not exist, and for wrong arguments', async () => {
    expect(await show(service, 'turn_none')).to.deep.equal({ code: 1, out: '', err: 'There is no turn turn_none.\n' });
    for (const args of [[], ['list'], ['show'], ['show', 'a', 'b'], ['show', 'a', '--all']]) {
      const error = await runTurn(args, service.config.databaseUrl).catch((thrown: unknown) => thrown);
      expect(error, args.join(' ')).to.be.instanceOf(UsageError);
    }
  });
});
