import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { eventually } from './eventually.js';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const FOLDER = join(ROOT, 'examples', 'order-desk');

/** A process of the example or of the service, with what it has printed. */
export interface Part {
  child: ChildProcess;
  output: () => string;
}

/** The commands of the example's README, as a person types them, each in a terminal of its own. */
export class OrderDesk {
  readonly parts: Part[] = [];
  env: NodeJS.ProcessEnv;

  constructor(
    readonly data: string,
    ports: { orders: number; webhooks: number; api: number },
  ) {
    const { PATH, HOME, TMPDIR, XDG_CACHE_HOME } = process.env;
    this.env = {
      ...{ PATH, HOME, TMPDIR, XDG_CACHE_HOME },
      DATA_DIR: join(data, 'service'),
      DESK_DATA: join(data, 'desk'),
      PORT: String(ports.api),
      BASE: `http://127.0.0.1:${ports.api}`,
      ORDERS_PORT: String(ports.orders),
      WEBHOOK_PORT: String(ports.webhooks),
      MCP_ALLOWED_HOSTS: `127.0.0.1:${ports.orders},127.0.0.1:${ports.webhooks}`,
    };
  }

  /** Starts a command in a process group of its own, so that all it starts can be killed. */
  start(command: string, args: string[], cwd = FOLDER): Part {
    const child = spawn(command, args, { cwd, env: this.env, detached: true });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += String(chunk)));
    const part = { child, output: () => output };
    this.parts.push(part);
    return part;
  }

  script(name: string, ...args: string[]): Part {
    return this.start('npm', ['run', '--silent', name, ...(args.length > 0 ? ['--', ...args] : [])]);
  }

  async prints(part: Part, pattern: RegExp, withinMs = 120_000): Promise<RegExpExecArray> {
    const found = (): RegExpExecArray | null => pattern.exec(part.output());
    await eventually(
      `${pattern.source} in the output`,
      () => {
        if (found() === null && part.child.exitCode !== null) throw new Error(`it ended:\n${part.output()}`);
        return found() !== null;
      },
      withinMs,
    );
    return found()!;
  }

  /** The MCP server, `npm start`, and the receiver of webhooks. */
  async startServices(): Promise<void> {
    await this.prints(this.script('orders'), /orders at/);
    const service = this.start('npm', ['start'], ROOT);
    await this.prints(service, /Ctrl-C/);
    // The key of the README, with the permissions that it names.
    this.env.KEY ??= await this.newKey('--scopes', /--scopes (\S+)\)/.exec(readme())![1]!);
    await this.prints(this.script('webhooks'), /webhooks at/);
  }

  /** A key of the desk's project; with all permissions unless some are named. */
  async newKey(...options: string[]): Promise<string> {
    const args = ['run', '--silent', 'keys', '--', 'create', '--project', 'desk', ...options];
    return (await promisify(execFile)('npm', args, { cwd: ROOT, env: this.env })).stdout.trim();
  }

  /** SIGKILL of everything: the example, `npm start`, and its Postgres and Temporal. */
  async killEverything(): Promise<void> {
    const running = this.parts.filter(({ child }) => (child.exitCode ?? child.signalCode) === null);
    const ends = running.map(({ child }) => once(child, 'exit'));
    for (const pid of [...this.serverPids(), ...this.parts.map(({ child }) => -child.pid!)]) kill(pid);
    await Promise.all(ends);
    this.parts.length = 0;
  }

  /** Each line of a file of the example. */
  lines(name: string): Record<string, string>[] {
    const path = join(this.env.DESK_DATA!, name);
    if (!existsSync(path)) return [];
    const whole = readFileSync(path, 'utf8').split('\n').slice(0, -1);
    return whole.map((line) => JSON.parse(line) as Record<string, string>);
  }

  private serverPids(): number[] {
    const dir = this.env.DATA_DIR!;
    const records = ['postgres.pid', 'temporal.pid', 'service.pid'].map((name) => join(dir, name)).filter(existsSync);
    return records.map((record) => (JSON.parse(readFileSync(record, 'utf8')) as { pid: number }).pid);
  }
}

function readme(): string {
  return readFileSync(join(FOLDER, 'README.md'), 'utf8');
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended already.
  }
}
