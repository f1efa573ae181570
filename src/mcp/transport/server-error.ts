import { ErrorCode, McpError } from '@modelcontextprotocol/sdk/types.js';
import { asJsonObject, isJsonObject } from '../../platform/json-object.js';
import { requiredUrls } from '../questions.js';

/** Long enough for any text that is shown, with a credential that the server may echo. */
const MAX_ERROR_CHARACTERS = 64 * 1024;

/** JSON-RPC's own errors about a method, its parameters, and the server. None of them is about a session. */
const OF_THE_REQUEST: ReadonlySet<number> = new Set([-32601, -32602, -32603]);
/** "Session not found" of the SDK's servers; its clients use the same code for a timeout. */
const SESSION_NOT_FOUND = -32001;
/** Other codes that servers made with an SDK use for a session that they do not know. */
const OF_A_SESSION: ReadonlySet<number> = new Set([-32600, -32000]);

/** The server answered a request with an error that may say that it does not know the session. */
export class SessionRefusedError extends McpError {
  constructor(
    readonly status: number,
    error: McpError,
  ) {
    super(error.code, '', error.data);
    this.message = error.message;
  }

  get namesSession(): boolean {
    return /session/i.test(this.message);
  }
}

export interface RpcError {
  code: number;
  message: string;
  data?: object;
}

/** The error of an answer, repaired and bounded; null without one. */
export function rpcError(error: unknown): RpcError | null {
  if (error === undefined || error === null) return null;
  if (!isJsonObject(error)) return rpcError({ message: typeof error === 'string' ? error : JSON.stringify(error) });
  const { code, message, data } = error;
  return {
    code: Number.isSafeInteger(code) ? (code as number) : ErrorCode.InternalError,
    message: typeof message === 'string' ? message.slice(0, MAX_ERROR_CHARACTERS) : 'an error without a message',
    ...(code === (ErrorCode.UrlElicitationRequired as number) && { data: requiredUrls(data) }),
    ...(Array.isArray(asJsonObject(data).supported) && { data: { supported: [] } }),
  };
}

/** True for the error of an answer that was filled in without a need: `""`, `false`, `[]`, or code 0 without a message. */
export function isEmptyError(error: unknown): boolean {
  if (!isJsonObject(error)) return error === '' || error === false || (Array.isArray(error) && error.length === 0);
  const { code = 0, message = '' } = error;
  return code === 0 && message === '';
}

/** The error of an answer that had this HTTP status. */
export function serverError({ code, message, data }: RpcError, status: number): McpError {
  const error = McpError.fromError(code, message, data);
  return mayBeAboutSession(status, error) ? new SessionRefusedError(status, error) : error;
}

function mayBeAboutSession(status: number, { code, message }: McpError): boolean {
  if ((status !== 404 && status !== 400) || OF_THE_REQUEST.has(code)) return false;
  if (code === SESSION_NOT_FOUND || /session/i.test(message)) return true;
  return status === 404 && OF_A_SESSION.has(code);
}
