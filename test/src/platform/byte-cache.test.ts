import { expect } from 'chai';
import { ByteCache } from '../../../src/platform/byte-cache.js';

describe('a cache of bytes', () => {
  const keysOf = (cache: ByteCache<string>): string[] => ['a', 'b', 'c'].filter((key) => cache.get(key) !== undefined);

  it('a cache of bytes drops what was used longest ago', () => {
    const cache = new ByteCache<string>(10);
    cache.set('a', '1', 5);
    cache.set('b', '2', 5);
    expect(cache.get('a')).to.equal('1');
    cache.set('c', '3', 5);
    expect(keysOf(cache)).to.deep.equal(['a', 'c']);
  });

  it('a cache of bytes counts a value once that two readers have stored', () => {
    const cache = new ByteCache<string>(10);
    for (let n = 0; n < 5; n += 1) cache.set('a', String(n), 5);
    cache.set('b', '2', 5);
    expect(keysOf(cache)).to.deep.equal(['a', 'b']);
    expect(cache.get('a')).to.equal('4');
  });

  it('a cache of bytes keeps the others when a value is larger than all of it', () => {
    const cache = new ByteCache<string>(10);
    cache.set('a', '1', 5);
    cache.set('b', '2', 11);
    expect(keysOf(cache)).to.deep.equal(['a']);
  });
});
