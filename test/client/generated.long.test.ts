import { expect } from 'chai';
import { readFile } from 'node:fs/promises';
import { routes } from '../../api/routes.js';
import { generatedFiles, pathOfGenerated } from '../../client/generate.js';
import { Operations } from '../../client/src/generated/operations.js';
import { AgentSessionClient } from '../../client/src/index.js';

describe('the client matches the API', () => {
  it('the client matches the API has the types and methods of api/openapi.json; if this fails: npm run build', async () => {
    for (const [name, text] of Object.entries(await generatedFiles())) {
      expect(await readFile(pathOfGenerated(name), 'utf8'), name).to.equal(text);
    }
  });

  it('the client matches the API has a method for each operation', () => {
    const classes: object[] = [AgentSessionClient.prototype, Operations.prototype];
    const methods = classes.flatMap((prototype) => Object.getOwnPropertyNames(prototype));
    const names = routes.map(([, , , , { id }]) => (id === 'streamEvents' ? 'stream' : id));
    // Links open these two in a browser.
    const links = ['fileContent', 'mcpOauthCallback'];
    expect(methods).to.include.members(names.filter((name) => !links.includes(name)));
  });
});
