export function acquireLock(
  path: string,
  role: string,
  onBusy?: (holder: { pid: number; role: string }) => void,
): Promise<() => void>;
export function lockHolder(path: string): { pid: number; role: string } | null;
