import { connect, type Socket } from 'node:net';
import { Readable } from 'node:stream';
import { ignored } from '../../../src/platform/ignored.js';
import { unlessLate } from '../../../src/platform/limited-wait.js';
import { MIB } from '../../../src/platform/units.js';
import { decodeManifest, encodeManifest, isFile, type TreeEntry } from '../../../src/workspaces/manifest.js';
import { contentsOf, type ContentReader } from '../../../src/workspaces/packs.js';
import {
  SandboxFailedError,
  type CommandEnd,
  type CommandIo,
  type Mount,
  type Sandbox,
  type SandboxAt,
  type ScannedTree,
} from '../../../src/workspaces/sandbox.js';
import { Channel, ChannelClosedError, POD_PORT, type FromPod, type FromWorker, type Pod } from './channel.js';
import { checkEnd, checkScan } from './check-answers.js';

const CONNECT_TIMEOUT_MS = 5000;
/** A pod ends a command within milliseconds. */
const ABORT_TIMEOUT_MS = 2000;
/** A pod stops a command at its time; one that does not answer so much later is not what it was. */
const ANSWER_TIMEOUT_MS = 15_000;
const SCAN_TIMEOUT_MS = 300_000;
/** Of the JSON of a tree: 8 MiB of names, and 20,000 entries. */
const MAX_SCAN_BYTES = 16 * MIB;

/** The pod cannot be reached, or no command can run in it: another one may do. */
export class BadPodError extends SandboxFailedError {}

type WorkerChannel = Channel<FromWorker, FromPod>;

/**
 * Opens a sandbox in a pod, through its daemon.
 * @throws BadPodError; SandboxFailedError if the pod is lost meanwhile or used by a newer attempt; what `reader` and the mounts throw; the signal's reason
 */
export async function openInPod(
  pod: Pod,
  at: SandboxAt,
  { reader, maxBytes, signal }: { reader: ContentReader; maxBytes: number; signal: AbortSignal },
): Promise<Sandbox> {
  const channel: WorkerChannel = new Channel(await connectTo(pod, signal));
  const stop = (): void => channel.destroy();
  signal.addEventListener('abort', stop, { once: true });
  try {
    const mounts = at.mounts.map(({ id, target, kind, bytes }) => ({ id, target, kind, bytes }));
    await channel.send({ type: 'open', pod: pod.name, mounts });
    await channel.sendBytes(await encodeManifest({ ...at.base, delivered: null }));
    for (;;) {
      const message = await receive(channel);
      if (message.type === 'opened') return new RemoteSandbox(channel, maxBytes);
      if (message.type !== 'want') throw new SandboxFailedError(`the pod ${pod.name} answers with ${message.type}`);
      if (message.mount === null) await sendVersion(channel, at, reader);
      else await sendMount(channel, at.mounts, message.mount);
    }
  } catch (error) {
    channel.destroy();
    signal.throwIfAborted();
    throw failure(error);
  } finally {
    signal.removeEventListener('abort', stop);
    await reader.close();
  }
}

async function connectTo({ name, address }: Pod, signal: AbortSignal): Promise<Socket> {
  signal.throwIfAborted();
  const socket = connect({ host: address, port: POD_PORT });
  const late = (): never => {
    throw new Error(`no connection within ${CONNECT_TIMEOUT_MS / 1000} s`);
  };
  try {
    const connected = new Promise<void>((resolve, reject) => socket.once('connect', resolve).once('error', reject));
    await unlessLate(connected, CONNECT_TIMEOUT_MS, late);
    return socket;
  } catch (error) {
    socket.on('error', ignored('it is not used')).destroy();
    throw new BadPodError(`the pod ${name} cannot be reached: ${(error as Error).message}`, { cause: error });
  }
}

async function sendVersion(channel: WorkerChannel, { base }: SandboxAt, reader: ContentReader): Promise<void> {
  for (const content of contentsOf(base)) {
    for await (const chunk of reader.read(content)) await channel.sendBytes(chunk);
  }
  await channel.send({ type: 'end' });
}

async function sendMount(channel: WorkerChannel, mounts: Mount[], id: string): Promise<void> {
  const mount = mounts.find((one) => one.id === id);
  if (mount === undefined) throw new SandboxFailedError('the pod asks for a mount that it was not given');
  for await (const { path, content } of mount.contents()) {
    await channel.send({ type: 'file', path });
    for await (const chunk of Buffer.isBuffer(content) ? [content] : content) await channel.sendBytes(chunk as Buffer);
  }
  await channel.send({ type: 'end' });
}

/** The next message. @throws SandboxFailedError */
async function receive(channel: WorkerChannel): Promise<FromPod> {
  const frame = await channel.take();
  if (Buffer.isBuffer(frame)) throw new SandboxFailedError('the pod sends bytes that nothing announced');
  if (frame.type === 'failed') throw new BadPodError(frame.message);
  return frame;
}

