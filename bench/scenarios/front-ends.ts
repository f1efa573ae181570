import { AgentSessionAgent } from '../../client/src/ag-ui/index.js';
import { AgentSessionClient } from '../../client/src/index.js';
import { openChat, textOf } from '../../test/support/chat.js';
import { text, toolUse, wait } from '../../test/support/scripted-model.js';
import { openSse } from '../../test/support/sse-reader.js';
import { gzipSync } from 'node:zlib';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { median, timed } from '../measure.js';
import { scenario } from '../scenario.js';
import { row } from '../table.js';

const CALLS = 20;

const ms = (value: number): string => `${value.toFixed(1)} ms`;

/** Bytes of an entry point of the client as a page loads it, without the client itself and the packages beside it. */
async function sizeOf(name: string): Promise<number> {
  const entry = fileURLToPath(new URL(`../../client/src/${name}/index.ts`, import.meta.url));
  const { outputFiles } = await build({
    ...{ entryPoints: [entry], bundle: true, minify: true, write: false, format: 'esm', target: 'es2023' },
    external: ['@ag-ui/client', 'rxjs'],
  });
  return gzipSync(outputFiles[0]!.contents).length;
}

export default scenario({
  measures: 'the entry points for front ends: their size, what they add to the first delta, and a replay into a chat',
  options: { turns: 30, events: 1000 },
  async run(bench, { turns, events }) {
    for (const name of ['ai-sdk', 'ag-ui'])
      row(`${name}, minified and gzipped`, `${await sizeOf(name)} bytes`, '≤ 6 KB');

    const service = await bench.service({});
    const { model } = service;
    const later: number[] = [];
    for (let turn = 0; turn < turns; turn += 1) {
      const gate = model.gate();
      model.reply([wait(gate), text('Hello.')]);
      const id = await service.session();
      const page = await openChat(service, id);
      let shownAt = 0;
      page.chat['~registerMessagesCallback'](() => {
        if (shownAt === 0 && textOf(page.chat.messages.at(-1)) === 'Hello.') shownAt = performance.now();
      });
      const sent = page.chat.sendMessage({ text: 'Hi' });
      await gate.reached;
      const raw = await openSse(`${service.url}/v1/sessions/${id}/events/stream`, service.key);
      gate.open();
      const { at } = await raw.until(({ event }) => event === 'agent.message.delta');
      await sent;
      raw.close();
      later.push(shownAt - at);
    }
    row('first delta in the page, after that of the raw stream', `median ${ms(median(later))}`, '≤ 5 ms');

    const id = await service.session();
    // Each step has a text, and calls with their results.
    const steps = Math.ceil(events / (1 + 2 * CALLS));
    model.script(({ step }) =>
      step < steps ? [text('I look.'), ...Array.from({ length: CALLS }, () => toolUse('list_files'))] : 'Done.',
    );
    await service.run(id, 'Go');
    const stored = (await service.history(id)).length;
    let requests = 0;
    const client = new AgentSessionClient({
      baseUrl: service.url,
      apiKey: service.key,
      fetch: (url, init) => {
        requests += 1;
        return fetch(url, init);
      },
    });
    const page = await openChat(service, id, { transport: { client } });
    const replay = await timed(() => page.chat.resumeStream());
    row(`replay of ${stored} events into a chat`, `${ms(replay)}, ${requests} requests`, '≤ 1 s');
    requests = 0;
    const agent = new AgentSessionAgent({ client, threadId: id });
    const connect = await timed(() => agent.connectAgent());
    row(`the same history into an agent of AG-UI`, `${ms(connect)}, ${requests} requests`, '≤ 1 s');
  },
});
