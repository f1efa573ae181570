import { expect } from 'chai';
import {
  lastAssistantMessageIsCompleteWithApprovalResponses,
  lastAssistantMessageIsCompleteWithToolCalls,
  type UIMessage,
} from 'ai';
import { kindsOf, openAnswering, openChat, shownParts, textOf, type ChatPage } from '../../support/chat.js';
import { eventually } from '../../support/eventually.js';
import { cut, failure, message, steps, text, thinking, toolUse, wait } from '../../support/scripted-model.js';
import { newToken, signToken } from '../../support/tokens.js';
import { AgentSessionClient } from '../../../client/src/index.js';
import { expectAcceptedRequests, useRegisteredMcp } from '../../support/use.js';
import { confirmation, customResult, askingTools, requiredActions, sendAnswers } from '../../support/waiting-turns.js';

const use = (name: string, id: string, input: object = {}) => toolUse(name, input as Record<string, unknown>, { id });

/** docs/decisions.md "Front ends" with the packages `ai` and `@ai-sdk/react`. */
describe('a chat of the AI SDK', function () {
  this.timeout(20_000);
  const { service, registered } = useRegisteredMcp('mail', { tools: ['send', 'search'].map((name) => ({ name })) });
  expectAcceptedRequests(service);

  const session = (more: object = {}): Promise<string> =>
    service.session({
      mcp_servers: [registered.id],
      tools: askingTools(registered.id),
      ...more,
    });
  const statusOf = async (id: string): Promise<string> => (await service.api('GET', `/v1/sessions/${id}`)).body.status;
  const autoSend = {
    sendAutomaticallyWhen: (state: { messages: UIMessage[] }) =>
      lastAssistantMessageIsCompleteWithApprovalResponses(state) || lastAssistantMessageIsCompleteWithToolCalls(state),
  };
  /** After a reload the page shows the same. */
  const expectSameAfterReload = async (page: ChatPage, id: string): Promise<void> => {
    const { chat } = await openChat(service, id, { isLoaded: true });
    expect(shownParts(chat.messages.at(-1)!)).to.deep.equal(shownParts(page.chat.messages.at(-1)!));
    expect(chat.messages.at(-1)!.id).to.equal(page.chat.messages.at(-1)!.id);
  };

  it('a chat of the AI SDK shows a turn: one message with the id of the turn, thinking and text as they come, and how it ended', async () => {
    const gate = service.model.gate();
    service.model.reply([thinking('Let me think.'), text('Two '), wait(gate), text('orders.')]);
    const id = await session();
    const page = await openChat(service, id);
    const sent = page.chat.sendMessage({ text: 'Which orders?' });
    await eventually('text shows', () => textOf(page.chat.messages.at(-1)).startsWith('Two'));
    const streaming = page.chat.messages.at(-1)!;
    expect(streaming.parts.map((part) => ('state' in part ? part.state : null))).to.deep.equal([
      null,
      'done',
      'streaming',
    ]);
    gate.open();
    await sent;
    const turnId = (await service.history(id))[0].turn_id as string;
    const [asked, answer] = page.chat.messages;
    expect([page.chat.status, page.chat.messages.length, asked!.role, answer!.id]).to.deep.equal([
      'ready',
      2,
      'user',
      turnId,
    ]);
    expect(kindsOf(answer!)).to.deep.equal(['step-start', 'reasoning', 'text']);
    expect(answer!.metadata).to.deep.include({ turnId, stopReason: 'end_turn' });
    await expectSameAfterReload(page, id);
  });

  it('a chat of the AI SDK sends a message once, whatever is retried', async () => {
    service.model.reply('Once.');
    const id = await session();
    const page = await openChat(service, id);
    const messages: UIMessage[] = [{ id: 'msg-1', role: 'user', parts: [{ type: 'text', text: 'Hello' }] }];
    const send = () =>
      page.transport.sendMessages({
        trigger: 'submit-message',
        chatId: id,
        messageId: undefined,
        messages,
        abortSignal: undefined,
      });
    for await (const _ of await send()) void _;
    const again = [];
    for await (const chunk of await send()) again.push(chunk.type);
    expect(again.at(-1)).to.equal('finish');
    expect((await service.history(id)).filter(({ type }) => type === 'user.message')).to.have.length(1);
  });

  it('a chat of the AI SDK uploads files with content, attaches those of the service, and refuses other addresses', async () => {
    service.model.on(/Look/, 'Seen.');
    const id = await session();
    const token = await newToken(service, id);
    const page = await openChat(service, id, { apiKey: token });
    const data = (part: object) => ({ type: 'file' as const, mediaType: 'text/plain', url: '', ...part });
    await page.chat.sendMessage({
      text: 'Look',
      files: [
        data({ filename: 'a.txt', url: `data:text/plain;base64,${btoa('a,b')}` }),
        data({ url: 'data:text/plain,caf%C3%A9%20au' }),
      ],
    });
    expect(page.errors).to.deep.equal([]);
    const [first] = await service.history(id);
    expect(first.files.map(({ filename }: { filename: string }) => filename)).to.deep.equal(['a.txt', 'file-2.txt']);
    const { url } = (await service.api('GET', `/v1/files/${first.files[1].id}/link`)).body;
    expect(await (await fetch(url)).text()).to.equal('café au');

    const loaded = await openChat(service, id, { apiKey: token, isLoaded: true });
    const attached = loaded.chat.messages[0]!.parts[0] as { type: 'file'; providerReference: object };
    expect(attached.providerReference).to.deep.equal({ 'agent-session': first.files[0].id });
    await page.chat.sendMessage({
      text: 'Look again',
      files: [data({ providerReference: attached.providerReference })],
    });
    expect((await service.history(id)).filter(({ type }) => type === 'user.message')[1].files[0].id).to.equal(
      first.files[0].id,
    );
    await page.chat.sendMessage({ text: 'Look', files: [data({ url: 'https://example.com/a.txt' })] });
    expect(page.errors.map(({ message: said }) => said)).to.have.length(1);
    expect(page.errors[0]!.message).to.include('data: URL');
  });

  it('a chat of the AI SDK asks for approval, posts the answer, and goes on in the same message', async () => {
    service.model.on(
      /Go/,
      steps(message([text('I send it.'), use('mcp__mail__send', 'toolu_1', { to: 'ada' })]), 'Sent.'),
    );
    const id = await session();
    const page = await openChat(service, id, autoSend);
    await page.chat.sendMessage({ text: 'Go' });
    expect(kindsOf(page.chat.messages.at(-1)!)).to.deep.equal([
      'step-start',
      'text',
      'dynamic-tool:approval-requested',
    ]);
    await page.chat.addToolApprovalResponse({ id: 'toolu_1', approved: true });
    await eventually('it goes on', () => textOf(page.chat.messages.at(-1)) === 'I send it.|Sent.');
    await page.until('ready');
    expect(kindsOf(page.chat.messages.at(-1)!)).to.deep.equal([
      'step-start',
      'text',
      'dynamic-tool:output-available',
      'step-start',
      'text',
    ]);
    expect(page.errors).to.deep.equal([]);
    await expectSameAfterReload(page, id);
  });

  it('a chat of the AI SDK denies with a reason', async () => {
    service.model.on(/Go/, steps(message([use('mcp__mail__send', 'toolu_1')]), 'Not sent.'));
    const id = await session();
    const page = await openChat(service, id, autoSend);
    await page.chat.sendMessage({ text: 'Go' });
    await page.chat.addToolApprovalResponse({ id: 'toolu_1', approved: false, reason: 'Not now.' });
    await eventually('it goes on', () => textOf(page.chat.messages.at(-1)) === 'Not sent.');
    expect(kindsOf(page.chat.messages.at(-1)!)[1]).to.equal('dynamic-tool:output-denied');
    const answer = (await service.history(id)).find(({ type }) => type === 'user.tool_confirmation');
    expect(answer).to.include({ result: 'deny', deny_message: 'Not now.' });
    await page.until('ready');
    await expectSameAfterReload(page, id);
  });

  it('a chat of the AI SDK runs custom tools on the page, keeps its own result, and sends it as text', async () => {
    service.model.on(/Go/, steps(message([use('get_weather', 'toolu_1', { city: 'Oslo' })]), 'Cold.'));
    const id = await session();
    const page: ChatPage = await openChat(service, id, {
      ...autoSend,
      onToolCall: ({ toolCall }) => {
        void page.chat.addToolOutput({
          tool: toolCall.toolName as never,
          toolCallId: toolCall.toolCallId,
          output: { degrees: -3 },
        });
      },
    });
    await page.chat.sendMessage({ text: 'Go' });
    await eventually('it goes on', () => textOf(page.chat.messages.at(-1)) === 'Cold.');
    await page.until('ready');
    const part = page.chat.messages.at(-1)!.parts[1];
    expect(part).to.deep.include({ state: 'output-available', output: { degrees: -3 } });
    const result = (await service.history(id)).find(({ type }) => type === 'user.custom_tool_result');
    expect(result).to.include({ content: '{"degrees":-3}', is_error: false });
  });

  it('a chat of the AI SDK reports the error of a custom tool', async () => {
    service.model.on(/Go/, steps(message([use('get_weather', 'toolu_1')]), 'Unknown.'));
    const id = await session();
    const page = await openChat(service, id, autoSend);
    await page.chat.sendMessage({ text: 'Go' });
    await page.chat.addToolOutput({
      state: 'output-error',
      tool: 'get_weather' as never,
      toolCallId: 'toolu_1',
      errorText: 'No network.',
    });
    await eventually('it goes on', () => textOf(page.chat.messages.at(-1)) === 'Unknown.');
    const result = (await service.history(id)).find(({ type }) => type === 'user.custom_tool_result');
    expect(result).to.include({ content: 'No network.', is_error: true });
  });

  it('a chat of the AI SDK waits for all answers of a step with both kinds', async () => {
    service.model.on(
      /Go/,
      steps(
        message([
          use('mcp__mail__send', 'toolu_1'),
          use('get_weather', 'toolu_2'),
          use('mcp__mail__search', 'toolu_3'),
        ]),
        'Done.',
      ),
    );
    const id = await session();
    const page = await openChat(service, id);
    await page.chat.sendMessage({ text: 'Go' });
    expect(kindsOf(page.chat.messages.at(-1)!)).to.deep.equal([
      'step-start',
      'dynamic-tool:approval-requested',
      'dynamic-tool:input-available',
      'dynamic-tool:output-available',
    ]);
    await page.chat.addToolOutput({ tool: 'get_weather' as never, toolCallId: 'toolu_2', output: 'Cold.' });
    await page.chat.sendMessage();
    expect(await requiredActions(service, id)).to.have.length(1);
    await page.chat.addToolApprovalResponse({ id: 'toolu_1', approved: true });
    await page.chat.sendMessage();
    expect(textOf(page.chat.messages.at(-1))).to.equal('Done.');
    expect(page.errors).to.deep.equal([]);
    await expectSameAfterReload(page, id);
  });

  it('a chat of the AI SDK shows the wait of a page that was loaded again, and takes its answer', async () => {
    service.model.on(/Go/, steps(message([text('First.'), use('mcp__mail__send', 'toolu_1')]), 'Sent.'));
    const id = await session();
    await service.send(id, 'Go');
    await requiredActions(service, id);
    const page = await openChat(service, id, { ...autoSend, isLoaded: true });
    await page.chat.resumeStream();
    expect(page.chat.messages.map(({ role }) => role)).to.deep.equal(['user', 'assistant']);
    await page.chat.addToolApprovalResponse({ id: 'toolu_1', approved: true });
    await eventually('it goes on', () => textOf(page.chat.messages.at(-1)) === 'First.|Sent.');
    expect(page.chat.messages).to.have.length(2);
    await page.until('ready');
    await expectSameAfterReload(page, id);
  });

  it('a chat of the AI SDK follows when another client answers: nothing is missing, nothing twice', async () => {
    service.model.on(/Go/, steps(message([text('First.'), use('mcp__mail__send', 'toolu_1')]), 'Sent.'));
    const id = await session();
    const [one, two] = [await openChat(service, id, autoSend), await openChat(service, id, autoSend)];
    await one.chat.sendMessage({ text: 'Go' });
    await two.chat.resumeStream();
    expect(kindsOf(two.chat.messages.at(-1)!).at(-1)).to.equal('dynamic-tool:approval-requested');
    await sendAnswers(service, id, [confirmation('toolu_1', 'deny', 'No.')]);
    await service.ended(id);
    // This tab is late: the call is closed, and what happened since is shown.
    await two.chat.addToolApprovalResponse({ id: 'toolu_1', approved: true });
    await eventually('the late tab has it', () => textOf(two.chat.messages.at(-1)) === 'First.|Sent.');
    await two.until('ready');
    expect(two.errors).to.deep.equal([]);
    expect(kindsOf(two.chat.messages.at(-1)!)[2]).to.equal('dynamic-tool:output-denied');
    await one.chat.resumeStream();
    await expectSameAfterReload(one, id);
  });

  it('a chat of the AI SDK does not stop a replay at waits that were answered', async () => {
    service.model.on(
      /Go/,
      steps(message([use('mcp__mail__send', 'toolu_1')]), message([use('get_weather', 'toolu_2')]), 'Done.'),
    );
    const id = await session();
    await service.send(id, 'Go');
    await requiredActions(service, id);
    await sendAnswers(service, id, [confirmation('toolu_1', 'allow')]);
    await eventually('it waits again', async () => (await requiredActions(service, id))[0].tool_use_id === 'toolu_2');
    const page = await openChat(service, id, autoSend);
    await page.chat.resumeStream();
    expect(kindsOf(page.chat.messages.at(-1)!)).to.deep.equal([
      'step-start',
      'dynamic-tool:output-available',
      'step-start',
      'dynamic-tool:input-available',
    ]);
    await sendAnswers(service, id, [customResult('toolu_2', 'Cold.')]);
    await service.ended(id);
    await page.chat.resumeStream();
    expect(textOf(page.chat.messages.at(-1))).to.equal('Done.');
    expect(page.errors).to.deep.equal([]);
  });

  it('a chat of the AI SDK ends at once when there is nothing to say', async () => {
    service.model.reply('Hello.');
    const id = await session();
    const page = await openChat(service, id);
    await page.chat.sendMessage({ text: 'Hi' });
    const before = shownParts(page.chat.messages.at(-1)!);
    await page.chat.sendMessage();
    expect([page.chat.status, page.errors]).to.deep.equal(['ready', []]);
    expect(shownParts(page.chat.messages.at(-1)!)).to.deep.equal(before);
  });

  it('a chat of the AI SDK stops: the turn is cancelled, and the next message can be sent at once', async () => {
    const id = await session();
    const { page, sent, gate } = await openAnswering(service, id);
    service.model.reply('Again.');
    await page.chat.stop();
    await sent;
    await page.chat.sendMessage({ text: 'And now?' });
    expect(page.errors).to.deep.equal([]);
    expect(textOf(page.chat.messages.at(-1))).to.equal('Again.');
    expect((await service.history(id)).some(({ type }) => type === 'turn.cancelled')).to.equal(true);
    gate.open();
  });

  it('a chat of the AI SDK stops a resumed stream too, but not before it has shown anything', async () => {
    const gate = service.model.gate();
    service.model.reply([text('Begun.'), wait(gate)]);
    const id = await session();
    await service.send(id, 'Go');
    const page = await openChat(service, id);
    const first = page.chat.resumeStream();
    await page.chat.stop();
    await first;
    expect(await statusOf(id)).to.equal('RUNNING');
    const second = page.chat.resumeStream();
    await eventually('text shows', () => textOf(page.chat.messages.at(-1)) === 'Begun.');
    await page.chat.stop();
    await second;
    expect(await service.ended(id)).to.include({ type: 'turn.cancelled' });
    gate.open();
  });

  it('a chat of the AI SDK only leaves with cancelOnAbort: false', async () => {
    const id = await session();
    const { page, sent, gate } = await openAnswering(service, id, {
      then: [text(' Done.')],
      transport: { cancelOnAbort: false },
    });
    await page.chat.stop();
    await sent;
    gate.open();
    expect(await service.ended(id)).to.include({ type: 'turn.completed' });
    await page.chat.resumeStream();
    expect(textOf(page.chat.messages.at(-1))).to.equal('Begun. Done.');
  });

  it('a chat of the AI SDK cancels a turn that waits by transport.cancel, and its calls are closed', async () => {
    service.model.on(/Go/, steps(message([use('mcp__mail__send', 'toolu_1')]), 'Sent.'));
    const id = await session();
    const page = await openChat(service, id, autoSend);
    await page.chat.sendMessage({ text: 'Go' });
    await page.transport.cancel(id);
    service.model.on(/And now/, 'Fine.');
    await page.chat.sendMessage({ text: 'And now?' });
    expect(page.errors).to.deep.equal([]);
    const { chat } = await openChat(service, id, { isLoaded: true });
    expect(kindsOf(chat.messages[1]!)).to.deep.equal(['step-start', 'dynamic-tool:output-error', 'step-start']);
  });

  it('a chat of the AI SDK shows a failure as an error', async () => {
    service.model.on(/Go/, failure('invalid_request_error'));
    const id = await session();
    const page = await openChat(service, id);
    await page.chat.sendMessage({ text: 'Go' });
    const end = await service.ended(id);
    expect(end.type).to.equal('turn.failed');
    expect([page.chat.status, page.errors[0]!.message]).to.deep.equal(['error', end.error.message]);
  });

  it('a chat of the AI SDK drops what a model call showed that is made again', async () => {
    service.model.reply([text('Wrong begin'), cut()], 'Right.');
    const id = await session();
    const page = await openChat(service, id);
    await page.chat.sendMessage({ text: 'Go' });
    expect(textOf(page.chat.messages.at(-1))).to.equal('Right.');
    await expectSameAfterReload(page, id);
  });

  it('a chat of the AI SDK shows messages that steer', async () => {
    const gate = service.model.gate();
    service.model.on(/Go/, steps([text('First.'), wait(gate), use('mcp__mail__search', 'toolu_1')], 'In red.'));
    const id = await session();
    const page = await openChat(service, id);
    const sent = page.chat.sendMessage({ text: 'Go' });
    await eventually('text shows', () => textOf(page.chat.messages.at(-1)).startsWith('First.'));
    const { event } = { event: await service.send(id, 'Also in red', { when_running: 'steer' }) };
    expect(event).to.match(/^turn_/);
    gate.open();
    await sent;
    expect(kindsOf(page.chat.messages.at(-1)!)).to.deep.equal([
      'step-start',
      'text',
      'dynamic-tool:output-available',
      'steering-message',
      'step-start',
      'text',
    ]);
    await expectSameAfterReload(page, id);
  });

  it('a chat of the AI SDK shows files that the agent delivers', async () => {
    service.model.on(
      /Go/,
      steps(message([use('deliver_file', 'toolu_1', { filename: 'a.txt', content: 'hello' })]), 'Delivered.'),
    );
    const id = await session();
    const page = await openChat(service, id);
    await page.chat.sendMessage({ text: 'Go' });
    const part = page.chat.messages.at(-1)!.parts.find(({ type }) => type === 'data-file') as { data: object };
    expect(part.data).to.include({ filename: 'a.txt', size_bytes: 5 });
    await expectSameAfterReload(page, id);
  });

  it('a chat of the AI SDK has no stream to resume without a turn, or when the last one ended long ago', async () => {
    const id = await session();
    const page = await openChat(service, id);
    expect(await page.transport.reconnectToStream({ chatId: id })).to.equal(null);
    service.model.reply('Hello.');
    await service.run(id, 'Hi');
    const stream = await page.transport.reconnectToStream({ chatId: id });
    expect(stream).to.not.equal(null);
    await stream!.cancel();
    await service.db.query(`UPDATE turns SET ended_at = ended_at - interval '2 minutes' WHERE session_id = $1`, [id]);
    await service.db.query(`UPDATE events SET created_at = created_at - interval '2 minutes' WHERE session_id = $1`, [
      id,
    ]);
    expect(await page.transport.reconnectToStream({ chatId: id })).to.equal(null);
  });

  it('a chat of the AI SDK regenerates and edits in a fork, which the page is told of', async () => {
    service.model.on(/One/, 'Answer.');
    const id = await session();
    await service.run(id, 'One');
    const forks: string[] = [];
    const page = await openChat(service, id, {
      isLoaded: true,
      transport: { onFork: ({ chatId, session: fork }) => void forks.push(chatId, fork.id) },
    });
    await page.chat.regenerate();
    expect(page.errors).to.deep.equal([]);
    expect(forks[0]).to.equal(id);
    expect(page.chat.messages.map(textOf)).to.deep.equal(['One', 'Answer.']);
    expect((await service.history(id)).filter(({ type }) => type === 'user.message')).to.have.length(1);
    service.model.on(/Two/, 'Other.');
    await page.chat.sendMessage({ text: 'Two', messageId: page.chat.messages[0]!.id });
    expect(page.errors).to.deep.equal([]);
    expect(page.chat.messages.map(textOf)).to.deep.equal(['Two', 'Other.']);
    expect(new Set(forks).size).to.equal(3);
  });

  it('a chat of the AI SDK is edited and regenerated at any place, in forks of forks', async () => {
    service.model.on(/./, ({ userText }) => text(`To ${userText}`));
    const id = await session();
    await service.run(id, 'A');
    await service.run(id, 'B');
    const page = await openChat(service, id, { isLoaded: true, transport: { onFork: () => {} } });
    const texts = (): string[] => page.chat.messages.map(textOf);
    const edit = (index: number, content: string): Promise<void> =>
      page.chat.sendMessage({ text: content, messageId: page.chat.messages[index]!.id });
    await page.chat.sendMessage({ text: 'C' });
    await page.chat.regenerate();
    expect(texts()).to.deep.equal(['A', 'To A', 'B', 'To B', 'C', 'To C']);
    await page.chat.regenerate({ messageId: page.chat.messages[3]!.id });
    expect(texts()).to.deep.equal(['A', 'To A', 'B', 'To B']);
    await page.chat.sendMessage({ text: 'D' });
    await page.chat.sendMessage({ text: 'E' });
    await page.chat.regenerate();
    await edit(4, 'F');
    expect(texts()).to.deep.equal(['A', 'To A', 'B', 'To B', 'F', 'To F']);
    await edit(2, 'G');
    await page.chat.sendMessage({ text: 'H' });
    await edit(0, 'I');
    await page.chat.sendMessage({ text: 'J' });
    await page.chat.regenerate({ messageId: page.chat.messages[1]!.id });
    expect(texts()).to.deep.equal(['I', 'To I']);
    await page.chat.sendMessage({ text: 'K' });
    expect(page.errors).to.deep.equal([]);
    // What the page shows is what the model had.
    const said = service.model.requests.at(-1)!.body.messages.map(({ content }) => JSON.stringify(content));
    expect(said.map((content) => [...content.matchAll(/"text":"([^"]*)"/g)].at(-1)?.[1])).to.deep.equal([
      'I',
      'To I',
      'K',
    ]);
  });

  it('a chat of the AI SDK works with a session token: without the scope `fork` the error names it', async () => {
    service.model.on(/Hi/, 'Hello.');
    const id = await session();
    const scopes = ['read', 'send', 'cancel', 'answer'];
    const page = await openChat(service, id, { apiKey: await newToken(service, id, { scopes }) });
    await page.chat.sendMessage({ text: 'Hi' });
    expect(textOf(page.chat.messages.at(-1))).to.equal('Hello.');
    await page.chat.regenerate();
    expect(page.errors[0]!.message).to.include('the scope fork');
  });

  it('a chat of the AI SDK is edited and regenerated with a session token alone, in forks of forks, with tokens of their own', async () => {
    service.model.on(/./, ({ userText }) => text(`To ${userText}`));
    const id = await session();
    await service.run(id, 'A');
    await service.run(id, 'B');
    const token = await newToken(service, id);
    const forks: { id: string; token: string | undefined }[] = [];
    const page = await openChat(service, id, {
      apiKey: token,
      isLoaded: true,
      transport: { onFork: ({ session: fork, token: given }) => void forks.push({ id: fork.id, token: given }) },
    });
    const texts = (): string[] => page.chat.messages.map(textOf);
    const edit = (index: number, content: string): Promise<void> =>
      page.chat.sendMessage({ text: content, messageId: page.chat.messages[index]!.id });
    await page.chat.regenerate();
    await page.chat.sendMessage({ text: 'C' });
    await edit(2, 'D');
    await page.chat.sendMessage({ text: 'E' });
    await page.chat.regenerate({ messageId: page.chat.messages[5]!.id });
    await edit(0, 'F');
    expect(page.errors).to.deep.equal([]);
    expect(texts()).to.deep.equal(['F', 'To F']);
    expect(forks).to.have.length(4);
    for (const fork of forks) {
      expect(fork.token).to.match(/^sst_/);
      expect((await service.as(fork.token!)('GET', `/v1/sessions/${fork.id}`)).status).to.equal(200);
      expect((await service.as(token)('GET', `/v1/sessions/${fork.id}`)).status).to.equal(404);
    }
  });

  it('a chat of the AI SDK asks `apiKey` for the next token of a copy, by its id', async () => {
    service.model.on(/./, ({ userText }) => text(`To ${userText}`));
    const id = await session();
    const asked: (string | undefined)[] = [];
    const endsAt = Date.now() + 4000;
    const client = new AgentSessionClient({
      baseUrl: service.url,
      apiKey: async ({ sessionId }) => {
        asked.push(sessionId);
        if (sessionId !== undefined) return newToken(service, sessionId);
        return signToken(service, id, { expiresAt: endsAt });
      },
    });
    const page = await openChat(service, id, { transport: { client } });
    await page.chat.sendMessage({ text: 'A' });
    await page.chat.regenerate();
    expect(page.errors).to.deep.equal([]);
    const { items } = (await service.api('GET', '/v1/sessions')).body;
    const fork = items.find(
      (one: { forked_from: { session_id: string } | null }) => one.forked_from?.session_id === id,
    );
    // A token may send 20 times a minute, so nothing is sent until then.
    await eventually('the token of the copy has ended', async () => Date.now() > endsAt);
    await page.chat.sendMessage({ text: 'B' });
    expect(asked).to.deep.equal([undefined, fork.id]);
    expect(page.errors).to.deep.equal([]);
  });

  for (const whenRunning of ['queue', 'steer'] as const) {
    it(`a chat of the AI SDK whose messages ${whenRunning} while a turn runs shows that one waits until it is delivered`, async () => {
      const id = await session();
      const { page, sent, gate } = await openAnswering(service, id, {
        then: [use('mcp__mail__search', 'toolu_1')],
        transport: { whenRunning },
      });
      service.model.on(/Begun|toolu_1|Go/, ({ userText }) => text(`To ${userText}`));
      const second = page.chat.sendMessage({ text: 'More' });
      const waits = (): unknown =>
        page.chat.messages.flatMap(({ parts }) => parts.filter(({ type }) => type === 'data-queued')).at(-1);
      await eventually('it waits', () => waits() !== undefined);
      expect((waits() as { data: object }).data).to.deep.include({
        state: whenRunning === 'queue' ? 'queued' : 'steering',
        content: 'More',
      });
      service.model.on(/More/, 'To it.');
      gate.open();
      await Promise.all([sent, second]);
      expect(page.errors).to.deep.equal([]);
      expect((waits() as { data: null }).data).to.equal(null);
      await eventually('the answer shows', () => page.chat.messages.some((one) => textOf(one).includes('To it.')));
      const ids = page.chat.messages.map((one) => one.id);
      expect(new Set(ids).size).to.equal(ids.length);
      const loaded = await openChat(service, id, { isLoaded: true });
      const answered = loaded.chat.messages.filter(({ role }) => role === 'assistant').map(textOf);
      expect(
        page.chat.messages
          .filter(({ role }) => role === 'assistant')
          .map(textOf)
          .filter(Boolean),
      ).to.deep.equal(answered);
    });
  }

  it('a chat of the AI SDK ends the wait of a message that somebody withdraws', async () => {
    const id = await session();
    const { page, sent, gate } = await openAnswering(service, id, { transport: { whenRunning: 'queue' } });
    const second = page.chat.sendMessage({ text: 'More' });
    await eventually(
      'it waits',
      async () => (await service.api('GET', `/v1/sessions/${id}/queue`)).body.items.length === 1,
    );
    const [waiting] = (await service.api('GET', `/v1/sessions/${id}/queue`)).body.items;
    await service.api('DELETE', `/v1/sessions/${id}/queue/${waiting.id}`);
    gate.open();
    await Promise.all([sent, second]);
    expect(page.errors).to.deep.equal([]);
    expect(page.chat.messages.at(-1)!.parts.at(-1)).to.deep.include({ type: 'data-queued', data: null });
  });
});
