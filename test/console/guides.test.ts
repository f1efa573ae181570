import { readdirSync } from 'node:fs';
import { expect } from 'chai';
import { GUIDES } from '../../console/src/docs/guide-list.js';

/** The list of the pages, and those for people who change the service: docs/operations and docs/internals are folders. */
const NO_GUIDES = new Set(['README', 'architecture', 'development']);

describe('the guides under /docs', () => {
  it('the guides under /docs are all pages of docs/ but those for developers of the service, each once', () => {
    const pages = readdirSync(new URL('../../docs/', import.meta.url)).flatMap((file) => {
      const name = file.endsWith('.md') ? file.slice(0, -'.md'.length) : '';
      return name === '' || NO_GUIDES.has(name) ? [] : [name];
    });
    expect(GUIDES.map(([name]) => name)).to.have.members(pages);
    expect(new Set(GUIDES.map(([, title]) => title)).size).to.equal(pages.length);
  });
});
