import type { NewMcpServer } from '../../../client/src/index.js';

/** How the service signs in at a server. */
export type Auth = NonNullable<NewMcpServer['auth']>;
