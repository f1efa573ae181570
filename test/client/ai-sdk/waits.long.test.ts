import { expect } from 'chai';
import type { UIMessage, UIMessageChunk } from 'ai';
import { kindsOf, openAnswering, openChat, shownParts, textOf, type ChatPage } from '../../support/chat.js';
import { eventually } from '../../support/eventually.js';
import { budget, tokens } from '../../support/money.js';
import { message, steps, text, toolUse } from '../../support/scripted-model.js';
import { expectAcceptedRequests } from '../../support/use.js';
import { useWaitingService } from '../../support/waiting-service.js';

const use = (name: string, input: Record<string, unknown> = {}) => toolUse(name, input, { id: 'toolu_1' });

/** docs/decisions.md "Front ends" with the package `ai`: waits that have no part of their own, outputs, and how turns end. */
describe('a chat of the AI SDK whose turn waits or ends', function () {
  this.timeout(20_000);
  const { service, session, notes } = useWaitingService();
  expectAcceptedRequests(service);

  const waitsOf = ({ chat }: ChatPage): unknown[] =>
    (chat.messages.at(-1)?.parts ?? []).flatMap((part) =>
      part.type === 'data-required-action' ? [(part as { data: unknown }).data] : [],
    );
  /** The action that the page is shown while its stream is open. */
  const waitOf = async (page: ChatPage): Promise<Record<string, string>> => {
    await eventually('the page is asked', () => waitsOf(page).some((data) => data !== null));
    await page.until('streaming');
    return waitsOf(page).find((data) => data !== null) as Record<string, string>;
  };
  /** The chunks of a turn that a page with nothing shown yet gets. */
  const chunksOf = async (id: string): Promise<UIMessageChunk[]> => {
    const { transport } = await openChat(service, id);
    const chunks: UIMessageChunk[] = [];
    for await (const chunk of (await transport.reconnectToStream({ chatId: id }))!) chunks.push(chunk);
    return chunks;
  };
  const expectSameAfterReload = async (page: ChatPage, id: string): Promise<void> => {
    const { chat } = await openChat(service, id, { isLoaded: true });
    expect(shownParts(chat.messages.at(-1)!)).to.deep.equal(shownParts(page.chat.messages.at(-1)!));
  };

  it('a chat of the AI SDK whose turn waits or ends shows the question of a server, also after a reload, and goes on when the page has answered it', async () => {
    service.model.on(/Go/, steps([use('mcp__mail__ask')], 'Asked.'));
    const id = await session();
    const page = await openChat(service, id);
    const sent = page.chat.sendMessage({ text: 'Go' });
    const { type, elicitation_id } = await waitOf(page);
    expect(type).to.equal('elicitation');
    const other = await openChat(service, id, { isLoaded: true });
    const resumed = other.chat.resumeStream();
    expect((await waitOf(other)).elicitation_id).to.equal(elicitation_id);
    await other.client.answerElicitation(id, {
      elicitation_id: elicitation_id!,
      action: 'accept',
      content: { branch: 'main' },
    });
    await Promise.all([sent, resumed]);
    for (const { chat } of [page, other]) {
      expect(textOf(chat.messages.at(-1))).to.equal('Asked.');
      expect(kindsOf(chat.messages.at(-1)!)).to.include('dynamic-tool:output-available');
    }
    expect([...waitsOf(page), ...waitsOf(other)]).to.deep.equal([null, null]);
    await expectSameAfterReload(page, id);
  });

  it('a chat of the AI SDK shows that a call needs an account, and goes on when the user has one', async () => {
    service.model.on(/Go/, steps([use('mcp__notes__send')], 'Sent.'));
    const id = await session();
    const page = await openChat(service, id);
    const sent = page.chat.sendMessage({ text: 'Go' });
    expect(await waitOf(page)).to.include({ type: 'mcp_authorization', mcp_server_id: notes.id });
    const auth = { type: 'BEARER', token: 'own' };
    const made = await service.api('POST', '/v1/credentials', { mcp_server_id: notes.id, user: 'ada', auth });
    expect(made.status).to.equal(201);
    await sent;
    expect(textOf(page.chat.messages.at(-1))).to.equal('Sent.');
    expect(waitsOf(page)).to.deep.equal([null]);
    await service.api('DELETE', '/v1/credentials?user=ada');
    await expectSameAfterReload(page, id);
  });

  it('a chat of the AI SDK shows that a person does not want to connect the account', async () => {
    service.model.on(/Go/, steps([use('mcp__notes__send')], 'Not sent.'));
    const id = await session();
    const page = await openChat(service, id);
    const sent = page.chat.sendMessage({ text: 'Go' });
    const { tool_use_id } = await waitOf(page);
    await page.client.confirm(id, { tool_use_id: tool_use_id!, result: 'deny' });
    await sent;
    expect([page.errors, textOf(page.chat.messages.at(-1))]).to.deep.equal([[], 'Not sent.']);
    await expectSameAfterReload(page, id);
  });

  it('a chat of the AI SDK shows that the budget is used up, and goes on when it is raised', async () => {
    service.model.on(
      /Spend/,
      steps(message([toolUse('list_files')], tokens(300)), message([text('Done.')], tokens(2))),
    );
    const id = await session({ budget: budget('0.5', 'pause'), thinking_enabled: false });
    const page = await openChat(service, id);
    const sent = page.chat.sendMessage({ text: 'Spend' });
    expect(await waitOf(page)).to.include({ type: 'budget' });
    await service.api('PATCH', `/v1/sessions/${id}`, { budget: budget('2', 'pause') });
    await sent;
    expect(textOf(page.chat.messages.at(-1))).to.equal('Done.');
    expect(waitsOf(page)).to.deep.equal([null]);
  });

  it('a chat of the AI SDK whose turn waits or ends shows the value of a turn', async () => {
    service.model.reply([text('Found.'), toolUse('give_output', { late: [4711] })]);
    const id = await session();
    const schema = { type: 'object', properties: { late: { type: 'array', items: { type: 'integer' } } } };
    await service.send(id, 'Which are late?', { output_schema: schema });
    const page = await openChat(service, id);
    await page.chat.resumeStream();
    const shown = page.chat.messages.at(-1)!;
    expect(shown.parts.find(({ type }) => type === 'data-output')).to.deep.include({ data: { late: [4711] } });
    expect(kindsOf(shown)).to.not.include('dynamic-tool:input-available');
    await expectSameAfterReload(page, id);
  });

  it('a chat of the AI SDK whose turn waits or ends names how a turn ended', async () => {
    const endOf = async (stopReason: 'end_turn' | 'max_tokens' | 'refusal'): Promise<UIMessageChunk> => {
      service.model.reply(message([text('So far.')], { stopReason }));
      const id = await session();
      await service.run(id, 'Go');
      return (await chunksOf(id)).at(-1)!;
    };
    expect(await endOf('end_turn')).to.include({ type: 'finish', finishReason: 'stop' });
    expect(await endOf('max_tokens')).to.include({ type: 'finish', finishReason: 'length' });
    expect(await endOf('refusal')).to.include({ type: 'finish', finishReason: 'content-filter' });
    const end = await endOf('end_turn');
    expect((end as { messageMetadata: object }).messageMetadata).to.have.keys('turnId', 'stopReason', 'usage');
  });

  it('a chat of the AI SDK ends with `other` when a turn has reached its budget', async () => {
    service.model.on(/Spend/, steps(message([toolUse('list_files')], tokens(600))));
    const id = await session({ budget: budget('0.5', 'stop'), thinking_enabled: false });
    await service.run(id, 'Spend');
    expect((await chunksOf(id)).at(-1)).to.include({ type: 'finish', finishReason: 'other' });
  });

  it('a chat of the AI SDK whose turn waits or ends ends when somebody else cancels the turn', async () => {
    const id = await session();
    const { page, sent, gate } = await openAnswering(service, id);
    await service.api('POST', `/v1/sessions/${id}/cancel`);
    await sent;
    expect([page.chat.status, page.errors]).to.deep.equal(['ready', []]);
    expect((await chunksOf(id)).at(-1)).to.deep.equal({ type: 'abort' });
    gate.open();
  });

  it('a chat of the AI SDK whose turn waits or ends loads a history with the ids of the service', async () => {
    service.model.on(/Hi/, 'Hello.');
    const id = await session();
    const { turn_id, id: eventId } = (await service.api('POST', `/v1/sessions/${id}/messages`, { content: 'Hi' })).body;
    await service.ended(id);
    const { chat } = await openChat(service, id, { isLoaded: true });
    expect(chat.messages.map((one: UIMessage) => [one.role, one.id])).to.deep.equal([
      ['user', eventId],
      ['assistant', turn_id],
    ]);
  });
});
