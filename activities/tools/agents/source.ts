import { findCallableAgents } from '../../../src/delegations/called-agent.js';
import { insertTurnAgents } from '../../../src/delegations/turn-agents.js';
import { NO_ANNOTATIONS } from '../../../src/mcp/asked-tool.js';
import { AGENT_TOOL_PREFIX, permissionBy } from '../../../src/sessions/tools.js';
import type { CallableAgent } from '../../../src/steps/context.js';
import type { ToolSource, TurnTool } from '../tool-source.js';
import { agentKind, INPUT_SCHEMA, type AgentKindDeps } from './kind.js';

/** A tool for each agent that a turn may call (decisions.md "Agents that call agents"), as the agents were when the turn began. */
export function agentSource(deps: AgentKindDeps): ToolSource {
  return {
    async begin({ id, agents: named }) {
      const agents = named === 0 ? [] : await findCallableAgents(deps.db, id);
      return {
        events: [],
        store: async (tx) => insertTurnAgents(tx, id, agents),
      };
    },
    tools: ({ turn }) => turn.agents.map((agent) => agentTool(deps, agent)),
  };
}

function agentTool(deps: AgentKindDeps, agent: CallableAgent): TurnTool {
  const name = `${AGENT_TOOL_PREFIX}${agent.name}`;
  const task = `Gives a task to the agent ${agent.name}, which works on it by itself and returns its answer.`;
  const description = agent.description === '' ? task : `${task} ${agent.description}`;
  return {
    definition: { name, description, inputSchema: INPUT_SCHEMA },
    shown: 'always',
    ...permissionBy(agent.policy ?? undefined),
    asked: {
      title: agent.name,
      annotations: NO_ANNOTATIONS,
      serverId: null,
      toolName: name,
      // A name that was free again may be that of another agent, of which nobody has approved anything.
      description: `${agent.id} ${description}`,
      inputSchema: INPUT_SCHEMA,
    },
    isSerial: false,
    owner: null,
    kindOf: () => agentKind(deps, agent),
  };
}
