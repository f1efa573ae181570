import { listVersions } from '../../src/agents/store.js';
import { pageOf } from '../../src/platform/page.js';
import { operation } from '../http/core/operation.js';
import { numbersOf, pageRequest, pageSchema } from '../http/core/page.js';
import { presentVersion, versionSchema } from './present.js';
import { agentStateOfPath, versionOfPath } from './resource.js';

const AFTER_ALL = 2 ** 31 - 1;

export const listAgentVersions = operation({
  id: 'listAgentVersions',
  summary: 'List the versions of an agent, newest first',
  description: 'Shows what each version is configured with. Versions count from 1 and never change.',
  paged: true,
  success: { status: 200, description: 'A page of versions.', schema: pageSchema(versionSchema) },
  errors: ['agent_not_found'],
  resource: agentStateOfPath,
  async handle({ deps, query, resource: agent }) {
    const list = `versions of ${agent.id}`;
    const { limit, after } = pageRequest(query, list, 1);
    const [before = AFTER_ALL] = numbersOf(after ?? []);
    const versions = await listVersions(deps.db, agent.id, before, limit);
    return pageOf(list, versions, ({ version }) => [String(version)], presentVersion);
  },
});

export const getAgentVersion = operation({
  id: 'getAgentVersion',
  summary: 'Get a version of an agent',
  description: 'Shows what the version is configured with.',
  success: { status: 200, description: 'The version.', schema: versionSchema },
  errors: ['agent_not_found', 'agent_version_not_found'],
  resource: versionOfPath,
  handle: async ({ resource }) => presentVersion(resource),
});
