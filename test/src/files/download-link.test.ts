import { expect } from 'chai';
import { signedPath, verifyLink } from '../../../src/files/download-link.js';

const KEYS = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)];
const EXPIRES = 2_000_000_000;

describe('download links', () => {
  const queryOf = (path: string): Record<string, string> =>
    Object.fromEntries(new URL(path, 'http://service.example').searchParams);

  it('download links outlive a rotation of ENCRYPTION_KEY, while the old key is listed', () => {
    const query = queryOf(signedPath('file_1', EXPIRES, [KEYS[1]!]));
    expect(() => verifyLink('file_1', query, KEYS, 0)).not.to.throw();
    expect(() => verifyLink('file_1', query, [KEYS[0]!], 0)).to.throw('not valid');
  });
});
