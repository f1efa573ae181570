import type Anthropic from '@anthropic-ai/sdk';
import { expect } from 'chai';
import { failure, text, toolUse, type Handler, type Reply } from '../support/scripted-model.js';
import { upload } from '../support/upload.js';
import { expectAcceptedRequests, useRegisteredMcp } from '../support/use.js';

const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
/** The same with another chunk, so that each has bytes of its own. */
const png = (name: string): Buffer => Buffer.concat([Buffer.from(PIXEL, 'base64'), Buffer.from(name)]);
const BAD = png('bad');
const LINE = 'not shown: the model’s API refused it';

type Block = Anthropic.ContentBlockParam;

/** The images of a request, each with its place as the API names it. */
function imagesOf(messages: Anthropic.MessageParam[]): { place: string; data: string }[] {
  const inside = (blocks: Block[], place: string): { place: string; data: string }[] =>
    blocks.flatMap((block, index) => {
      const path = `${place}.content.${index}`;
      if (block.type === 'tool_result') return inside((block.content ?? []) as Block[], `${path}.tool_result`);
      return block.type === 'image' && block.source.type === 'base64' ? [{ place: path, data: block.source.data }] : [];
    });
  return messages.flatMap(({ content }, index) => inside(content as Block[], `messages.${index}`));
}

