import { AgentSessionClient } from '../../client/src/index.js';

/** A process that runs a message under a key of its own, and prints its events until it is killed. */
const [, , baseUrl, apiKey, sessionId, idempotencyKey] = process.argv;
const client = new AgentSessionClient({ baseUrl: baseUrl!, apiKey: apiKey! });
const onEvent = ({ type }: { type: string }): void => void process.stdout.write(`${type}\n`);
await client.run(sessionId!, { content: 'Count slowly' }, { idempotencyKey: idempotencyKey!, onEvent });
