import { isIP, type LookupFunction } from 'node:net';
import { Agent, buildConnector, fetch as undiciFetch, type RequestInit as UndiciInit } from 'undici';
import { unlessLate } from '../platform/limited-wait.js';
import { isPublicAddress } from './public-address.js';
import { createResolve, lookupSystem, type Resolve } from './resolve.js';
import { bareHost, isAllowedHost, isLocalName, parseServerUrl, privateAddress } from './server-url.js';
import { boundedBody, type FetchLimits } from './bounded-body.js';

/** The connection was not made: the address is not public, or the redirect target is not https. */
export class UnsafeAddressError extends Error {
  override readonly name = 'UnsafeAddressError';
}

/** The server sent a redirect that is not followed. `unsafe`: its target is not allowed. */
export class RedirectError extends Error {
  override readonly name = 'RedirectError';
  constructor(
    readonly status: number,
    readonly unsafe: boolean,
  ) {
    super('a redirect was not followed');
  }
}

/** The network for MCP servers: every socket has passed the address check (docs/mcp.md). */
export interface GuardedNetwork {
  /**
   * Checks a url and the current addresses of its host. If the name cannot be resolved, the connection will fail later.
   */
  checkUrl(url: string): Promise<URL>;
  fetch(url: URL, init: RequestInit, limits: FetchLimits): Promise<Response>;
  close(): Promise<void>;
}

const CONNECT_TIMEOUT_MS = 10_000;
const CHECK_TIMEOUT_MS = 5_000;
const MAX_REDIRECTS = 5;
const REDIRECTS = new Set([301, 302, 303, 307, 308]);
/** Headers that may be sent to another origin after a redirect: none of them is a secret. */
const PORTABLE_HEADERS = ['accept', 'content-type', 'mcp-protocol-version'];

/** @param stub replaces every resolver in tests */
export function createMcpNetwork(allowedHosts: readonly string[], stub?: Resolve): GuardedNetwork {
  const resolve = stub ?? createResolve();
  const agent = new Agent({
    connect: guardedConnector(allowedHosts, resolve, stub ?? lookupSystem),
    // A tool may need more than undici's default of five minutes. Callers limit the time by their signals.
    headersTimeout: 0,
    bodyTimeout: 0,
  });

  return {
    async checkUrl(text) {
      const url = parseServerUrl(text, allowedHosts);
      const host = bareHost(url.hostname);
      if (isIP(host) !== 0 || isAllowedHost(allowedHosts, url.protocol, host, url.port)) return url;
      const addresses = await unlessLate(
        resolve(host).catch(() => []),
        CHECK_TIMEOUT_MS,
        () => [],
      );
      if (addresses.some(({ address }) => !isPublicAddress(address))) throw privateAddress();
      return url;
    },

    async fetch(url, init, limits) {
      let target = url;
      let headers = new Headers(init.headers);
      for (let hop = 0; ; hop += 1) {
        const response = await undiciFetch(target, {
          ...(init as UndiciInit),
          headers: [...headers],
          redirect: 'manual',
          dispatcher: agent,
        }).catch((error: unknown) => {
          throw hop > 0 && causeOf(error) instanceof UnsafeAddressError ? new RedirectError(0, true) : error;
        });
        const location = REDIRECTS.has(response.status) ? response.headers.get('location') : null;
        if (location === null) return boundedBody(response, limits);
        await response.body?.cancel();
        // Any other redirect would change a POST to a GET without its body.
        const keepsRequest = response.status === 307 || response.status === 308 || init.method === 'GET';
        const next = URL.parse(location, target.href);
        if (next === null || !keepsRequest || hop === (limits.maxRedirects ?? MAX_REDIRECTS))
          throw new RedirectError(response.status, false);
        if (next.username !== '' || next.password !== '') throw new RedirectError(response.status, true);
        if (next.origin !== target.origin) headers = portable(headers);
        target = next;
      }
    },

    close: () => agent.destroy(),
  };
}

/**
 * Opens sockets to checked addresses only. The check is part of connecting: the socket connects to one of the addresses
 * resolved here. IP literals, which are not resolved, are checked before; the address that the socket reports is
 * checked again before any byte is sent.
 */
function guardedConnector(
  allowedHosts: readonly string[],
  resolve: Resolve,
  resolveAllowed: Resolve,
): buildConnector.connector {
  const connectAnywhere = buildConnector({
    timeout: CONNECT_TIMEOUT_MS,
    lookup: lookupWith(resolveAllowed, () => true),
  });
  const connectPublic = buildConnector({ timeout: CONNECT_TIMEOUT_MS, lookup: lookupWith(resolve, isPublicAddress) });

  return (options, callback) => {
    const host = bareHost(options.hostname);
    if (isAllowedHost(allowedHosts, options.protocol, host, options.port)) return connectAnywhere(options, callback);
    if (options.protocol !== 'https:' || isLocalName(host) || (isIP(host) !== 0 && !isPublicAddress(host))) {
      return callback(new UnsafeAddressError(), null);
    }
    connectPublic(options, (...[error, socket]) => {
      if (error !== null) return callback(error, null);
      if (isPublicAddress(socket.remoteAddress ?? '')) return callback(null, socket);
      socket.destroy();
      callback(new UnsafeAddressError(), null);
    });
  };
}

/**
 * A lookup for net.connect that fails if any address of the name is not allowed: a mix of addresses suggests an attack.
 */
function lookupWith(resolve: Resolve, mayUse: (address: string) => boolean): LookupFunction {
  return (hostname, options, callback) => {
    resolve(hostname).then(
      (found) => {
        const family = options.family === 4 || options.family === 6 ? options.family : undefined;
        const addresses = family === undefined ? found : found.filter((address) => address.family === family);
        const [first] = addresses;
        if (first === undefined) {
          return callback(Object.assign(new Error('no address'), { code: 'ENOTFOUND' }), '');
        }
        if (!found.every(({ address }) => mayUse(address))) return callback(new UnsafeAddressError(), '');
        if (options.all === true) callback(null, addresses);
        else callback(null, first.address, first.family);
      },
      (error: NodeJS.ErrnoException) => callback(error, ''),
    );
  };
}

function portable(headers: Headers): Headers {
  return new Headers([...headers].filter(([name]) => PORTABLE_HEADERS.includes(name)));
}

function causeOf(error: unknown): unknown {
  return error instanceof Error ? error.cause : undefined;
}
