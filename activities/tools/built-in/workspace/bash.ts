import { WORKSPACE } from '../../../../src/workspaces/layout.js';
import { textResult, type BuiltInTool } from '../../tool.js';
import { callInWorkspace } from './call.js';
import { OutputCollector } from './output.js';

const MAX_TIMEOUT_MS = 600_000;

interface Input {
  command?: string;
  timeout_ms?: number;
  restart?: boolean;
}

/** Runs a command (docs/workspace.md). */
export const bash: BuiltInTool = {
  name: 'bash',
  description:
    'Runs a bash command in the workspace, a private Linux directory of this session. Each call is a new process: files and the working directory carry over, variables and background processes do not. Start a server and use it within one command. There is no network. Standard input is empty.',
  inputSchema: {
    type: 'object',
    properties: {
      command: { type: 'string', maxLength: 32_000, description: 'The command. Omit it only with restart.' },
      timeout_ms: {
        type: 'integer',
        minimum: 0,
        description: 'When the command is stopped, in milliseconds; at most 600000.',
      },
      restart: { type: 'boolean', description: 'Goes back to /workspace, before the command if there is one.' },
    },
    additionalProperties: false,
  },
  async run(call, deps) {
    const { command, timeout_ms: timeout = 0, restart = false } = call.input as Input;
    if (command === undefined && !restart) return textResult('Wrong input: send command, or restart: true.', true);
    // No argument of a program can have it.
    if (command?.includes('\0') === true) return textResult('Wrong input: command must not contain NUL.', true);
    const timeoutMs = timeout === 0 ? deps.config.sandboxCommandSeconds * 1000 : Math.min(timeout, MAX_TIMEOUT_MS);
    return callInWorkspace(call, deps, async (sandbox) => {
      const output = new OutputCollector();
      const cwd = restart ? WORKSPACE : sandbox.base.cwd;
      const onOutput = (chunk: Buffer): void => output.add(chunk);
      const end = await sandbox.run(['bash', '-c', command ?? ':'], { cwd, timeoutMs, onOutput });
      const { code: exitCode, stopped } = end;
      const content = [{ type: 'text' as const, text: output.text() }];
      const isError = stopped !== null || exitCode !== 0;
      return { content, isError, exitCode, stopped, cwd: end.cwd ?? cwd, mayChange: true };
    });
  },
};
