import { isIP } from 'node:net';
import { ServiceError } from '../platform/errors.js';
import { isPublicAddress } from './public-address.js';

/** The host without the brackets of an IPv6 address. */
export function bareHost(hostname: string): string {
  return hostname.startsWith('[') ? hostname.slice(1, -1) : hostname;
}

/** True if `MCP_ALLOWED_HOSTS` contains this host and port: then the https and public-address checks do not apply. */
export function isAllowedHost(allowed: readonly string[], protocol: string, hostname: string, port: string): boolean {
  const host = bareHost(hostname.toLowerCase());
  const pair = `${host.includes(':') ? `[${host}]` : host}:${port === '' ? (protocol === 'https:' ? '443' : '80') : port}`;
  return allowed.includes(pair);
}

/** Both rules hold for hosts that an operator does not trust. */
const ALLOWED = ', unless an operator lists its host and port in MCP_ALLOWED_HOSTS';

/** True for names that always mean this machine (RFC 6761 §6.3). */
export function isLocalName(hostname: string): boolean {
  return /(^|\.)localhost\.?$/i.test(hostname);
}

/**
 * Parses the url of an MCP server and checks all rules that need no name resolution.
 * @throws ServiceError `invalid_mcp_server_url` (decisions.md "Resources": any string that fails a rule about urls)
 */
export function parseServerUrl(text: string, allowedHosts: readonly string[]): URL {
  // The URL parser removes or converts these characters, but the stored url must be the one that is called.
  const url = /[\p{Cc} \\]/u.test(text) || !/^[a-z][a-z0-9+.-]*:\/\/[^/?#]/i.test(text) ? null : URL.parse(text);
  if (url === null) throw invalidUrl('is not a valid absolute URL');
  if (/^[^:]+:\/\/[^/?#]*@/.test(text)) throw invalidUrl('must not contain a user name or password');
  if (url.protocol !== 'https:' && url.protocol !== 'http:') throw invalidUrl('must be https');
  if (isAllowedHost(allowedHosts, url.protocol, url.hostname, url.port)) return url;
  if (url.protocol !== 'https:') throw invalidUrl(`must be https${ALLOWED}`);
  const host = bareHost(url.hostname);
  if (isLocalName(host) || (isIP(host) !== 0 && !isPublicAddress(host))) throw privateAddress();
  return url;
}

/** The error for a url whose host is, or resolves to, an address that is not public. */
export function privateAddress(): ServiceError {
  return invalidUrl(`must have a public address; its host is a private or local address, or resolves to one${ALLOWED}`);
}

function invalidUrl(reason: string): ServiceError {
  return new ServiceError('invalid_mcp_server_url', `The url ${reason}.`);
}
