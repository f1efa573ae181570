import { expect } from 'chai';
import { readFile } from 'node:fs/promises';
import { routes } from '../../api/routes.js';
import { clientTypes, GENERATED } from '../../client/generate.js';
import { AgentSessionClient } from '../../client/src/index.js';
import { Operations } from '../../client/src/operations.js';
import { ScheduleOperations } from '../../client/src/schedules.js';

describe('the client matches the API', () => {
  it('has the types of the OpenAPI document; if this fails: npm run client:generate', async () => {
    expect(await readFile(GENERATED, 'utf8')).to.equal(await clientTypes());
  });

  it('has a method for each operation', () => {
    const classes: object[] = [AgentSessionClient.prototype, ScheduleOperations.prototype, Operations.prototype];
    const methods = classes.flatMap((prototype) => Object.getOwnPropertyNames(prototype));
    const names = routes.map(([, , , , { id }]) => (id === 'streamEvents' ? 'stream' : id));
    // Links open these two in a browser.
    const links = ['fileContent', 'mcpOauthCallback'];
    expect(methods).to.include.members(names.filter((name) => !links.includes(name)));
  });
});
