import { expect } from 'chai';
import type { ApiResponse } from '../support/client.js';
import { reachedLimit, type LIMITS } from '../support/rows.js';
import { multipartBody, postParts } from '../support/upload.js';
import { useService } from '../support/use.js';

/** Requests that take little to send and much to serve (docs/limits.md "Work"): at the bound, and one beyond. */
describe('limits of work', () => {
  const service = useService();

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

  const create = (tools: object[]): Promise<ApiResponse> =>
    service.api('POST', '/v1/sessions', { model_id: 'test-model', tools });
  /** A tool of `values` JSON values. */
  const tool = (name: string, values: number): object => {
    const input_schema = { type: 'object', examples: lists(values - 6) };
    return { type: 'custom', name, description: '', input_schema };
  };
  /** A body of `values` JSON values. */
  const withTools = (values: number): Promise<ApiResponse> => {
    const others = Array.from({ length: 25 }, (_, number) => tool(`tool_${number}`, 3_900));
    return create([...others, tool('last', values - 3 - 25 * 3_900)]);
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

  const values: [limit: (typeof LIMITS)[number], at: () => Promise<ApiResponse>, beyond: () => Promise<ApiResponse>][] =
    [
      ['JSON values of POST sessions: 100,000', () => withTools(100_000), () => withTools(100_001)],
      ['JSON values of a tool’s schema: 4,000', () => create([tool('a', 4_004)]), () => create([tool('a', 4_005)])],
    ];
  for (const [limit, at, beyond] of values) {
    it(limit, async () => {
      const taken = await at();
      expect(taken.status, JSON.stringify(taken.body).slice(0, 500)).to.equal(201);
      const refused = await beyond();
      expect([refused.status, refused.body.error.type]).to.deep.equal([422, 'validation_error']);
      const path = limit.includes('schema') ? '/tools/0/input_schema' : '';
      expect(refused.body.error.details.errors[0].path).to.equal(path);
      reachedLimit(limit);
    });
  }

  it('JSON values of another body: 10,000', async () => {
    const { body: session } = await create([]);
    // The body and its metadata are two values. No body with this many values is valid, but only one value more ends the reading.
    const patch = async (count: number): Promise<unknown> => {
      const { status, body } = await service.api('PATCH', `/v1/sessions/${session.id}`, { metadata: lists(count - 1) });
      return [status, body.error.details.errors[0].path];
    };
    expect(await patch(10_000)).to.deep.equal([422, '/metadata']);
    expect(await patch(10_001)).to.deep.equal([422, '']);
    reachedLimit('JSON values of another body: 10,000');
  });
});

/** Lists with `values` JSON values in total, each of at most 1,000. */
function lists(values: number): unknown[] {
  const outer: unknown[] = [];
  for (let left = values - 1; left > 0; left -= 1000)
    outer.push(left === 1 ? 1 : Array(Math.min(left, 1000) - 1).fill(1));
  return outer;
}
