import { expect } from 'chai';
import { modelImage } from '../../../../src/mcp/tool-answer.js';
import { failureOf } from '../../../support/failure.js';
import { mcpCalls, textOf, type McpCalls } from '../../../support/mcp-calls.js';
import { startMcpServer, type TestMcpServer } from '../../../support/mcp-server.js';

/** 1 × 1 pixels each. */
const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const GIF = 'R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7';
const WEBP = 'UklGRiIAAABXRUJQVlA4IBYAAAAwAQCdASoBAAEADsD+JaQAA3AAAAAA';
const JPEG =
  '/9j/4AAQSkZJRgABAQEASABIAAD/2wBDAP//////////////////////////////////////////////////////////////////////////////////////wAALCAABAAEBAREA/8QAFAABAAAAAAAAAAAAAAAAAAAAA//EABQQAQAAAAAAAAAAAAAAAAAAAAD/2gAIAQEAAD8AR//Z';

const text = (said: string) => ({ type: 'text', text: said });
const image = (data: string, mimeType = 'image/png') => ({ type: 'image', data, mimeType });

describe('results of MCP tools', () => {
  let server: TestMcpServer;
  let calls: McpCalls;
  let answer: unknown;
  before(async () => (server = await startMcpServer({ tools: [{ name: 'a', run: () => answer }] })));
  beforeEach(() => {
    calls = mcpCalls({ hosts: [server.host] });
  });
  afterEach(() => calls.close());
  after(() => server.close());

  const resultOf = (content: unknown): ReturnType<McpCalls['call']> => {
    answer = content;
    return calls.call(calls.row('s', server.url), 'a');
  };

  it('results of MCP tools keep text whole and in order', async () => {
    const content = [text('one'), text('x'.repeat(300_000))];
    expect((await resultOf({ content })).content).to.deep.equal(content);
  });

  it('results of MCP tools are storable, and never empty', async () => {
    expect(textOf(await resultOf({ content: [text('a\0b\ud800c')] }))).to.equal('a�b�c');
    for (const content of [[], [text(' \n')], [text('')]]) {
      expect(textOf(await resultOf({ content }))).to.equal('[The tool returned no content.]');
    }
  });

  for (const [mime, data] of [
    ['image/png', PNG],
    ['image/gif', GIF],
    ['image/webp', WEBP],
    ['image/jpeg', JPEG],
  ] as const) {
    it(`results of MCP tools store ${mime} and refer to it`, async () => {
      const { content } = await resultOf({ content: [text('see'), image(data)] });
      const [, shown] = content as { type: string; media_type: string; storage_key: string }[];
      expect(shown).to.deep.include({ type: 'image', media_type: mime });
      expect(shown!.storage_key).to.match(/^results\/turn_1\/[0-9a-f]{32}-0$/);
      expect(calls.stored.get(shown!.storage_key)!.toString('base64')).to.equal(data);
    });
  }

  it('results of MCP tools give every image of a call its own object, the same when the call is repeated', async () => {
    await resultOf({ content: [image(PNG), image(GIF, 'image/gif')] });
    expect([...calls.stored.keys()].map((key) => key.slice(-2))).to.deep.equal(['-0', '-1']);
  });

  it('results of MCP tools name an image that the model does not support', async () => {
    const wide = Buffer.from(PNG, 'base64');
    wide.writeUInt32BE(8001, 16);
    for (const [data, mimeType] of [
      [Buffer.from('<svg/>').toString('base64'), 'image/svg+xml'],
      [Buffer.from('no image at all').toString('base64'), 'image/png'],
      [wide.toString('base64'), 'image/png'],
      [Buffer.concat([Buffer.from(PNG, 'base64'), Buffer.alloc(5_000_000)]).toString('base64'), 'image/png'],
    ] as const) {
      const result = await resultOf({ content: [image(data, mimeType)] });
      expect(textOf(result)).to.include(`[image (${mimeType}), about `).and.include('cannot be shown to you]');
    }
    expect(calls.stored.size).to.equal(0);
  });

  it('results of MCP tools name an image that could not be stored', async () => {
    const failing = mcpCalls({ hosts: [server.host], failStorage: true });
    answer = { content: [image(PNG)] };
    const result = await failing.call(failing.row('s', server.url), 'a');
    expect([textOf(result), result.isError]).to.deep.equal(['[image: lost, the file storage was unavailable]', false]);
    await failing.close();
  });

  it('results of MCP tools name content of other types', async () => {
    const more = { size: 5, description: 'A file' };
    const result = await resultOf({
      content: [
        { type: 'audio', data: 'AAAA', mimeType: 'audio/wav' },
        { type: 'resource_link', uri: 'file:///a.txt', name: 'a.txt', mimeType: 'text/plain', ...more },
        { type: 'resource', resource: { uri: 'demo://text', mimeType: 'text/markdown', text: '# Hi' } },
        { type: 'resource', resource: { uri: 'demo://bytes', mimeType: 'application/zip', blob: 'AAAA' } },
      ],
    });
    expect(textOf(result).split('\n')).to.deep.equal([
      '[audio (audio/wav), about 3 bytes: cannot be shown to you]',
      '[link to a resource a.txt <file:///a.txt> (text/plain, 5 bytes): A file]',
      '[resource demo://text (text/markdown)]',
      '# Hi',
      '[resource demo://bytes (application/zip), about 3 bytes: cannot be shown to you]',
    ]);
  });

  it('results of MCP tools show an image that comes as a resource', async () => {
    const resource = { uri: 'demo://png', mimeType: 'image/png', blob: PNG };
    const { content } = await resultOf({ content: [{ type: 'resource', resource }] });
    expect(content[0]).to.include({ type: 'image', media_type: 'image/png' });
  });

  it('results of MCP tools name a structured result that is nested too deeply', async () => {
    let structuredContent: Record<string, unknown> = {};
    for (let depth = 0; depth < 2000; depth += 1) structuredContent = { a: structuredContent };
    expect(textOf(await resultOf({ content: [], structuredContent }))).to.equal(
      '[structured result nested deeper than 100 levels: cannot be shown to you]',
    );
  });

  it('results of MCP tools have at most 1,000 parts; a line names the rest', async () => {
    const parts = (count: number): unknown => ({ content: Array(count).fill(text('x')) });
    expect((await resultOf(parts(1000))).content).to.have.length(1000);
    const { content } = await resultOf(parts(1003));
    expect(content).to.have.length(1001);
    expect(content.at(-1)).to.deep.equal(text('[left out: 3 more parts (a result may have 1000)]'));
  });

  it('results of MCP tools have at most 100 images; a line names the rest', async () => {
    const images = (count: number): unknown => ({ content: Array(count).fill(image(PNG)) });
    expect((await resultOf(images(100))).content.every(({ type }) => type === 'image')).to.equal(true);
    calls.stored.clear();
    const { content } = await resultOf(images(102));
    expect(calls.stored.size).to.equal(100);
    const rest = '[left out: 2 more images or files (a result may have 100 images)]';
    expect(content.slice(100)).to.deep.equal([text(rest)]);
  });

  it('results of MCP tools stop storing images when the call is aborted', async () => {
    answer = { content: Array(50).fill(image(PNG)) };
    const cancel = new AbortController();
    const { stored } = calls;
    const set = stored.set.bind(stored);
    stored.set = (key, bytes) => {
      if (stored.size === 9) cancel.abort(new Error('cancelled'));
      return set(key, bytes);
    };
    const call = calls.call(calls.row('s', server.url), 'a', {}, { signal: cancel.signal });
    expect(await failureOf(call)).to.have.property('message', 'cancelled');
    expect(stored.size).to.equal(10);
  });

  it('results of MCP tools show 1 MiB of structured content as compact JSON, and name what is longer', async () => {
    const structured = (bytes: number): unknown => ({
      content: [],
      structuredContent: { a: [1, 2], text: 'x'.repeat(bytes - '{"a":[1,2],"text":""}'.length) },
    });
    const whole = textOf(await resultOf(structured(1024 * 1024)));
    expect(whole).to.have.length(1024 * 1024);
    expect(whole.slice(0, 13)).to.equal('{"a":[1,2],"t');
    expect(textOf(await resultOf(structured(1024 * 1024 + 1)))).to.equal(
      '[structured result of 1048577 bytes left out: at most 1048576 are shown to you]',
    );
  });

  it('results of MCP tools parse no text that cannot be the structured content', async () => {
    const dense = `{"a":[${'{},'.repeat(1_000_000)}{}]}`;
    const parse = JSON.parse.bind(JSON);
    let parsed = 0;
    JSON.parse = (text: string, reviver) => {
      if (text === dense) parsed += 1;
      return parse(text, reviver) as unknown;
    };
    try {
      const result = await resultOf({ content: [text(dense)], structuredContent: { a: [{}] } });
      expect(result.content.map((block) => block.type === 'text' && block.text.length)).to.deep.equal([
        dense.length,
        '{"a":[{}]}'.length,
      ]);
    } finally {
      JSON.parse = parse;
    }
    expect(parsed).to.equal(0);
  });

  const SAID: [string, unknown, string[]][] = [
    ['the file of the reference filesystem server', { content: 'line\nline' }, ['line\nline']],
    ['one value', { result: 'T' }, ['T\n']],
    ['a number', { result: 5 }, ['5']],
    ['an integer of any length', { id: 1 }, ['1']],
    ['an object in it', { result: { a: [1, 'b'] } }, ['{"a": [1, "b"]}']],
    ['the items of a list, as FastMCP sends them', { result: ['a', { b: 2 }, 3] }, ['a', '{"b":2}', '3']],
    ['lines in parts', { content: 'a\nb' }, ['a', 'b']],
    ['its JSON among other parts', { a: 1, b: 2 }, ['Two numbers:', '{"b":2,"a":1}']],
  ];
  for (const [what, structuredContent, texts] of SAID) {
    it(`results of MCP tools have one copy when text and structured content say the same: ${what}`, async () => {
      const content = texts.map(text);
      expect((await resultOf({ content, structuredContent })).content).to.deep.equal(content);
    });
  }

  const MORE: [string, unknown, string[]][] = [
    ['another value', { content: 'T', encoding: 'utf-8' }, ['T']],
    ['another text', { result: 'T' }, ['It is T.']],
    ['fewer items', { result: ['a', 'b', 'c'] }, ['a', 'b']],
    ['another number', { result: 5 }, ['6']],
    ['no text', { result: [] }, []],
  ];
  for (const [what, structuredContent, texts] of MORE) {
    it(`results of MCP tools have both when the structured content says more: ${what}`, async () => {
      const content = texts.map(text);
      const result = await resultOf({ content, structuredContent });
      expect(result.content.at(-1)).to.deep.equal(text(JSON.stringify(structuredContent)));
      expect(result.content).to.have.length(texts.length + 1);
    });
  }

  it('results of MCP tools have a long text once when the structured content says it beside other values', async () => {
    const [long, other] = ['long text '.repeat(100), 'other text '.repeat(100)];
    const hits = [long, other].map((said, index) => ({ id: index + 1, text: said }));
    for (const [structuredContent, texts, rest] of [
      [{ content: long, truncated: false }, [`${long}\n`], { truncated: false }],
      [{ hits }, [long, other], { hits: [{ id: 1 }, { id: 2 }] }],
      [{ out: long, err: other, list: [long] }, [long], { err: other, list: [long] }],
      [{ out: long, err: other }, [long, other], null],
    ] as const) {
      const content = texts.map(text);
      const shown = rest === null ? content : [...content, text(JSON.stringify(rest))];
      expect((await resultOf({ content, structuredContent })).content).to.deep.equal(shown);
    }
  });

  it('results of MCP tools have one copy of the text of a resource, too', async () => {
    const content = [{ type: 'resource', resource: { uri: 'demo://a', text: 'line\nline' } }];
    const result = await resultOf({ content, structuredContent: { content: 'line\nline' } });
    expect(textOf(result)).to.equal('[resource demo://a]\nline\nline');
  });

  it('results of MCP tools add the structured result unless a text already is it', async () => {
    const structuredContent = { temperature: 22.5, tags: ['a'] };
    const alone = await resultOf({ content: [], structuredContent });
    expect(JSON.parse(textOf(alone))).to.deep.equal(structuredContent);
    const both = await resultOf({ content: [text('{"tags":["a"],"temperature":22.5}')], structuredContent });
    expect(both.content).to.have.length(1);
    const other = await resultOf({ content: [text('It is warm.')], structuredContent });
    expect(other.content).to.have.length(2);
  });
});

describe('images for the model', () => {
  it('images for the model are rejected if truncated or not base64', () => {
    for (const data of [undefined, 7, '', 'not base64!', `${PNG}!`]) expect(modelImage(data)).to.equal(null);
    for (const data of [PNG, GIF, WEBP, JPEG]) {
      expect(modelImage(Buffer.from(data, 'base64').subarray(0, 12).toString('base64'))).to.equal(null);
    }
  });

  for (const [what, data] of [
    ['as a data URL', `data:image/png;base64,${PNG}`],
    ['with line breaks', PNG.replace(/(.{20})/g, '$1\r\n')],
    ['without padding', PNG.replace(/=+$/, '')],
    ['in the alphabet for urls', Buffer.from(PNG, 'base64').toString('base64url')],
  ] as const) {
    it(`images for the model are read ${what}`, () => {
      const read = modelImage(data);
      expect([read?.mediaType, read?.bytes.toString('base64')]).to.deep.equal(['image/png', PNG]);
    });
  }
});
