export function endProcess(pid: number, signal: NodeJS.Signals, isRunning: () => boolean): Promise<void>;