/** docs/models.md "Images and documents that the API refuses". */
describe('an image that the model’s API refuses', () => {
  const { service, mcp, registered } = useRegisteredMcp('camera', {
    tools: [
      {
        name: 'shoot',
        run: () => ({
          content: [
            { type: 'text', text: 'Shot.' },
            { type: 'image', data: BAD.toString('base64'), mimeType: 'image/png' },
          ],
        }),
      },
    ],
  });
  expectAcceptedRequests(service);

  let refusals = 0;
  /** Refuses the first image that is damaged, as Anthropic does; else it answers. */
  const refuse = (
    isBad: (data: string) => boolean,
    message: (place: string) => string,
    ...answers: Reply[]
  ): Handler => {
    refusals = 0;
    let answered = 0;
    return ({ body }) => {
      const bad = imagesOf(body.messages).find(({ data }) => isBad(data));
      if (bad === undefined) return answers[answered++] ?? text('Done.');
      refusals += 1;
      return failure('invalid_request_error', { message: message(bad.place) });
    };
  };
  const damaged = (data: string): boolean => data === BAD.toString('base64');
  const named = (place: string): string => `${place}.image.source.base64.data: Could not process image`;
  const file = async (name: string, content: Buffer): Promise<string> =>
    ((await upload(service, name, content)).body as { id: string }).id;
  const last = () => service.model.requests.at(-1)!.body.messages;
  const send = async (session: string, files: string[], content = 'Look') => {
    const turnId = await service.send(session, content, { files });
    const end = await service.ended(session);
    return { turnId, end };
  };

  it('an image that the model’s API refuses is left out by name, in this turn and in later ones', async () => {
    const bad = await file('bad.png', BAD);
    const good = await file('good.png', png('good'));
    const session = await service.session({ mcp_servers: [registered.id] });
    service.model.script(refuse(damaged, named));
    const { turnId, end } = await send(session, [bad, good]);
    expect(end).to.include({ type: 'turn.completed', stop_reason: 'end_turn' });
    expect(refusals).to.equal(1);
    expect(imagesOf(last()).map(({ data }) => data)).to.deep.equal([png('good').toString('base64')]);
    expect(JSON.stringify(last())).to.contain(
      `[\\"bad.png\\" (file_id ${bad}, image/png, ${BAD.length} bytes) is ${LINE}.]`,
    );
    expect(end.usage.input_tokens).to.be.greaterThan(0);
    const { body } = await service.api('GET', `/v1/sessions/${session}/turns/${turnId}/timeline`);
    const calls = body.items.filter(({ type }: { type: string }) => type === 'model_call');
    expect(calls.map(({ status }: { status: string }) => status)).to.deep.equal(['failed', 'ok']);
    expect(calls[0].error).to.include({ type: 'model_error', retryable: false });
    // The same file again, by message and by read_file, and in a fork.
    service.model.script(refuse(damaged, named, toolUse('read_file', { file_id: bad })));
    expect((await send(session, [bad])).end.type).to.equal('turn.completed');
    const fork = (await service.api('POST', `/v1/sessions/${session}/fork`)).body.id as string;
    expect((await send(fork, [bad])).end.type).to.equal('turn.completed');
    expect(refusals).to.equal(0);
    expect(JSON.stringify(last())).to.contain(`(image, ${LINE})`);
  });

  it('an image that the model’s API refuses in the result of a tool is left out, and the tool is not called again', async () => {
    const session = await service.session({ mcp_servers: [registered.id] });
    service.model.script(refuse(damaged, named, toolUse('mcp__camera__shoot'), 'Seen.'));
    expect((await send(session, [])).end.type).to.equal('turn.completed');
    expect(refusals).to.equal(1);
    expect(mcp.calls.filter(({ name }) => name === 'shoot')).to.have.length(1);
    const result = (last().at(-1)!.content as Anthropic.ToolResultBlockParam[])[0]!;
    expect(result.content).to.deep.equal([
      { type: 'text', text: 'Shot.' },
      { type: 'text', text: `(image, ${LINE})` },
    ]);
    service.model.script(refuse(damaged, named));
    await send(session, []);
    expect(refusals).to.equal(0);
  });

  it('an image that the model’s API refuses is not sent again to a model without eyes, nor is another one', async () => {
    const session = await service.session();
    const blind = (): string => 'This model does not support image input.';
    service.model.script(refuse(() => true, blind));
    const files = await Promise.all(['a', 'b'].map((name) => file(`${name}.png`, png(name))));
    expect((await send(session, files)).end.type).to.equal('turn.completed');
    expect(refusals).to.equal(1);
    expect((await send(session, [await file('c.png', png('c'))])).end.type).to.equal('turn.completed');
    expect(refusals).to.equal(1);
    // Another session asks for itself.
    expect((await send(await service.session(), files)).end.type).to.equal('turn.completed');
    expect(refusals).to.equal(2);
  });

  it('an image that the model’s API refuses is not sent again when a failed turn is continued', async () => {
    const bad = await file('bad.png', BAD);
    const session = await service.session();
    const wrong = failure('invalid_request_error', { message: 'max_tokens: 9 > 8, the maximum of image models' });
    service.model.script(refuse(damaged, () => 'Could not process image', wrong));
    expect((await send(session, [bad])).end).to.deep.include({ type: 'turn.failed' });
    expect((await service.api('POST', `/v1/sessions/${session}/continue`)).status).to.equal(201);
    expect((await service.ended(session)).type).to.equal('turn.completed');
    expect(refusals).to.equal(1);
    expect(JSON.stringify(last())).to.contain(LINE);
  });

  it('an image that the model’s API refuses costs at most five calls of a turn, however many are refused', async () => {
    const files = await Promise.all(Array.from({ length: 8 }, (_, n) => file(`${n}.png`, png(`many ${n}`))));
    const session = await service.session();
    service.model.script(refuse(() => true, named));
    expect((await send(session, files)).end.type).to.equal('turn.completed');
    expect(refusals).to.equal(5);
    expect(imagesOf(last())).to.deep.equal([]);
  });

  it('an image that the model’s API refuses makes no difference to a refusal of something else', async () => {
    const good = await file('good.png', png('good'));
    const session = await service.session();
    for (const message of [
      'max_tokens: 9 > 8, the maximum of image models',
      "tools.0.custom.name: 'image' is invalid",
    ]) {
      service.model.script(
        refuse(
          () => true,
          () => message,
        ),
      );
      expect((await send(session, [good])).end.error).to.include({ type: 'model_error', retryable: false });
      expect(refusals, message).to.equal(1);
    }
    // It is no image that is refused without end.
    service.model.script(() => failure('invalid_request_error', { message: 'Could not process image' }));
    const before = service.model.requests.length;
    expect((await send(session, [good])).end.type).to.equal('turn.failed');
    expect(service.model.requests.length - before).to.equal(2);
  });
});
