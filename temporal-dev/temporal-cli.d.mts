export const TEMPORAL_VERSION: string;
export function cacheDir(): string;
export function temporalCli(): Promise<string>;
