import type { NewEvent } from '../../../../src/events/schema.js';
import { expect } from 'chai';
import { attachmentBlocks } from '../../../../activities/prompt/attachment-blocks.js';
import { deliverFile } from '../../../../activities/tools/built-in/deliver-file.js';
import { listFiles } from '../../../../activities/tools/built-in/list-files.js';
import { readFile } from '../../../../activities/tools/built-in/read-file.js';
import type { BuiltInTool, ToolDeps, ToolResult } from '../../../../activities/tools/tool.js';
import { mimeTypeOf } from '../../../../src/files/filename.js';
import { newStorageKey, storageKey } from '../../../../src/files/storage.js';
import { insertFile, type FileRow } from '../../../../src/files/store.js';
import { newId } from '../../../../src/platform/ids.js';
import { openTestStorage, type TestStorage } from '../../../support/storage.js';
import { insertSessions } from '../../../support/factories.js';
import { useDatabase, usePool } from '../../../support/use.js';

const PROJECT = 'proj_1';
/** The smallest PNG: one pixel. */
const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);
const PDF = Buffer.from('%PDF-1.4\n1 0 obj\n<<>>\nendobj\ntrailer\n<<>>\n%%EOF\n');

describe('file tools', () => {
  let files: TestStorage;
  let deps: ToolDeps;
  let session: string;
  let turns = 0;

  const db = usePool(useDatabase(), 4);
  before(async () => {
    files = openTestStorage();
    deps = { config: { maxStoragePerProject: 0 }, db, storage: files.storage } as unknown as ToolDeps;
    await db.query('INSERT INTO projects (id, name) VALUES ($1, $1)', [PROJECT]);
  });
  after(() => files.remove());
  beforeEach(async () => {
    session = (await insertSessions(db, PROJECT, 1))[0]!;
  });

  const upload = async (filename: string, content: string | Buffer): Promise<FileRow> => {
    const bytes = Buffer.from(content as string);
    const key = newStorageKey('files', PROJECT);
    await files.storage.put(key, bytes, { contentType: 'x/y' });
    return insertFile(db, {
      id: newId('file'),
      project_id: PROJECT,
      filename,
      mime_type: mimeTypeOf(filename),
      size_bytes: bytes.length,
      origin: 'UPLOAD',
      session_id: null,
      storage_key: key,
    });
  };
  const attach = async (...attached: FileRow[]): Promise<string> => {
    const id = newId('turn');
    turns += 1;
    await db.query(
      `INSERT INTO turns (id, session_id, project_id, number, state) VALUES ($1, $2, $3, $4, 'completed')`,
      [id, session, PROJECT, turns],
    );
    await db.query(
      `INSERT INTO events (id, session_id, turn_id, turn_number, position, type, data, created_at)
       VALUES ($1, $2, $3, $4, 1, 'user.message', $5, clock_timestamp())`,
      [newId('event'), session, id, turns, JSON.stringify({ content: 'x', files: attached, skills: [] })],
    );
    return id;
  };
  const run = (tool: BuiltInTool, input: object, toolUseId = 'toolu_1'): Promise<ToolResult> =>
    tool.run(
      {
        turn: {
          id: 'turn_1',
          sessionId: session,
          projectId: PROJECT,
          number: 1,
          skills: [],
          workspace: null,
          parentSessionId: null,
        },
        name: tool.name,
        toolUseId,
        idempotencyKey: `${session}-${toolUseId}`,
        input: input as Record<string, unknown>,
        signal: new AbortController().signal,
        progress: () => undefined,
      },
      deps,
    );
  const textOf = ({ content }: ToolResult): string =>
    content.map((block) => (block.type === 'text' ? block.text : `<${block.type}>`)).join('\n');
  const read = async (content: string | Buffer, input: object = {}, filename = 'a.txt'): Promise<string> => {
    const file = await upload(filename, content);
    await attach(file);
    return textOf(await run(readFile, { file_id: file.id, ...input }));
  };

  describe('list_files', () => {
    it('list_files names files of every message, each once, and those that were deleted', async () => {
      const first = await upload('a.csv', '1');
      const second = await upload('b "2".txt', '22');
      await attach(first);
      await attach(first, second);
      await db.query('DELETE FROM files WHERE id = $1', [first.id]);
      expect(textOf(await run(listFiles, {}))).to.equal(
        `- "a.csv" (file_id ${first.id}, text/csv, 1 bytes), deleted\n` +
          `- "b \\"2\\".txt" (file_id ${second.id}, text/plain, 2 bytes), attached`,
      );
    });

    it('list_files reports that there are no files', async () => {
      expect(textOf(await run(listFiles, {}))).to.contain('No file');
    });
  });

  describe('read_file', () => {
    it('read_file shows text whole', async () => {
      expect(await read('one\ntwo\n')).to.equal('one\ntwo');
    });

    it('read_file shows pages of lines, and how to read on', async () => {
      const text = Array.from({ length: 5000 }, (_, line) => `line ${line}`).join('\n');
      expect(await read(text)).to.match(/^line 0\n[^]*\nline 1999\n\n\[Lines 0 to 1999 .*offset 2000\.\]$/);
      expect(await read(text, { offset: 4999 })).to.equal('line 4999');
      expect(await read(text, { offset: 10, limit: 1 })).to.equal(
        'line 10\n\n[Lines 10 to 10 are shown; read on with offset 11.]',
      );
      expect(await read(text, { offset: 5000 })).to.contain('has 5000 lines');
    });

    it('read_file reaches all of a text that is one long line', async () => {
      const text = Array.from({ length: 20_000 }, (_, index) => `{"n":${index},"c":"😀é"}`).join(',');
      const file = await upload('a.json', text);
      await attach(file);
      let whole = '';
      for (let offset: number | null = 0; offset !== null;) {
        const page: string = textOf(await run(readFile, { file_id: file.id, offset }));
        expect(Buffer.byteLength(page)).to.be.lessThan(48 * 1024);
        whole += page.replace(/\n\n\[Lines .*\]$/, '').replaceAll('\n', '');
        offset = Number(/offset (\d+)\.\]$/.exec(page)?.[1] ?? NaN) || null;
      }
      expect(whole === text).to.equal(true);
    });

    it('read_file understands UTF-16, UTF-8 with a mark, and single bytes in a text type', async () => {
      const utf16 = Buffer.from('\ufeffTäglich\nzwei', 'utf16le');
      expect(await read(utf16)).to.equal('Täglich\nzwei');
      expect(await read(Buffer.from(utf16).swap16())).to.equal('Täglich\nzwei');
      expect(await read('\ufeffa;b')).to.equal('a;b');
      expect(await read(Buffer.from('caf\xe9;1', 'latin1'), {}, 'a.csv')).to.equal('café;1');
    });

    it('read_file describes files that are not text, image or PDF', async () => {
      expect(await read(Buffer.from([1, 0, 2]), {}, 'a.zip')).to.match(/^"a.zip" \(.*3 bytes\) cannot be shown/);
      expect(await read(Buffer.from([0xff, 1]), {}, 'a.bin')).to.contain('cannot be shown');
      expect(await read('', {}, 'a.txt')).to.equal('(The file is empty.)');
    });

    it('read_file shows an image and a PDF by reference, the image under its real type', async () => {
      const image = await upload('photo.jpg', PNG);
      const pdf = await upload('a.pdf', PDF);
      await attach(image, pdf);
      expect((await run(readFile, { file_id: image.id })).content[1]).to.deep.equal({
        type: 'image',
        media_type: 'image/png',
        storage_key: image.storage_key,
      });
      expect((await run(readFile, { file_id: pdf.id })).content[1]).to.deep.equal({
        type: 'document',
        media_type: 'application/pdf',
        storage_key: pdf.storage_key,
        title: 'a.pdf',
      });
    });

    it("read_file does not send images that the model's API would reject", async () => {
      const wide = Buffer.from(PNG);
      wide.writeUInt32BE(9000, 16);
      const bad: [string, Buffer][] = [
        ['a.png', Buffer.from('no image')],
        ['a.png', wide],
        ['a.png', Buffer.concat([PNG, Buffer.alloc(5 * 1024 * 1024)])],
        ['a.pdf', Buffer.from('no pdf')],
        ['a.pdf', Buffer.concat([PDF, Buffer.from('/Encrypt 1 0 R\n%%EOF')])],
        ['a.pdf', Buffer.concat([PDF, Buffer.alloc(21 * 1024 * 1024)])],
      ];
      for (const [filename, bytes] of bad) expect(await read(bytes, {}, filename)).to.contain('cannot be shown');
    });

    it('read_file reports deleted, lost and foreign files', async () => {
      const [deleted, lost, foreign] = [
        await upload('d.txt', 'x'),
        await upload('l.txt', 'x'),
        await upload('f.txt', 'x'),
      ];
      await attach(deleted, lost);
      await db.query('UPDATE files SET deleted_at = now() WHERE id = $1', [deleted.id]);
      await files.storage.delete(lost.storage_key);
      const answers = await Promise.all([deleted, lost, foreign].map(({ id }) => run(readFile, { file_id: id })));
      expect(answers.map(({ isError }) => isError)).to.deep.equal([true, true, true]);
      expect(textOf(answers[0]!)).to.contain('was deleted');
      expect(textOf(answers[1]!)).to.contain('is lost');
      expect(textOf(answers[2]!)).to.contain('has no file');
    });

    it('read_file reports a missing file for an id that Postgres cannot store', async () => {
      await attach();
      const answer = await run(readFile, { file_id: 'file_\0' });
      expect(answer.isError).to.equal(true);
      expect(textOf(answer)).to.contain('has no file');
    });

    it('read_file pages through the whole of a result that was shortened', async () => {
      const turn = await attach();
      const key = storageKey('results', turn, '0-0');
      await files.storage.put(key, Buffer.from('first\nsecond\nthird'), { contentType: 'text/plain' });
      await db.query(
        `INSERT INTO tool_calls (turn_id, step, index, tool_use_id, name, input, state, overflow_key)
         VALUES ($1, 0, 0, 'toolu_long', 'mcp__a__b', '{}', 'done', $2)`,
        [turn, key],
      );
      expect(textOf(await run(readFile, { file_id: 'toolu_long', offset: 1 }))).to.equal('second\nthird');
    });
  });

  describe('deliver_file', () => {
    const delivered = async (result: ToolResult): Promise<NewEvent[]> =>
      db.transaction(async (tx) => {
        const events = await result.eventsBefore!(tx);
        await result.commit!(tx);
        return events;
      });

    it('deliver_file stores the file, its row and its event with the result', async () => {
      const result = await run(deliverFile, { filename: 'out/report.csv', content: 'a,b\nü,1' });
      expect(await db.query('SELECT FROM files WHERE session_id = $1', [session])).to.have.length(0);
      const [event] = await delivered(result);
      const [row] = await db.query<[FileRow]>('SELECT * FROM files WHERE session_id = $1', [session]);
      expect(row).to.include({ filename: 'report.csv', mime_type: 'text/csv', size_bytes: 8, origin: 'OUTPUT' });
      expect(event).to.deep.equal({
        type: 'agent.file',
        data: { file: { id: row.id, filename: 'report.csv', mime_type: 'text/csv', size_bytes: 8 } },
      });
      expect(textOf(result)).to.contain(row.id);
      expect((await files.storage.read(row.storage_key, 100)).toString()).to.equal('a,b\nü,1');
    });

    it('deliver_file takes base64', async () => {
      const result = await run(deliverFile, {
        filename: 'a.png',
        content: PNG.toString('base64').replace(/(.{20})/g, '$1\n'),
        encoding: 'base64',
      });
      await delivered(result);
      const [row] = await db.query<[FileRow]>('SELECT * FROM files WHERE session_id = $1', [session]);
      expect((await files.storage.read(row.storage_key, 1000)).equals(PNG)).to.equal(true);
    });

    it('deliver_file leaves one object, however often an attempt is repeated', async () => {
      const before: string[] = [];
      for await (const { key } of files.storage.list('files/')) before.push(key);
      for (let attempt = 0; attempt < 3; attempt += 1) await run(deliverFile, { filename: 'a.txt', content: 'x' });
      let count = 0;
      for await (const _ of files.storage.list('files/')) count += 1;
      expect(count - before.length).to.equal(1);
    });

    it('deliver_file tells the model what is wrong with its input', async () => {
      for (const input of [
        { filename: '', content: 'x' },
        { filename: 'a\nb', content: 'x' },
        { filename: 'folder/', content: 'x' },
        { filename: 'a'.repeat(256), content: 'x' },
        { filename: 'a.bin', content: 'not base64!', encoding: 'base64' },
        { filename: 'a.bin', content: 'abc', encoding: 'base64' },
      ]) {
        const result = await run(deliverFile, input);
        expect([result.isError, result.commit], JSON.stringify(input)).to.deep.equal([true, undefined]);
      }
    });
  });

  describe('attachmentBlocks', () => {
    const blocksOf = async (...attached: FileRow[]): Promise<string[]> =>
      (await attachmentBlocks(db, files.storage, { projectId: PROJECT, files: attached }, null)).map((block) =>
        block.type === 'text' ? block.text : block.type,
      );

    it('attachmentBlocks shows images and PDFs, a line for those it cannot show, nothing for other files', async () => {
      const deleted = await upload('gone.png', PNG);
      await db.query('DELETE FROM files WHERE id = $1', [deleted.id]);
      const blocks = await blocksOf(
        await upload('a.png', PNG),
        await upload('a.pdf', PDF),
        await upload('a.csv', '1'),
        await upload('bad.png', 'no image'),
        deleted,
      );
      expect(blocks.slice(0, 2)).to.deep.equal(['image', 'document']);
      expect(blocks[2]).to.match(/^\["bad.png" .* is not shown: it is no image/);
      expect(blocks[3]).to.match(/^\["gone.png" .* is not shown: it was deleted/);
      expect(blocks).to.have.length(4);
    });

    it('attachmentBlocks shows only as many attachments as fit into a request', async () => {
      const large = Buffer.concat([PDF, Buffer.alloc(10 * 1024 * 1024), Buffer.from('%%EOF')]);
      const blocks = await blocksOf(
        await upload('1.pdf', large),
        await upload('2.pdf', large),
        await upload('3.png', PNG),
      );
      expect(blocks.map((block) => block.slice(0, 8))).to.deep.equal(['document', '["2.pdf"', 'image']);
    });
  });
});
