export { loadMessages } from './messages.js';
export { AgentSessionTransport, type AgentSessionTransportOptions } from './transport.js';
