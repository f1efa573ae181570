import { readdirSync, readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { json } from 'node:stream/consumers';
import type Anthropic from '@anthropic-ai/sdk';
import { expect } from 'chai';
import { validate } from '../../../dev/fake-model/validator.js';
import type { JsonObject } from '../../../src/platform/json-object.js';
import { TEST_MODEL } from '../../support/config.js';
import { closeServer, listen } from '../../support/listen.js';
import { startTurnService, type TurnService } from '../../support/turns.js';

const FOLDER = new URL('gateways/', import.meta.url);
const GATEWAYS = readdirSync(FOLDER).map((file) => file.replace('.sse', ''));

/** Those that sign thinking. */
const SIGNING = new Set([...['bedrock', 'claude-code-router', 'deepseek', 'minimax', 'openrouter', 'vllm']]);

type Request = Anthropic.MessageCreateParams;
type Event = Awaited<ReturnType<TurnService['history']>>[number];
type Turn = { requests: Request[]; events: Event[]; end: Event };

/** The streams of gateways, made after what they document and what their users report. */
describe('a turn through', () => {
  let server: Server;
  let service: TurnService;
  const requests = new Map<string, Request[]>();
  const turns = new Map<string, Promise<Turn>>();
  before(async () => {
    server = createServer((req, res) => {
      const [, gateway, , operation, further] = req.url!.split(/[/?]/);
      if (operation !== 'messages' || further === 'count_tokens') return void res.writeHead(404).end();
      void json(req).then((body) => {
        const seen = [...(requests.get(gateway!) ?? []), body as Request];
        requests.set(gateway!, seen);
        const answers = readFileSync(new URL(`${gateway}.sse`, FOLDER), 'utf8').split(/^: ---- .*\n\n/m);
        const answer = answers[seen.length - 1]!;
        res.writeHead(200, { 'content-type': 'text/event-stream' }).write(answer);
        // Connections are kept alive, as gateways do.
        if (!answer.includes('message_stop')) res.end();
      });
    });
    const { url } = await listen(server);
    service = await startTurnService({
      models: GATEWAYS.map((id) => ({ ...TEST_MODEL, id, base_url: `${url}/${id}`, thinking: 'adaptive' })),
    });
    const run = async (gateway: string): Promise<Turn> => {
      const sessionId = await service.session({ model_id: gateway });
      await service.send(sessionId, 'Write a note.');
      const end = await service.ended(sessionId);
      return { requests: requests.get(gateway)!, events: await service.history(sessionId), end };
    };
    for (const gateway of GATEWAYS) turns.set(gateway, run(gateway));
    await Promise.allSettled(turns.values());
  });
  after(async () => {
    await service.close();
    await closeServer(server);
  });

  for (const gateway of GATEWAYS) {
    it(gateway, async () => {
      const turn = await turns.get(gateway)!;
      const contentOf = (type: string): unknown[] =>
        turn.events.filter((event) => event.type === type).map(({ content, input }) => input ?? content);
      expect(turn.end).to.deep.include({ type: 'turn.completed', stop_reason: 'end_turn' });
      expect(contentOf('agent.thinking')).to.deep.equal(['The user wants a note.']);
      expect(contentOf('agent.tool_use')).to.deep.equal([{ filename: 'note.txt', content: 'Größe 5 µm' }]);
      expect(contentOf('agent.message')).to.deep.equal(['The note is done.']);
      expect(turn.end.usage).to.deep.equal({ input_tokens: 250, output_tokens: 30 });
      expect(turn.end.usage_details).to.include({ model_calls: 2 }).and.not.have.property('estimated');
      for (const request of turn.requests) validate(request, { signed: () => true, calledAfterThinking: () => false });
      // The second request has the call and its result, and the thinking if it was signed, as the API wants them.
      const [answer, results] = turn.requests[1]!.messages.slice(-2).map(
        ({ content }) => content as unknown as JsonObject[],
      );
      const call = answer!.find(({ type }) => type === 'tool_use')!;
      const thinking = answer!.filter(({ type }) => type === 'thinking');
      const isSigned = SIGNING.has(gateway);
      expect(thinking.map((block) => block.thinking)).to.deep.equal(isSigned ? ['The user wants a note.'] : []);
      expect(answer![0]).to.include({ type: isSigned ? 'thinking' : 'tool_use' });
      expect(call.id).to.match(/^[\w-]{1,128}$/);
      expect(results![0]).to.include({ type: 'tool_result', tool_use_id: call.id });
    });
  }
});
