import { createServer, type Server, type Socket } from 'node:net';
import { Readable } from 'node:stream';
import type { Logger } from '../../../src/platform/logger.js';
import { ignored } from '../../../src/platform/ignored.js';
import { decodeManifest, EMPTY_MANIFEST, encodeManifest } from '../../../src/workspaces/manifest.js';
import type { ContentReader, StoredContent } from '../../../src/workspaces/packs.js';
import type { Mount, Sandbox, SandboxAt, ScannedTree } from '../../../src/workspaces/sandbox.js';
import { BubblewrapProvider } from '../bubblewrap/provider.js';
import { Channel, ChannelClosedError, POD_PORT, type FromPod, type FromWorker, type Pod } from './channel.js';

/** The one session of a pod: its provider keeps the tree between commands under this name. */
const SESSION = 'pod';

/** The pod has limits of its own: what the daemon misses ends this session's pod alone. */
const WATCHED = { cgroups: false, images: false };

type PodChannel = Channel<FromPod, FromWorker>;
interface PulledAt extends SandboxAt {
  reader: ContentReader;
}

/**
 * The daemon of a sandbox pod: the provider of bubblewrap, whose trees and mounts come from a worker. The pod's kernel (gVisor)
 * keeps sessions apart; bubblewrap keeps the command apart from the daemon, and gives it the same view, user and limits as on a
 * worker's own machine.
 * @throws Error if no command can run here, or if the port cannot be listened at
 */
export async function startDaemon(
  pod: Pod,
  sandboxes: ConstructorParameters<typeof BubblewrapProvider>[0],
  log: Logger,
): Promise<{ close: () => Promise<void> }> {
  const provider = new BubblewrapProvider<PulledAt>(sandboxes, ({ reader }) => reader, log, WATCHED);
  const problem = await provider.check();
  if (problem !== null) throw new Error(`${problem.reason} ${problem.remedy}`);
  let current: Connection | null = null;
  const server = createServer({ noDelay: true }, (socket: Socket) => {
    const connection = new Connection(new Channel(socket), pod.name, provider, async () => {
      // The newest attempt of the session's call has the pod alone; an older one may be that of a worker that is cut off.
      const previous = current;
      current = connection;
      await previous?.end();
    });
    void connection.serve().catch((err: unknown) => {
      if (!(err instanceof ChannelClosedError)) log.error({ err }, 'a connection failed');
    });
  });
  await listen(server, pod.address);
  const close = async (): Promise<void> => {
    server.close();
    await current?.end();
    provider.close();
  };
  return { close };
}

function listen(server: Server, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(POD_PORT, host, resolve);
  });
}

/** A worker's connection: one sandbox, from its `open` to its end. */
class Connection {
  readonly #ended = new AbortController();
  #done: Promise<void> = Promise.resolve();
  #sandbox: Sandbox | null = null;

  constructor(
    private readonly channel: PodChannel,
    private readonly pod: string,
    private readonly provider: BubblewrapProvider<PulledAt>,
    private readonly takeOver: () => Promise<void>,
  ) {}

  serve(): Promise<void> {
    return (this.#done = this.#serve());
  }

  /** Ends its command and discards its changes. */
  async end(): Promise<void> {
    this.channel.destroy();
    await this.#done.catch(ignored('the connection has logged it'));
  }

  async #serve(): Promise<void> {
    try {
      await this.#open();
      for (;;) {
        const message = await this.channel.take();
        if (Buffer.isBuffer(message)) throw new Error('bytes came that nothing announced');
        if (message.type === 'run') await this.#run(message);
        else if (message.type === 'scan') return await this.#store();
        // Of a command that has just ended.
        else if (message.type !== 'abort') throw new Error(`${message.type} is not expected`);
      }
    } catch (error) {
      if (!(error instanceof ChannelClosedError)) await this.#fail(error as Error);
      throw error;
    } finally {
      await this.#sandbox?.close(null);
      this.channel.end();
    }
  }

