import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';

/** Starts a Node process that ends with this one, and waits until it prints what `ready` matches. */
export async function startChild(args: string[], env: NodeJS.ProcessEnv, ready: RegExp) {
  const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'inherit'] });
  process.once('exit', () => child.kill('SIGTERM'));
  const [, printed = ''] = await outputOf(child, ready);
  const stop = async (): Promise<void> => {
    child.kill('SIGTERM');
    await once(child, 'exit');
  };
  return { printed, pids: [child.pid!], stop };
}

/** Reads the output of a process until `wanted` matches it. */
export function outputOf(child: ChildProcess, wanted: RegExp): Promise<RegExpExecArray> {
  return new Promise((resolve, reject) => {
    let output = '';
    child.stdout!.on('data', (chunk: Buffer) => {
      output += chunk.toString();
      const match = wanted.exec(output);
      if (match !== null) resolve(match);
    });
    child.once('exit', (code) => reject(new Error(`a process ended with ${code}:\n${output}`)));
  });
}
