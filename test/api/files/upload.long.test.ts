import { expect } from 'chai';
import { eventually } from '../../support/eventually.js';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { storedKeys } from '../../support/storage.js';
import { useTempFolder } from '../../support/temp-folder.js';
import {
  filePart,
  MULTIPART,
  multipartBody,
  postParts,
  postStream,
  streamedFile,
  upload,
} from '../../support/upload.js';
import { reachedLimit } from '../../support/rows.js';
import { useService } from '../../support/use.js';

const MIB = 1024 * 1024;

describe('POST /v1/files', () => {
  const temp = useTempFolder();
  const service = useService();

  /** What uploads left in the temporary folder. */
  const leftovers = (): string[] => temp.names().filter((name) => name.startsWith('upload-'));
  const stored = (): Promise<string[]> => storedKeys(service);
  afterEach(() => expect(leftovers()).to.deep.equal([]));

  it('POST /v1/files answers with the file', async () => {
    const { status, body } = await upload(service, 'notes.txt', 'Hello');
    expect(status).to.equal(201);
    expect(body).to.include({
      filename: 'notes.txt',
      mime_type: 'text/plain',
      size_bytes: 5,
      origin: 'UPLOAD',
      session_id: null,
    });
    expect(body.id).to.match(/^file_[0-9a-hjkmnp-tv-z]{26}$/);
    expect(body.created_at).to.match(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
    expect((await service.api('GET', `/v1/files/${body.id}`)).body).to.deep.equal(body);
  });

  it('POST /v1/files takes an empty file', async () => {
    const { status, body } = await upload(service, 'empty.csv', '');
    expect(status).to.equal(201);
    expect(body).to.include({ size_bytes: 0, mime_type: 'text/csv' });
  });

  it('POST /v1/files takes a file part without Content-Type', async () => {
    const part = { disposition: 'form-data; name="file"; filename="a.txt"', content: 'x' };
    expect((await postParts(service, [part])).status).to.equal(201);
  });

  it('POST /v1/files takes a body of which each byte comes alone', async () => {
    const bytes = multipartBody([filePart('übung.txt', 'täglich')]);
    async function* slowly(): AsyncGenerator<Buffer> {
      for (const byte of bytes) {
        yield Buffer.of(byte);
        if (byte > 127) await new Promise((resolve) => setTimeout(resolve, 2));
      }
    }
    const { status, body } = await postStream(service, slowly());
    expect(status).to.equal(201);
    expect(body).to.include({ filename: 'übung.txt', size_bytes: 8 });
  });

  it('POST /v1/files takes a body whose end comes a moment after the end of the file', async () => {
    const content = Buffer.alloc(32 * 1024, 'x');
    async function* endLate(): AsyncGenerator<Buffer> {
      yield multipartBody([filePart('late.txt', content)]);
      await sleep(100);
    }
    const { status, body } = await postStream(service, endLate());
    expect([status, body.size_bytes]).to.deep.equal([201, content.length]);
  });

  describe('the file name', () => {
    const names: [submitted: string, kept: string][] = [
      ['form-data; name="file"; filename="dir/sub/a.txt"', 'a.txt'],
      ['form-data; name="file"; filename="C:\\Users\\me\\report.pdf"', 'report.pdf'],
      ['form-data; name="file"; filename="C:\\\\temp\\\\escaped.pdf"', 'escaped.pdf'],
      ['form-data; name="file"; filename="a\\"b.txt"', 'a"b.txt'],
      ['form-data; name="file"; filename="a%22b.txt"', 'a"b.txt'],
      ['form-data; name="file"; filename="名前.txt"', '名前.txt'],
      [`form-data; name="file"; filename="${'e\u0301'}.txt"`, '\u00e9.txt'],
      ['form-data; name="file"; filename="x.txt"; filename*=UTF-8\'\'%e2%82%ac%20rates.txt', '€ rates.txt'],
      ['form-data; name="file"; filename*=UTF-8\'\'only%20extended.txt', 'only extended.txt'],
      ['form-data; name="file"; filename*=utf-8\'en\'a%2Fb.txt', 'b.txt'],
      ['form-data; name="file"; filename="plain.txt"; filename*=KOI8-R\'\'%ff.txt', 'plain.txt'],
      ['form-data; name="file"; filename*=UTF-8\'\'100%2522.txt', '100%22.txt'],
      ['form-data; name=file; filename=token.txt', 'token.txt'],
      [`form-data; name="file"; filename="${'😀'.repeat(251)}.txt"`, `${'😀'.repeat(251)}.txt`],
      ['form-data; name="file"; filename=".."', '..'],
    ];
    for (const [disposition, kept] of names) {
      it(`a file name ${disposition.slice(23, 80)} becomes ${kept.slice(0, 20)}`, async () => {
        const { status, body } = await postParts(service, [{ disposition, content: 'x' }]);
        expect(status, JSON.stringify(body)).to.equal(201);
        expect(body.filename).to.equal(kept);
      });
    }

    it('the file name is read as latin1 where it is no UTF-8', async () => {
      const disposition = Buffer.from('form-data; name="file"; filename="caf\xe9.txt"', 'latin1');
      expect((await postParts(service, [{ disposition }])).body.filename).to.equal('café.txt');
    });

    const refused: [why: string, filename: string][] = [
      ['empty', ''],
      ['empty after its path', 'folder/'],
      ['256 characters', 'a'.repeat(256)],
      ['a control character', 'a\x01b.txt'],
      ['a tab', 'a\tb.txt'],
      ['DEL', 'a\x7fb.txt'],
      ['a C1 control', 'a\u0085b.txt'],
      ['a line feed as browsers send it', 'a%0Ab.txt'],
    ];
    for (const [why, filename] of refused) {
      it(`a file name with ${why} is refused`, async () => {
        const before = await stored();
        const { status, body } = await postParts(service, [filePart(filename)]);
        expect([status, body.error.type]).to.deep.equal([422, 'invalid_filename']);
        expect(await stored()).to.deep.equal(before);
      });
    }
    it('a file name with a control character in filename* is refused', async () => {
      const disposition = 'form-data; name="file"; filename*=UTF-8\'\'a%00b.txt';
      expect((await postParts(service, [{ disposition }])).body.error.type).to.equal('invalid_filename');
    });
  });

  describe('refuses', () => {
    const cases: [what: string, parts: Parameters<typeof multipartBody>[0], status: number, type: string][] = [
      ['a field only', [{ disposition: 'form-data; name="other"', content: 'x' }], 422, 'validation_error'],
      ['`file` as text', [{ disposition: 'form-data; name="file"', content: 'x' }], 422, 'validation_error'],
      [
        '`file` with a type but no name',
        [{ disposition: 'form-data; name="file"', content: 'x', headers: ['Content-Type: text/plain'] }],
        422,
        'validation_error',
      ],
      [
        'a file of another field',
        [{ disposition: 'form-data; name="upload"; filename="a"', content: 'x' }],
        422,
        'validation_error',
      ],
      ['a field after the file', [filePart('a.txt'), { disposition: 'form-data; name="x"' }], 400, 'bad_request'],
      ['a field before the file', [{ disposition: 'form-data; name="x"' }, filePart('a.txt')], 400, 'bad_request'],
      [
        'more than 1 MiB in a field',
        [{ disposition: 'form-data; name="x"', content: Buffer.alloc(MIB + 1, 'a') }],
        413,
        'content_too_large',
      ],
      [
        'more than 1 MiB in a file of another field',
        [{ disposition: 'form-data; name="x"; filename="a"', content: Buffer.alloc(MIB + 1, 'a') }],
        413,
        'content_too_large',
      ],
      [
        'a megabyte of part headers',
        [{ ...filePart('a.txt'), headers: [`X-Long: ${'a'.repeat(MIB)}`] }],
        400,
        'bad_request',
      ],
      ['a header that cannot be read', [{ disposition: 'form-data; name="file; filename=a' }], 400, 'bad_request'],
      [
        'an encoded file',
        [{ ...filePart('a.txt'), headers: ['Content-Transfer-Encoding: base64'] }],
        400,
        'bad_request',
      ],
      ['a header without a colon', [{ ...filePart('a.txt'), headers: ['nonsense'] }], 400, 'bad_request'],
    ];
    for (const [what, parts, status, type] of cases) {
      it(`POST /v1/files refuses ${what}: ${status} ${type}`, async () => {
        const before = await stored();
        const { status: got, body } = await postParts(service, parts);
        expect([got, body.error.type]).to.deep.equal([status, type]);
        if (type === 'content_too_large') expect(body.error.details).to.deep.equal({ max_bytes: MIB });
        if (type === 'validation_error') expect(body.error.details.errors[0].path).to.equal('/file');
        expect(await stored()).to.deep.equal(before);
      });
    }

    it('POST /v1/files refuses more than 1 MiB after the parts', async () => {
      const epilogue = Buffer.concat([multipartBody([filePart('a.txt')]), Buffer.alloc(MIB + 1, 'e')]);
      expect((await service.api('POST', '/v1/files', epilogue, MULTIPART)).body.error.type).to.equal(
        'content_too_large',
      );
    });

    it('POST /v1/files refuses another Content-Type', async () => {
      for (const type of ['application/json', 'multipart/mixed; boundary=x', 'application/x-www-form-urlencoded']) {
        const { status, body } = await service.api('POST', '/v1/files', '{}', { 'Content-Type': type });
        expect([status, body.error.type]).to.deep.equal([415, 'unsupported_media_type']);
      }
    });

    it('POST /v1/files refuses a body that is no multipart, or lacks its end or its boundary', async () => {
      const bodies = [
        ['garbage', MULTIPART],
        [multipartBody([filePart('a.txt')], ''), MULTIPART],
        ['--x--', { 'Content-Type': 'multipart/form-data' }],
      ] as const;
      for (const [body, headers] of bodies) {
        const { status, body: answer } = await service.api('POST', '/v1/files', body, headers);
        expect([status, answer.error.type]).to.deep.equal([400, 'bad_request']);
      }
    });

    it('POST /v1/files refuses no body at all', async () => {
      const { status, body } = await service.api('POST', '/v1/files', undefined, MULTIPART);
      expect([status, body.error.type]).to.deep.equal([422, 'validation_error']);
    });
  });

  it('POST /v1/files takes 100 MiB, and no byte more', async () => {
    const most = await postStream(service, streamedFile(100 * MIB));
    expect([most.status, most.body.size_bytes]).to.deep.equal([201, 100 * MIB]);
    const before = await stored();
    const more = await postStream(service, streamedFile(100 * MIB + 1));
    expect([more.status, more.body.error.type]).to.deep.equal([413, 'file_too_large']);
    expect(more.body.error.details).to.deep.equal({ max_bytes: 100 * MIB });
    expect(await stored()).to.deep.equal(before);
    await service.api('DELETE', `/v1/files/${most.body.id}`);
    reachedLimit('file: 100 MiB');
  });

  it('POST /v1/files cuts off while bytes arrive', async () => {
    const { status, sentAll } = await postStream(service, streamedFile(4096 * MIB));
    expect([status, sentAll]).to.deep.equal([413, false]);
  });

  it('POST /v1/files leaves no file after an upload that breaks off', async () => {
    const before = await stored();
    const url = new URL(service.url);
    const socket = connect(Number(url.port), url.hostname);
    socket.write(
      `POST /v1/files HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${service.key}\r\n` +
        `Content-Type: ${MULTIPART['Content-Type']}\r\nContent-Length: 10000000\r\n\r\n`,
    );
    socket.write(multipartBody([filePart('a.txt', Buffer.alloc(200_000))], ''));
    await eventually('the part is there', () => leftovers().length === 1);
    socket.destroy();
    await eventually('the part is removed', () => leftovers().length === 0);
    expect(await stored()).to.deep.equal(before);
  });
});
