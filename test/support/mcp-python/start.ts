import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

/** Starts a server of the Python SDK, a file of this directory, on a port; returns how to end it. */
export async function startPythonServer(file: 'server.py' | 'tasks.py', port: number): Promise<() => Promise<void>> {
  const path = fileURLToPath(new URL(file, import.meta.url));
  const child = spawn(process.env.MCP_PYTHON!, [path, String(port)], { stdio: ['ignore', 'ignore', 'pipe'] });
  for await (const line of child.stderr.iterator({ destroyOnReturn: false })) {
    if (String(line).includes('running on')) break;
  }
  child.stderr.resume();
  return async () => {
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  };
}