function failure(error: unknown): unknown {
  return error instanceof ChannelClosedError ? new SandboxFailedError(error.message, { cause: error }) : error;
}

/** A sandbox in a pod. The pod ends it when the connection ends. */
class RemoteSandbox implements Sandbox {
  #reading: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly channel: WorkerChannel,
    private readonly maxBytes: number,
  ) {}

  async run(argv: string[], { cwd, stdin, timeoutMs, onOutput, signal }: CommandIo): Promise<CommandEnd> {
    signal.throwIfAborted();
    let timer = setTimeout(() => this.channel.destroy(), timeoutMs + ANSWER_TIMEOUT_MS);
    const abort = (): void => {
      clearTimeout(timer);
      timer = setTimeout(() => this.channel.destroy(), ABORT_TIMEOUT_MS);
      this.channel.send({ type: 'abort' }).catch(ignored('the pod ends the command with the connection'));
    };
    signal.addEventListener('abort', abort, { once: true });
    try {
      await this.channel.send({ type: 'run', argv, cwd, timeoutMs, stdin: stdin !== null });
      if (stdin !== null) {
        await this.channel.sendBytes(stdin);
        await this.channel.send({ type: 'end' });
      }
      for (;;) {
        const frame = await this.channel.take();
        if (Buffer.isBuffer(frame)) {
          if (!signal.aborted) await onOutput(frame);
          continue;
        }
        signal.throwIfAborted();
        if (frame.type === 'ran') return checkEnd(frame.end);
        if (frame.type === 'failed') throw new BadPodError(frame.message);
        throw new SandboxFailedError(`the pod answers with ${frame.type}`);
      }
    } catch (error) {
      signal.throwIfAborted();
      this.channel.destroy();
      throw failure(error);
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', abort);
    }
  }

  async close<T>(store: ((scanned: ScannedTree) => Promise<T>) | null): Promise<T | null> {
    if (store === null) {
      this.channel.destroy();
      return null;
    }
    try {
      await this.channel.send({ type: 'scan' });
      const late = (): never => {
        throw new SandboxFailedError('a pod did not read its tree in time');
      };
      const scanned = await unlessLate(receive(this.channel), SCAN_TIMEOUT_MS, late);
      if (scanned.type !== 'scanned') throw new SandboxFailedError(`the pod answers with ${scanned.type}`);
      const { notKept, isOver } = scanned;
      const entries = await checkScan({ entries: await this.#entries(), notKept, isOver }, this.maxBytes);
      const sizes = new Map(entries.filter(isFile).map(({ path, size }) => [path, size]));
      const contentOf = (path: string): Readable =>
        Readable.from(this.#read(path, sizes.get(path)!), { objectMode: false });
      const stored = await store({ entries, notKept, isOver, contentOf });
      await this.#reading.catch(ignored('its reader has the error'));
      // The pod may be lost now: the next command begins with what is stored.
      await this.#keep().catch(ignored('it is restored in another pod'));
      return stored;
    } catch (error) {
      throw failure(error);
    } finally {
      this.channel.destroy();
    }
  }

  async #entries(): Promise<TreeEntry[]> {
    const bytes = await this.channel.expectBytes();
    const { entries } = await decodeManifest(bytes, MAX_SCAN_BYTES).catch((cause: unknown) => {
      throw new SandboxFailedError('a pod sends a tree that cannot be read', { cause });
    });
    return entries;
  }

  async #keep(): Promise<void> {
    await this.channel.send({ type: 'stored' });
    await this.channel.expect('closed');
  }

  /** Files are read one after the other. What a reader does not take is read to its end. */
  async *#read(path: string, size: number): AsyncGenerator<Buffer> {
    const before = this.#reading;
    let done = (): void => undefined;
    this.#reading = new Promise<void>((resolve) => (done = resolve));
    await before;
    let isRead = false;
    try {
      await this.channel.send({ type: 'content', path });
      let missing = size;
      for (let chunk; (chunk = await this.#chunk()) !== null;) {
        missing -= chunk.length;
        if (missing < 0) throw new SandboxFailedError('a pod sends more of a file than the file has');
        yield chunk;
      }
      isRead = true;
    } catch (error) {
      isRead = true;
      this.channel.destroy();
      throw failure(error);
    } finally {
      try {
        while (!isRead && (await this.#chunk()) !== null);
      } finally {
        done();
      }
    }
  }

  async #chunk(): Promise<Buffer | null> {
    const frame = await this.channel.take();
    if (Buffer.isBuffer(frame)) return frame;
    if (frame.type === 'end') return null;
    throw new SandboxFailedError(frame.type === 'failed' ? frame.message : `the pod answers with ${frame.type}`);
  }
}
