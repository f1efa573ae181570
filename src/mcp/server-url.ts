import { isIP } from 'node:net';
import { ServiceError } from '../platform/errors.js';
import { isPublicAddress } from './public-address.js';

/** The host without the brackets that a URL puts around IPv6. */
export function bareHost(hostname: string): string {
  return hostname.startsWith('[') ? hostname.slice(1, -1) : hostname;
}

/** True when `MCP_ALLOWED_HOSTS` names exactly this host and port: https and public-address checks do not apply. */
export function isAllowedHost(allowed: readonly string[], protocol: string, hostname: string, port: string): boolean {
  const host = bareHost(hostname.toLowerCase());
  const pair = `${host.includes(':') ? `[${host}]` : host}:${port === '' ? (protocol === 'https:' ? '443' : '80') : port}`;
  return allowed.includes(pair);
}

/** A name that means this machine whatever a resolver says (RFC 6761 §6.3). */
export function isLocalName(hostname: string): boolean {
  return /(^|\.)localhost\.?$/i.test(hostname);
}

/**
 * The url of an MCP server, by the rules that need no name resolution.
 * @throws ServiceError `invalid_mcp_server_url` (contract.md §2: any string that fails a rule about urls)
 */
export function parseServerUrl(text: string, allowedHosts: readonly string[]): URL {
  // The URL parser drops or turns around these characters; what is stored must be what is called.
  const url = /[\p{Cc} \\]/u.test(text) || !/^[a-z][a-z0-9+.-]*:\/\/[^/?#]/i.test(text) ? null : URL.parse(text);
  if (url === null) throw invalidUrl('is not a valid absolute URL');
  if (/^[^:]+:\/\/[^/?#]*@/.test(text)) throw invalidUrl('must not contain a user name or password');
  if (url.protocol !== 'https:' && url.protocol !== 'http:') throw invalidUrl('must be https');
  if (isAllowedHost(allowedHosts, url.protocol, url.hostname, url.port)) return url;
  if (url.protocol !== 'https:') throw invalidUrl('must be https');
  const host = bareHost(url.hostname);
  if (isLocalName(host) || (isIP(host) !== 0 && !isPublicAddress(host))) throw privateAddress();
  return url;
}

/** The url's host is, or resolves to, an address that is not public. */
export function privateAddress(): ServiceError {
  return invalidUrl('must have a public address; its host is a private or local address, or resolves to one');
}

function invalidUrl(fault: string): ServiceError {
  return new ServiceError('invalid_mcp_server_url', `The url ${fault}.`);
}
