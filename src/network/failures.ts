import { errors } from 'undici';
import { ResponseTooLargeError } from './bounded-body.js';
import { RedirectError, UnsafeAddressError } from './network.js';

const NETWORK_REASONS: Record<string, string> = {
  ENOTFOUND: 'its host name does not resolve (DNS)',
  ENODATA: 'its host name does not resolve (DNS)',
  EAI_AGAIN: 'its host name could not be resolved just now (DNS)',
  ECONNREFUSED: 'it refused the connection',
  ECONNRESET: 'it closed the connection without an answer',
  EPIPE: 'it closed the connection without an answer',
  UND_ERR_SOCKET: 'it closed the connection without an answer',
  EHOSTUNREACH: 'no network route leads to it',
  ENETUNREACH: 'no network route leads to it',
  EADDRNOTAVAIL: 'no network route leads to it',
  ETIMEDOUT: 'it did not accept the connection in time',
  UND_ERR_CONNECT_TIMEOUT: 'it did not accept the connection in time',
  UND_ERR_HEADERS_OVERFLOW: 'its answer has too large headers',
  CERT_HAS_EXPIRED: 'its TLS certificate has expired',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its TLS certificate is for another host name',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its TLS certificate is not trusted (self-signed)',
  SELF_SIGNED_CERT_IN_CHAIN: 'its TLS certificate is not trusted (self-signed)',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'its TLS certificate is not trusted (incomplete chain)',
  UNABLE_TO_GET_ISSUER_CERT: 'its TLS certificate is not trusted (unknown issuer)',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'its TLS certificate is not trusted (unknown issuer)',
};

/** Failures before a connection that did not come from the system call that connects. */
const UNREACHED = /^(ENOTFOUND|ENODATA|EAI_AGAIN|UND_ERR_CONNECT_TIMEOUT)$/;

/** Why there was no HTTP response, as a clause about "it"; undefined for other failures. */
export function connectionFailure(error: unknown): string | undefined {
  for (const cause of causesOf(error)) {
    if (cause instanceof ResponseTooLargeError) return 'its answer is too large';
    if (cause instanceof errors.HTTPParserError) return 'its answer is not HTTP';
    if (cause instanceof UnsafeAddressError) return 'its host resolves to a private or local address';
    const reason = networkReason(cause);
    if (reason !== undefined) return reason;
  }
  return undefined;
}

/** True if no connection was made or allowed. */
export function neverConnected(error: unknown): boolean {
  if (error instanceof RedirectError) return true;
  return causesOf(error).some((cause) => {
    const code = codeOf(cause);
    return cause instanceof UnsafeAddressError || isConnecting(cause) || UNREACHED.test(code) || isTlsCode(code);
  });
}

/** True if the connection closed before the response ended. */
export function connectionBroke(error: unknown): boolean {
  return causesOf(error).some((cause) => /^(ECONNRESET|EPIPE|UND_ERR_SOCKET)$/.test(codeOf(cause)));
}

/** The error and its causes. */
export function causesOf(error: unknown): Error[] {
  return error instanceof Error ? [error, ...causesOf(error.cause)] : [];
}

function networkReason(error: Error): string | undefined {
  const code = codeOf(error);
  return NETWORK_REASONS[code] ?? (isTlsCode(code) ? `TLS failed (${code})` : undefined);
}

/** Whatever its code: the system could not connect, so nothing was sent. */
function isConnecting(error: Error): boolean {
  if (error instanceof AggregateError) return error.errors.length > 0 && (error.errors as Error[]).every(isConnecting);
  return (error as NodeJS.ErrnoException).syscall === 'connect';
}

/** After attempts at several addresses, use the first error. */
function codeOf(error: Error): string {
  const { code } = error as NodeJS.ErrnoException;
  if (typeof code === 'string') return code;
  const [first] = error instanceof AggregateError ? (error.errors as unknown[]) : [];
  return first instanceof Error ? codeOf(first) : '';
}

function isTlsCode(code: string): boolean {
  return code.startsWith('ERR_SSL_') || code.startsWith('ERR_TLS_') || code.includes('CERT') || code === 'EPROTO';
}
