export class CommandError extends Error {
  readonly output: string;
}
export function step<T>(title: string, work: () => Promise<T>): Promise<T>;
export function run(
  command: string,
  args: string[],
  options?: { cwd?: string; env?: NodeJS.ProcessEnv; timeoutMs?: number; priority?: number },
): Promise<string>;
export function endCommandsWithUs(): () => void;
