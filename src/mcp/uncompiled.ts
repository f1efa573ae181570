import type { ClientOptions } from '@modelcontextprotocol/sdk/client/index.js';

/** Replaces the SDK's validator, which compiles schemas of servers. No request of ours has it do so. */
export const uncompiled: ClientOptions = {
  jsonSchemaValidator: {
    getValidator: () => {
      throw new Error('schemas of MCP servers are not compiled');
    },
  },
};
