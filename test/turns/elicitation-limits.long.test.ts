import { expect } from 'chai';
import type { Question, TestToolCall } from '../support/mcp-server.js';
import { useOps } from '../support/ops-server.js';
import { requiredActions } from '../support/waiting-turns.js';

const form = (field: object, more: object = {}, message = 'Which?') =>
  ({ mode: 'form', message, requestedSchema: { type: 'object', properties: { a: field }, ...more } }) as Question;
const page = (url: string, message = 'Open it.') => ({ mode: 'url', message, elicitationId: 'p', url }) as Question;
/** A question of about this many KiB. */
const large = (kib: number): Question => {
  const description = 'x'.repeat(1000);
  const properties = Object.fromEntries(
    Array.from({ length: kib }, (_, n) => [`f${n}`, { type: 'boolean', description }]),
  );
  return { mode: 'form', message: 'Long', requestedSchema: { type: 'object', properties } } as Question;
};

/** decisions.md "Tasks and elicitation": what a server may ask. */
describe('the questions of a server', () => {
  let work: (call: TestToolCall) => unknown;
  const ops = useOps({ tools: [{ name: 'deploy', run: (call) => work(call) }] });
  const { service, declineAll } = ops;
  const start = async (): Promise<string> => (await ops.start('deploy')).sessionId;
  const toolResult = async (sessionId: string): Promise<unknown> =>
    JSON.parse((await ops.result(sessionId)).content as string);
  type Refusal = { code: number; message: string };
  const refusalOf = (error: Refusal): string => `${error.code} ${error.message.replaceAll('MCP error -32602: ', '')}`;

  it('the questions of a server are refused when they come if a person could not answer them, and never open', async () => {
    const questions = [
      form({ type: 'string', enum: ['x', 'x'] }),
      form({ type: 'string', enum: [] }),
      form({ type: 'string' }, { required: ['a', 'a'] }),
      form({ type: 'string', minLength: 1.5 }),
      form({ type: 'string' }, {}, 'a\u202Eb'),
      form({ type: 'string', enum: Array.from({ length: 3000 }, (_, n) => `${n}`) }),
      page('https://evil.example/\u202Emoc.elgoog'),
      page('https://evil.example/\n@google.com'),
      page('https://pay.example/\u200Ba'),
    ];
    work = async ({ ask }) => {
      const refusals: string[] = [];
      for (const question of questions) refusals.push(await ask(question).then(() => 'asked', refusalOf));
      return JSON.stringify(refusals);
    };
    const sessionId = await start();
    const refusals = (await toolResult(sessionId)) as string[];
    expect(refusals.slice(0, 4)).to.deep.equal([
      '-32602 requestedSchema.properties.a.enum has a value twice',
      '-32602 requestedSchema.properties.a.enum must not be empty',
      '-32602 requestedSchema.required has a value twice',
      '-32602 requestedSchema.properties.a.minLength must be an integer of at least 0',
    ]);
    expect(refusals[4]).to.match(/^-32602 message must be/);
    expect(refusals[5]).to.match(/^-32602 a question needs params, and has at most 128 KiB and 2500 JSON values/);
    for (const refusal of refusals.slice(6)) expect(refusal).to.match(/^-32602 url must be https/);
    const types = (await service.history(sessionId)).map(({ type }) => type as string);
    expect(types).to.not.include('agent.requires_action');
  });

  it('the questions of a server show addresses as a browser opens them, with names that look like others in ASCII', async () => {
    work = async ({ ask }) => JSON.stringify(await ask(page('HTTPS://\u0430pple.com:443/a/../b')));
    const sessionId = await start();
    const [action] = await requiredActions(service, sessionId);
    expect(action.url).to.equal('https://xn--pple-43d.com/b');
    await declineAll(sessionId);
    expect(await toolResult(sessionId)).to.deep.equal({ action: 'decline' });
  });

  it('the questions of a server take at most 256 KiB while they are open, and 1 MiB in the life of a turn', async () => {
    work = async ({ ask }) => {
      const rounds: string[][] = [];
      for (let round = 0; round < 5; round += 1) {
        const asked = Array.from({ length: 9 }, () => ask(large(30)).then(({ action }) => action as string, refusalOf));
        rounds.push(await Promise.all(asked));
      }
      return JSON.stringify(rounds);
    };
    const sessionId = await start();
    // Eight of them fit into 256 KiB, 33 into 1 MiB.
    for (const count of [8, 8, 8, 8, 1]) await declineAll(sessionId, count);
    const rounds = (await toolResult(sessionId)) as string[][];
    const refused = rounds.map((round) => round.filter((one) => one !== 'decline'));
    for (const round of refused.slice(0, 4)) {
      expect(round).to.deep.equal(['-32602 A turn may have at most 256 KiB of open questions.']);
    }
    expect(refused[4]).to.deep.equal(Array(8).fill('-32602 A turn may have at most 1024 KiB of questions.'));
    const events = (await service.history(sessionId)).filter(({ type }) => type === 'agent.requires_action');
    for (const event of events) expect(JSON.stringify(event).length).to.be.below(300 * 1024);
  });
});
