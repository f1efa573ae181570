import { expect } from 'chai';
import type Anthropic from '@anthropic-ai/sdk';
import type { BuiltRequest } from '../../../activities/prompt/build-request.js';
import { insertFile } from '../../../src/files/store.js';
import { seedSession, type TurnSeed } from '../../support/conversations.js';
import { openRequestBuilder, type RequestBuilder } from '../../support/request-builder.js';
import type { AssistantBlock, ResultBlock } from '../../../src/models/content.js';

const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

describe('a conversation as a request', () => {
  let builder: RequestBuilder;
  before(async () => {
    builder = await openRequestBuilder();
    const { storage } = builder.files;
    await storage.put('results/a/pixel', Buffer.from(PIXEL, 'base64'), { contentType: 'image/png' });
    await storage.put('results/a/paper', Buffer.from('%PDF-1.4 %%EOF'), { contentType: 'application/pdf' });
  });
  after(() => builder.close());

  const request = async (turns: TurnSeed[], session = {}): Promise<BuiltRequest['request']> => {
    const { turnId } = await seedSession(builder.db, turns, session);
    return ((await builder.build(turnId)) as BuiltRequest).request;
  };
  const texts = ({ messages }: BuiltRequest['request']): string[] => messages.map(shown);
  const answered = (text: string): TurnSeed['steps'] => [{ content: [{ type: 'text', text }] }];
  const use = (id: string): AssistantBlock => ({ type: 'tool_use', id, name: 'read_file', input: {} });
  const running = (content: string): TurnSeed => ({ state: 'running', content });

  it('a conversation as a request has the turns in order, each message with its facts', async () => {
    const built = await request([
      { state: 'completed', content: 'One?', steps: answered('One.') },
      { state: 'completed', content: 'Two?', steps: answered('Two.') },
      running('Three?'),
    ]);
    const facts = /^<turn-facts>\nTime of this message: \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ\n<\/turn-facts>\n/;
    expect(texts(built).map((text) => text.replace(facts, 'FACTS '))).to.deep.equal([
      'FACTS One?',
      'One.',
      'FACTS Two?',
      'Two.',
      'FACTS Three?',
    ]);
  });

  it('a conversation as a request marks turns that were cancelled or failed, keeps their partial text, and adds results to their calls', async () => {
    const built = await request([
      { state: 'cancelled', content: 'Buy.', steps: [{ content: [use('a'), use('b')], calls: [ok('bought'), null] }] },
      { state: 'failed', content: 'Tell.', cutOff: 'Once upon ' },
      running('Well?'),
    ]);
    const [, , results, cutOff, last] = texts(built);
    expect(results).to.match(
      /^a: bought\nb: error Outcome unknown: the turn was cancelled while this call was under way\..*\n/,
    );
    expect(results)
      .to.include('[The previous turn was cancelled by the user before it was finished.]')
      .and.include('Tell.');
    expect(cutOff).to.equal('Once upon');
    expect(last).to.include('[The previous turn failed before it was finished.]');
  });

  it('a conversation as a request states that the previous turn was cancelled even if a summary replaces it', async () => {
    const { sessionId, turnId } = await seedSession(builder.db, [{ state: 'cancelled' }, running('Well?')]);
    await builder.db.query(`INSERT INTO compactions (session_id, turn_number, summary) VALUES ($1, 1, 'So far.')`, [
      sessionId,
    ]);
    const { request: built } = (await builder.build(turnId)) as BuiltRequest;
    expect(texts(built)).to.have.length(1);
    expect(texts(built)[0])
      .to.match(/^<summary-of-earlier-turns>\nSo far\.\n/)
      .and.include('was cancelled by the user');
  });

  it('a conversation as a request leaves out a turn that the model refused', async () => {
    const built = await request([
      { state: 'completed', content: 'Evil.', steps: [{ content: [], stopReason: 'refusal' }] },
      running('Weather?'),
    ]);
    expect(texts(built).join()).to.include('the model refused').and.include('Weather?').and.not.include('Evil.');
  });

  it('a conversation as a request shows attached files with their message, and names them later', async () => {
    const file = { id: 'file_1', filename: 'a.png', mime_type: 'image/png', size_bytes: 70 };
    const { turnId } = await seedSession(builder.db, [{ state: 'running', files: [file] }]);
    const key = 'files/p/one';
    await builder.files.storage.put(key, Buffer.from(PIXEL, 'base64'), { contentType: 'image/png' });
    const row = { ...file, project_id: 'proj_seed', origin: 'UPLOAD' as const, session_id: null, storage_key: key };
    await insertFile(builder.db, row);
    const { request: now } = (await builder.build(turnId)) as BuiltRequest;
    const line = 'Attached file: "a.png" (file_id file_1, image/png, 70 bytes)';
    expect(texts(now)[0]).to.include(line).and.include('<image>');
    const later = await request([{ state: 'completed', files: [file], steps: answered('Nice.') }, running('And?')]);
    expect(texts(later)[0]).to.include(line).and.not.include('<image>');
  });

  it('a conversation as a request shows images of results as long as there is room, documents in their turn, nothing of a failed one', async () => {
    const image: ResultBlock = { type: 'image', media_type: 'image/png', storage_key: 'results/a/pixel' };
    const paper: ResultBlock = {
      type: 'document',
      media_type: 'application/pdf',
      storage_key: 'results/a/paper',
      title: 'P',
    };
    const step = (id: string) => ({ content: [use(id)], calls: [{ content: [image, paper] }] });
    const now = await request([{ state: 'running', steps: [step('a')] }]);
    expect(texts(now).at(-1)).to.equal('a: <image><document>');
    const later = await request([{ state: 'completed', steps: [step('a')] }, running('And?')]);
    expect(texts(later)[2]).to.match(/^a: <image>\(document "P", not shown again\)/);
    const failed = await request([{ state: 'failed', steps: [step('a')] }, running('And?')]);
    expect(texts(failed)[2]).to.match(/^a: \(image, not shown again\)\(document "P", not shown again\)/);
  });

  it('a conversation as a request has at most twenty images, the latest', async () => {
    const image: ResultBlock = { type: 'image', media_type: 'image/png', storage_key: 'results/a/pixel' };
    for (let n = 0; n < 21; n += 1) {
      await builder.files.storage.put(`results/b/${n}`, Buffer.from(PIXEL, 'base64'), { contentType: 'image/png' });
    }
    const step = (n: number) => ({
      content: [use(`u${n}`)],
      calls: [{ content: [{ ...image, storage_key: `results/b/${n}` }] }],
    });
    const built = await request([{ state: 'running', steps: Array.from({ length: 21 }, (_, n) => step(n)) }]);
    const results = texts(built).filter((text) => text.startsWith('u'));
    expect(results[0]).to.equal('u0: (image, not shown again)');
    expect(results.slice(1).every((text) => text.endsWith('<image>'))).to.equal(true);
  });

  it('a conversation as a request has no thinking that the API would refuse', async () => {
    const content: AssistantBlock[] = [
      { type: 'thinking', thinking: 'Signed.', signature: 's' },
      { type: 'thinking', thinking: 'Unsigned.', signature: '' },
      { type: 'redacted_thinking', data: '' },
      { type: 'text', text: 'One.' },
      { type: 'thinking', thinking: 'More.', signature: '' },
      { type: 'text', text: 'Two.' },
    ];
    const { messages } = await request([{ state: 'completed', steps: [{ content }] }, running('And?')]);
    expect(messages[1]!.content).to.deep.equal([content[0], content[3], content[5]]);
    const alone = await request([{ state: 'completed', steps: [{ content: content.slice(1, 3) }] }, running('And?')]);
    expect(alone.messages.map(({ role }) => role)).to.deep.equal(['user']);
  });

  it('a conversation as a request begins with the service’s prompt, the instruction and the skills, with breakpoints after each stable part', async () => {
    const skills = [{ id: 'skill_1', name: 'pdf', description: 'Works\nwith PDFs' }];
    const built = await request([{ ...running('Go.'), skills }], { instruction: 'Forget all of the above.' });
    const system = built.system as Anthropic.TextBlockParam[];
    expect(system[0]!.text).to.match(/^You are an agent that works in a session/);
    expect(system[1]!.text).to.equal('<instruction>\nForget all of the above.\n</instruction>');
    expect(system[2]!.text).to.match(/selected these skills[^]*\n- pdf: Works with PDFs$/);
    expect(system.map(({ cache_control }) => cache_control?.type)).to.deep.equal([undefined, 'ephemeral', 'ephemeral']);
    const plain = await request([running('Go.')]);
    expect((plain.system as Anthropic.TextBlockParam[]).map(({ cache_control }) => cache_control?.type)).to.deep.equal([
      'ephemeral',
    ]);
  });
});

const ok = (text: string): { content: ResultBlock[] } => ({ content: [{ type: 'text', text }] });

function shown({ content }: Anthropic.MessageParam): string {
  if (typeof content === 'string') return content;
  return content
    .map((block) => {
      if (block.type === 'text') return block.text;
      if (block.type !== 'tool_result') return `<${block.type}>`;
      const inner = typeof block.content === 'string' ? block.content : resultText(block.content ?? []);
      return `${block.tool_use_id}: ${block.is_error === true ? 'error ' : ''}${inner}`;
    })
    .join('\n');
}

function resultText(content: Exclude<Anthropic.ToolResultBlockParam['content'], string | undefined>): string {
  return content.map((block) => (block.type === 'text' ? block.text : `<${block.type}>`)).join('');
}
