import { expect } from 'chai';
import { readFile } from 'node:fs/promises';

const read = (name: string): Promise<string> => readFile(new URL(`../../${name}`, import.meta.url), 'utf8');

describe('the package of the client', () => {
  it('the package of the client has the licence of the service', async () => {
    expect(await read('client/LICENSE')).to.equal(await read('LICENSE'));
  });

  it('the package of the client has a README without links that leave the package', async () => {
    const links = [...(await read('client/README.md')).matchAll(/\]\((?!https:|#)([^)]+)\)/g)];
    expect(links.map(([, link]) => link)).to.deep.equal([]);
  });
});
