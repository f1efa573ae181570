import { expect } from 'chai';
import fc from 'fast-check';
import { json } from 'node:stream/consumers';
import { withoutMedia } from '../../dev/fake-model/without-media.js';

async function* inPieces(text: string, size: number): AsyncGenerator<Buffer> {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

const image = (data: string) => ({
  type: 'image' as const,
  source: { type: 'base64', media_type: 'image/png', data },
});

describe('a request to the local model', () => {
  it('a request to the local model loses the base64 of its media and nothing else, whatever its pieces', async () => {
    const text = fc.oneof(
      fc.string({ maxLength: 40 }),
      fc.constantFrom('"type":"base64"', '"data":"', '{"data":"a\\"b"}', '\\'),
    );
    const block = fc.oneof(
      text.map((value) => ({ type: 'text' as const, text: value })),
      text.map((value) => ({ type: 'tool_use' as const, input: { data: value } })),
      fc.base64String({ maxLength: 200 }).map(image),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(block, { maxLength: 6 }), fc.integer({ min: 1, max: 50 }), async (blocks, size) => {
        const expected = blocks.map((one) => (one.type === 'image' ? image('') : one));
        expect(await json(withoutMedia(inPieces(JSON.stringify(blocks), size)))).to.deep.equal(expected);
      }),
    );
  });

  it('a request to the local model is not kept with them while it arrives', async () => {
    let kept = 0;
    const media = Array.from({ length: 4 }, () => image('A'.repeat(4_000_000)));
    for await (const piece of withoutMedia(inPieces(JSON.stringify(media), 65_536))) kept += piece.length;
    expect(kept).to.be.lessThan(1000);
  });
});
