/** A source of an image or document begins so. Inside of a text these bytes cannot stand: quotes are escaped there. */
const SOURCE = Buffer.from('"type":"base64"');
const DATA = Buffer.from('"data":"');
const END = Buffer.from('"');
const MARKS = [SOURCE, DATA, END];

/**
 * Drops the base64 of images and documents while a request arrives. The rules do not look at it, and forty requests with
 * 17 MB each would take a gigabyte as text.
 */
export async function* withoutMedia(body: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let bytes: Buffer = Buffer.alloc(0);
  let next = 0;
  for await (const chunk of body) {
    bytes = bytes.length === 0 ? chunk : Buffer.concat([bytes, chunk]);
    for (let at = bytes.indexOf(MARKS[next]!); at !== -1; at = bytes.indexOf(MARKS[next]!)) {
      const end = MARKS[next] === END ? at : at + MARKS[next]!.length;
      if (MARKS[next] !== END) yield bytes.subarray(0, end);
      bytes = bytes.subarray(end);
      next = (next + 1) % MARKS.length;
    }
    // The beginning of the next mark may have arrived.
    const kept = Math.min(bytes.length, MARKS[next]!.length - 1);
    if (MARKS[next] !== END) yield bytes.subarray(0, bytes.length - kept);
    bytes = bytes.subarray(bytes.length - kept);
  }
  yield bytes;
}
