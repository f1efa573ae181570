import { APP, client } from './service.js';

/** `npm run approve` lists the calls that wait for a person. `npm run approve -- allow ORDER`, `… deny ORDER REASON` answers. */
const [verb, wanted, reason] = process.argv.slice(2);

for await (const session of client.eachSession({ requires_action: true, metadata: { app: APP } })) {
  for (const action of session.required_actions) {
    if (action.type !== 'tool_confirmation') continue;
    const { order } = session.metadata;
    if (verb === undefined) console.log(`${order} waits: ${action.name} ${JSON.stringify(action.input)}`);
    else if (order === wanted && (verb === 'allow' || verb === 'deny')) {
      const { tool_use_id } = action;
      const answer = { tool_use_id, result: verb, ...(verb === 'deny' && reason && { deny_message: reason }) } as const;
      await client.confirm(session.id, answer);
      console.log(`${order}: ${verb}`);
    }
  }
}
