export const EMULATOR: string;
export function buildEmulator(): Promise<void>;
