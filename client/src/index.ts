export type { AnswerOptions, Decision } from './answers.js';
export { AgentSessionClient, type RunOptions } from './client.js';
export { ApiError, ConnectionError } from './errors.js';
export type { RunResult } from './run.js';
export { EventStream, type StreamOptions } from './stream.js';
export type { ClientOptions, CreateOptions, RequestOptions } from './transport.js';
export * from './types.js';
export type { UploadSource } from './upload.js';