  async #fail({ message }: Error): Promise<void> {
    await this.channel.send({ type: 'failed', message }).catch(ignored('the worker is gone'));
  }

  async #open(): Promise<void> {
    const { pod, mounts } = await this.channel.expect('open');
    if (pod !== this.pod) throw new Error(`this is the pod ${this.pod}, not ${pod}`);
    const base = await decodeManifest(await this.channel.expectBytes());
    await this.takeOver();
    const pull = new Pull(this.channel);
    const at: PulledAt = {
      ...{ sessionId: SESSION, projectId: SESSION, base, reader: pull },
      mounts: mounts.map((mount): Mount => ({ bytes: 0, ...mount, contents: () => pull.mount(mount.id) })),
    };
    this.#sandbox = await this.provider.open(at, this.#ended.signal);
    await this.channel.send({ type: 'opened' });
  }

  async #run({ argv, cwd, timeoutMs, stdin }: Extract<FromWorker, { type: 'run' }>): Promise<void> {
    const input = stdin ? await this.#input() : null;
    const stop = new AbortController();
    const running = this.#sandbox!.run(argv, {
      ...{ cwd, timeoutMs, stdin: input, signal: stop.signal },
      onOutput: (chunk) => this.channel.sendBytes(chunk).catch(ignored('the end of the connection ends the command')),
    });
    // The worker stops it, or is gone.
    const interrupted = this.channel.peek().then(
      () => stop.abort(new Error('stopped')),
      () => stop.abort(new Error('the worker is gone')),
    );
    const end = await Promise.race([running, interrupted.then(() => running)]).catch((error: unknown) => {
      if (!stop.signal.aborted) throw error;
      return null;
    });
    await this.channel.send(end === null ? { type: 'aborted' } : { type: 'ran', end });
  }

  async #input(): Promise<Buffer> {
    const chunks: Buffer[] = [];
    for (;;) {
      const frame = await this.channel.take();
      if (!Buffer.isBuffer(frame)) return Buffer.concat(chunks);
      chunks.push(frame);
    }
  }

  async #store(): Promise<void> {
    const sandbox = this.#sandbox!;
    this.#sandbox = null;
    await sandbox.close((scanned) => this.#passOn(scanned));
    await this.channel.send({ type: 'closed' });
  }

  /** Passes on the tree and the contents that are asked for, until the worker has stored them. */
  async #passOn({ entries, notKept, isOver, contentOf }: ScannedTree): Promise<void> {
    const kept = isOver ? [] : entries;
    await this.channel.send({ type: 'scanned', notKept, isOver });
    await this.channel.sendBytes(await encodeManifest({ ...EMPTY_MANIFEST, entries: kept }));
    for (;;) {
      const message = await this.channel.take();
      if (Buffer.isBuffer(message)) throw new Error('bytes came that nothing announced');
      if (message.type === 'stored') return;
      if (message.type !== 'content') throw new Error(`${message.type} is not expected`);
      for await (const chunk of contentOf(message.path)) await this.channel.sendBytes(chunk as Buffer);
      await this.channel.send({ type: 'end' });
    }
  }
}

/** Asks the worker for what a sandbox begins with: one mount after the other, then the contents of the version. */
class Pull implements ContentReader {
  #last: Promise<unknown> = Promise.resolve();
  #asksVersion = false;
  #rest: Buffer = Buffer.alloc(0);

  constructor(private readonly channel: PodChannel) {}

  async *read({ size }: StoredContent): AsyncGenerator<Buffer> {
    if (!this.#asksVersion) await this.channel.send({ type: 'want', mount: null });
    this.#asksVersion = true;
    for (let missing = size; missing > 0;) {
      if (this.#rest.length === 0) this.#rest = await this.channel.expectBytes();
      const chunk = this.#rest.subarray(0, missing);
      this.#rest = this.#rest.subarray(chunk.length);
      missing -= chunk.length;
      yield chunk;
    }
  }

  async close(): Promise<void> {
    if (this.#asksVersion) await this.channel.expect('end');
  }

  async *mount(id: string): AsyncGenerator<{ path: string; content: Readable }> {
    const before = this.#last;
    let done = (): void => undefined;
    this.#last = new Promise<void>((resolve) => (done = resolve));
    await before;
    try {
      await this.channel.send({ type: 'want', mount: id });
      for (;;) {
        const message = await this.channel.take();
        if (Buffer.isBuffer(message) || (message.type !== 'file' && message.type !== 'end'))
          throw new Error('a file of a mount is expected');
        if (message.type === 'end') return;
        yield { path: message.path, content: Readable.from(this.#file(), { objectMode: false }) };
      }
    } finally {
      done();
    }
  }

  /** The bytes up to the message that follows them, which stays. */
  async *#file(): AsyncGenerator<Buffer> {
    while (Buffer.isBuffer(await this.channel.peek())) yield (await this.channel.take()) as Buffer;
  }
}
