import { expect } from 'chai';
import { failure, toolUse, type ReceivedRequest } from '../../support/scripted-model.js';
import { expectAcceptedRequests, useRegisteredMcp } from '../../support/use.js';

const WINDOW = 12_000;

/** An agent survives its hundredth step. */
describe('a turn longer than its model’s context', () => {
  const lines = ({ arguments: input }: { arguments: Record<string, unknown> }): string =>
    Array.from({ length: Number(input.lines) }, (_, line) => `${String(input.of)} ${line}`).join('\n');
  const { service, registered } = useRegisteredMcp(
    'shop',
    { tools: [{ name: 'look', run: lines }] },
    {
      model: { context_window: WINDOW, max_output_tokens: 1000, supports_thinking: false },
      scripted: { contextWindow: WINDOW },
    },
  );
  expectAcceptedRequests(service);

  const run = async (): Promise<{ end: { type: string }; sessionId: string }> => {
    const sessionId = await service.session({ mcp_servers: [registered.id] });
    await service.send(sessionId, 'Go');
    return { sessionId, end: await service.ended(sessionId) };
  };
  const look = (of: string, lines: number, id: string) => toolUse('mcp__shop__look', { of, lines }, { id });

  it('a turn longer than its model’s context replaces older results by a note on how to read them, and keeps the cache for most steps', async () => {
    const { model } = service;
    model.script(({ step }) => {
      if (step < 14) return look(`found${step}`, 400, `toolu_${step}`);
      return step === 14 ? toolUse('read_file', { file_id: 'toolu_0' }, { id: 'toolu_again' }) : 'Done.';
    });
    const { end, sessionId } = await run();
    expect(end).to.deep.include({ type: 'turn.completed', stop_reason: 'end_turn' });
    const last = model.requests.at(-1)!;
    expect(resultOf(last, 'toolu_2')).to.equal(
      '[Left out to save room. read_file {"file_id": "toolu_2"} shows it again.]',
    );
    expect(resultOf(last, 'toolu_13')).to.include('found13 399');
    expect(resultOf(last, 'toolu_again')).to.include('found0 0\n').and.include('found0 399');

    const history = await service.history(sessionId);
    expect(
      history.find(({ tool_use_id, type }) => type === 'agent.tool_result' && tool_use_id === 'toolu_2').content,
    ).to.include('found2 399');
    const changed = model.requests.slice(1).filter((request, index) => !continues(model.requests[index]!, request));
    expect(changed.length).to.be.within(1, 6);
  });

  it('a turn longer than its model’s context cuts the results of one step to equal shares, and the model can read the rest', async () => {
    const { model } = service;
    model.script((request) => {
      if (request.step === 0) return Array.from({ length: 4 }, (_, n) => look(`part${n}`, 1200, `toolu_p${n}`));
      if (request.step > 1) return 'Done.';
      const { file_id, offset } = readOn(resultOf(request, 'toolu_p3'));
      return toolUse('read_file', { file_id, offset, limit: 5 }, { id: 'toolu_on' });
    });
    const { end } = await run();
    expect(end).to.include({ type: 'turn.completed' });
    const preview = resultOf(model.requests[1]!, 'toolu_p3');
    const { offset } = readOn(preview);
    expect(preview).to.include(`part3 ${offset - 1}\n`);
    expect(resultOf(model.requests[2]!, 'toolu_on')).to.match(new RegExp(`^part3 ${offset}\\npart3 ${offset + 1}\\n`));
  });

  it("a turn longer than its model’s context shortens the model's own texts in requests, not in events", async () => {
    const { model } = service;
    const content = 'A long document. '.repeat(230);
    model.script(({ step }) =>
      step < 12 ? toolUse('deliver_file', { filename: `part-${step}.md`, content }) : 'Done.',
    );
    const { end, sessionId } = await run();
    expect(end).to.include({ type: 'turn.completed' });
    const uses = (await service.history(sessionId)).filter(({ type }) => type === 'agent.tool_use');
    expect(uses.map(({ input }) => input.content as string)).to.deep.equal(uses.map(() => content));
    expect(JSON.stringify(model.requests.at(-1)!.body.messages)).to.include('characters; left out to save room');
  });

  it('a turn longer than its model’s context rebuilds the request if the API counts more than the estimate', async () => {
    const { model } = service;
    model.script(({ step, body }) => {
      if (step < 3) return look(`found${step}`, 400, `toolu_c${step}`);
      const size = JSON.stringify(body.messages).length;
      return size > 9000 ? tooLong : 'Done.';
    });
    const { end } = await run();
    expect(end).to.deep.include({ type: 'turn.completed', stop_reason: 'end_turn' });
    expect(resultOf(model.requests.at(-1)!, 'toolu_c0')).to.include('Left out');
  });
});

const tooLong = failure('invalid_request_error', { message: 'prompt is too long: 20000 tokens > 12000 maximum' });

function resultOf({ body }: ReceivedRequest, toolUseId: string): string {
  for (const { content } of body.messages) {
    if (typeof content === 'string') continue;
    for (const block of content) {
      if (block.type !== 'tool_result' || block.tool_use_id !== toolUseId) continue;
      return (block.content as { text: string }[]).map(({ text }) => text).join('\n');
    }
  }
  throw new Error(`no result of ${toolUseId}`);
}

function readOn(preview: string): { file_id: string; offset: number } {
  return JSON.parse(/read_file (\{.*?\})/.exec(preview)![1]!) as { file_id: string; offset: number };
}

/** Whether a request begins as the one before it, so that its cached prefix is found. */
function continues(before: ReceivedRequest, request: ReceivedRequest): boolean {
  const bare = ({ body }: ReceivedRequest): string[] =>
    body.messages.map((message) => JSON.stringify(message).replace(/,"cache_control":\{[^}]*\}/g, ''));
  const [old, now] = [bare(before), bare(request)];
  return old.every((message, index) => message === now[index]);
}
