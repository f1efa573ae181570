import { connect } from 'node:net';

/** Sends bytes as they are and returns all that comes back until the server closes, or until `enough` returns true. */
export async function rawHttp(
  url: string,
  bytes: string | Buffer,
  enough: (received: string) => boolean = () => false,
): Promise<string> {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port) });
  socket.write(bytes);
  let received = '';
  return new Promise((resolve, reject) => {
    const done = (): void => {
      socket.destroy();
      resolve(received);
    };
    socket.setTimeout(20_000, () => reject(new Error(`the server stays silent after: ${received}`)));
    socket.on('data', (chunk) => {
      received += chunk.toString('latin1');
      if (enough(received)) done();
    });
    socket.on('end', done);
    socket.on('error', (error) => (received === '' ? reject(error) : done()));
  });
}
