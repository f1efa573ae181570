import { expect } from 'chai';
import { readFileSync } from 'node:fs';
import { VERSION } from '../src/platform/version.js';

const read = (path: string): string => readFileSync(new URL(path, new URL('../', import.meta.url)), 'utf8');

describe('the version', () => {
  it('the version is one number: of the service, its client, the OpenAPI document and the changelog', () => {
    for (const file of ['package.json', 'package-lock.json', 'client/package.json']) {
      expect((JSON.parse(read(file)) as { version: string }).version, file).to.equal(VERSION);
    }
    expect(read('api/http/openapi/openapi.ts')).to.contain('version: VERSION');
    for (const page of ['client/README.md', 'docs/quick-start.md']) {
      expect(read(page), page).to.contain(`agent-session-service-client-${VERSION}.tgz`);
    }
    // The newest section is this version's, released or not.
    const [, newest] = /^## \[?([\d.]+)\]?/m.exec(read('CHANGELOG.md'))!;
    expect(newest).to.equal(VERSION);
  });
});
