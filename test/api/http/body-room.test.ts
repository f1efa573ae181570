import { connect, type Socket } from 'node:net';
import { expect } from 'chai';
import { eventually } from '../../support/eventually.js';
import { useService } from '../../support/use.js';

const MIB = 1024 * 1024;
/** Half of 64 MiB, of bodies of 2 MiB. */
const OF_ONE_PROJECT = 16;

describe('JSON bodies in memory', () => {
  const service = useService();
  const sockets: Socket[] = [];
  after(() => {
    for (const socket of sockets) socket.destroy();
  });

  /** A request whose body has arrived but for its last byte. */
  const hold = (key: string): Socket => {
    const { hostname, port } = new URL(service.url);
    const socket = connect({ host: hostname, port: Number(port) });
    socket.on('error', () => undefined);
    sockets.push(socket);
    const head = `POST /v1/sessions HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\n`;
    socket.write(`${head}Content-Length: ${2 * MIB}\r\n\r\n"`);
    return socket;
  };

  it('JSON bodies in memory of one project take half of the room: its next one waits, and those of others do not', async () => {
    const other = service.as(await service.newKey({ project: 'other' }));
    const held = Array.from({ length: OF_ONE_PROJECT }, () => hold(service.key));
    const send = (): Promise<{ status: number }> => service.api('POST', '/v1/sessions', { model_id: 'test-model' });
    let waiting: Promise<{ status: number }> | null = null;
    let isAnswered = false;
    // The bodies arrive a moment after their connections.
    await eventually('a body waits', async () => {
      isAnswered = false;
      waiting = send().then((answer) => {
        isAnswered = true;
        return answer;
      });
      for (let round = 0; round < 3; round += 1)
        expect((await other('POST', '/v1/sessions', { model_id: 'test-model' })).status).to.equal(201);
      return !isAnswered;
    });
    held[0]!.destroy();
    expect((await waiting!).status).to.equal(201);
  });
});
