import type { Agent } from '../../../client/src/index.js';
import { useClient } from '../client/service.js';
import { useList } from '../client/use-list.js';
import { Empty } from '../parts/empty.js';
import { LinkRow, ListFrame } from '../parts/list-frame.js';
import { PageHead } from '../parts/page-head.js';
import { Time } from '../parts/time.js';

export function AgentsView() {
  const client = useClient();
  const list = useList((cursor, signal) => client.listAgents({ cursor, limit: 50 }, { signal }), [client]);
  return (
    <>
      <PageHead title="Agents">
        <a class="button primary" href="#/agents/new">
          New agent
        </a>
      </PageHead>
      <ListFrame
        list={list}
        label="Agents"
        empty={
          <Empty title="There are no agents yet">
            An agent is a configuration with versions: sessions that follow it have a new version from their next turn
            on. <a href="#/agents/new">Create the first one</a>
          </Empty>
        }
        row={(agent) => <AgentRow key={agent.id} agent={agent} />}
      />
    </>
  );
}

function AgentRow({ agent: { id, name, description, version, live_version, updated_at } }: { agent: Agent }) {
  return (
    <LinkRow href={`#/agents/${id}`} title={name}>
      <span class="hint">
        version {live_version} is live{version !== live_version && `, ${version} is the newest`} ·{' '}
        <Time at={updated_at} />
      </span>
      {description !== '' && <span class="row-more">{description}</span>}
    </LinkRow>
  );
}
