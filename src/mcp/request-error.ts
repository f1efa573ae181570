import { ErrorCode, McpError } from '@modelcontextprotocol/sdk/types.js';
import { AnswerLostError } from './mcp-request.js';

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

/**
 * What a failed request throws. When a connection closes, the SDK fails its open requests with an error code that servers
 * also use for their own errors. `answeredStatus`: the HTTP status of the server's error; undefined if it sent none.
 */
export function requestError(error: unknown, answeredStatus: number | undefined): unknown {
  if (!(error instanceof McpError)) return error;
  if (answeredStatus === undefined) {
    const isClosed = error.code === (ErrorCode.ConnectionClosed as number);
    return isClosed ? new AnswerLostError('the connection was closed') : error;
  }
  return mayBeAboutSession(answeredStatus, error) ? new SessionRefusedError(answeredStatus, error) : error;
}

function mayBeAboutSession(status: number, { code, message }: { code: number; message: string }): boolean {
  if ((status !== 404 && status !== 400) || OF_THE_REQUEST.has(code)) return false;
  if (code === SESSION_NOT_FOUND || /session/i.test(message)) return true;
  return status === 404 && OF_A_SESSION.has(code);
}
