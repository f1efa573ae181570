import { expect } from 'chai';
import { AgentSessionClient, type OutputOf } from '../../client/src/index.js';
import { toolUse } from '../support/scripted-model.js';
import { useTurnService } from '../support/use.js';

type Same<One, Other> = (<T>() => T extends One ? 1 : 2) extends <T>() => T extends Other ? 1 : 2 ? true : false;

describe('run() of the client with an output', () => {
  const service = useTurnService();

  it('run() of the client with an output returns the value with the type of its schema, and null without one', async () => {
    const client = new AgentSessionClient({ baseUrl: service.url, apiKey: service.key });
    const output = {
      type: 'object',
      properties: {
        late: { type: 'array', items: { type: 'integer' } },
        state: { enum: ['open', 'closed'] },
        note: { type: ['string', 'null'] },
        by: { anyOf: [{ type: 'string' }, { type: 'object', properties: { id: { const: 7 } }, required: ['id'] }] },
      },
      required: ['late', 'by'],
    } as const;
    type Value = OutputOf<typeof output>;
    const isSame: Same<
      Value,
      { late: number[]; by: string | { id: 7 }; state?: 'open' | 'closed'; note?: string | null }
    > = true;
    expect(isSame).to.equal(true);
    const value = { late: [4711], by: { id: 7 }, note: null };
    service.model.reply([toolUse('give_output', value)], 'Hello.');
    const id = await service.session();
    const result = await client.run(id, { content: 'Which?' }, { output });
    const late: number[] | undefined = result.output?.late;
    expect(late).to.deep.equal([4711]);
    expect(result.output).to.deep.equal(value);
    expect(result.events[0]).to.deep.include({ type: 'user.message', output_schema: output });
    expect((await client.run(id, { content: 'And now?' })).output).to.equal(null);
  });
});
