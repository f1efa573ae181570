import { expect } from 'chai';
import { neverConnected } from '../../../src/network/failures.js';

const failed = (code: string, syscall: string): Error => Object.assign(new Error(code), { code, syscall });

describe('a failed request', () => {
  it('a failed request was not sent if the system could not connect, whatever the code', () => {
    for (const code of ['ECONNREFUSED', 'EADDRNOTAVAIL', 'ETIMEDOUT', 'EHOSTDOWN', 'EMFILE', 'ENETUNREACH']) {
      const error = new TypeError('fetch failed', { cause: failed(code, 'connect') });
      expect(neverConnected(error), code).to.equal(true);
    }
    const addresses = [failed('ECONNREFUSED', 'connect'), failed('ENETUNREACH', 'connect')];
    expect(neverConnected(new TypeError('fetch failed', { cause: new AggregateError(addresses) }))).to.equal(true);
  });

  it('a failed request may have been sent if the connection was lost later', () => {
    for (const [code, syscall] of [
      ['ETIMEDOUT', 'read'],
      ['ECONNRESET', 'read'],
      ['EPIPE', 'write'],
    ] as const) {
      expect(neverConnected(new TypeError('fetch failed', { cause: failed(code, syscall) })), code).to.equal(false);
    }
  });
});
