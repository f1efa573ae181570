export interface ServerRecord {
  pid: number;
  started: string | null;
  signal: NodeJS.Signals;
}
export function processIdentity(pid: number): string | null;
export function endProcess(server: ServerRecord): Promise<void>;
