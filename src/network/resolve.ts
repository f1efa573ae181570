import { Resolver, lookup } from 'node:dns/promises';
import type { LookupAddress } from 'node:dns';

export type Resolve = (hostname: string) => Promise<LookupAddress[]>;

const DNS_TIMEOUT_MS = 1500;
const DNS_TRIES = 2;

/**
 * Resolves names of public servers with its own DNS requests. getaddrinfo would occupy one of libuv's four threads
 * while a name server does not answer: a few dead names would delay every other lookup and file access of the process.
 * @param servers replaces the system's name servers in tests
 */
export function createResolve(servers?: readonly string[]): Resolve {
  const resolver = new Resolver({ timeout: DNS_TIMEOUT_MS, tries: DNS_TRIES });
  if (servers !== undefined) resolver.setServers(servers);
  return async (hostname) => {
    const [v4, v6] = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)]);
    const addresses = [
      ...(v4.status === 'fulfilled' ? v4.value.map((address) => ({ address, family: 4 })) : []),
      ...(v6.status === 'fulfilled' ? v6.value.map((address) => ({ address, family: 6 })) : []),
    ];
    if (addresses.length > 0) return addresses;
    const codes = [v4, v6].map((answer) => answer.status === 'rejected' && (answer.reason as { code?: string }).code);
    const isUnknown = codes.includes('ENOTFOUND') || codes.every((code) => code === 'ENODATA');
    throw Object.assign(new Error('the name does not resolve'), { code: isUnknown ? 'ENOTFOUND' : 'EAI_AGAIN' });
  };
}

/** Resolves names that the operator trusts (MCP_ALLOWED_HOSTS) with the system's resolver, including `/etc/hosts`. */
export function lookupSystem(hostname: string): Promise<LookupAddress[]> {
  return lookup(hostname, { all: true, order: 'verbatim' });
}
