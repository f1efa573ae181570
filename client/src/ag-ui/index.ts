export { AgentSessionAgent, type AgentSessionAgentConfig } from './agent.js';
export { toSessionTools } from './tools.js';
