import { expect } from 'chai';
import type { ApiResponse } from '../support/client.js';
import { reachedLimit, type LIMITS } from '../support/rows.js';
import { startService, type TestService } from '../support/service.js';
import { multipartBody, postParts } from '../support/upload.js';

/** Requests that take little to send and much to serve (docs/limits.md "Work"): at the bound, and one beyond. */
describe('limits of work', () => {
  let service: TestService;
  before(async () => (service = await startService()));
  after(() => service.close());

  const DISPOSITION = 'form-data; name="file"; filename="a.txt"';
  const send = (disposition: string, headers: string[] = []): Promise<ApiResponse> =>
    postParts(service, [{ disposition, content: 'x', headers }]);
  /** The header block has `size` bytes. */
  const withHeaders = (size: number): Promise<ApiResponse> => {
    const known = `Content-Disposition: ${DISPOSITION}\r\nX-More: `.length;
    return send(DISPOSITION, [`X-More: ${'a'.repeat(size - known)}`]);
  };
  const withParameters = (count: number): Promise<ApiResponse> =>
    send(DISPOSITION + Array.from({ length: count - 2 }, (_, i) => `; p${i}=v`).join(''));
  const withBoundary = (length: number): Promise<ApiResponse> => {
    const boundary = 'b'.repeat(length);
    const body = multipartBody([{ disposition: DISPOSITION }], '').toString();
    const type = `multipart/form-data; boundary=${boundary}`;
    const sent = `${body.replaceAll('x-test-boundary', boundary)}--${boundary}--\r\n`;
    return service.api('POST', '/v1/files', sent, { 'Content-Type': type });
  };

  const bounds: [limit: (typeof LIMITS)[number], request: (size: number) => Promise<ApiResponse>, at: number][] = [
    ['headers of a part: 16 KiB', withHeaders, 16 * 1024],
    ['Content-Disposition: 8 KiB', (size) => send(DISPOSITION.padEnd(size - 4) + ';a=b'), 8 * 1024],
    ['Content-Disposition: 16 parameters', withParameters, 16],
    ['boundary: 70 characters', withBoundary, 70],
  ];
  for (const [limit, request, at] of bounds) {
    it(limit, async () => {
      const taken = await request(at);
      expect(taken.status, JSON.stringify(taken.body)).to.equal(201);
      const refused = await request(at + 1);
      expect([refused.status, refused.body.error.type]).to.deep.equal([400, 'bad_request']);
      reachedLimit(limit);
    });
  }
});
