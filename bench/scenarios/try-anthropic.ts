import { startMcpServer } from '../../test/support/mcp-server.js';
import { scenario } from '../scenario.js';

const MESSAGES = [
  'How warm is it in Reykjavik and in Lisbon? Ask the weather tool for both at once, and save a table of the answers with deliver_file as weather.md.',
  'Which of the two is warmer, and by how much? Answer from what you know, in one sentence.',
];
const DEGREES: Record<string, number> = { Reykjavik: 3, Lisbon: 19 };

// oxlint-disable-next-line typescript/no-explicit-any -- events of many types
const lines: Record<string, (event: any) => string> = {
  'user.message': ({ content }) => `USER      ${content}`,
  'agent.thinking': ({ content }) => `THINKING  ${content}`,
  'agent.message': ({ content }) => `AGENT     ${content}`,
  'agent.tool_use': ({ name, input }) => `CALLS     ${name} ${JSON.stringify(input)}`,
  'agent.tool_result': ({ name, is_error, content }) => `${is_error ? 'ERROR    ' : 'RESULT   '} ${name}: ${content}`,
  'agent.file': ({ file }) => `FILE      ${file.filename} (${file.size_bytes} bytes)`,
  'turn.completed': ({ usage, usage_details, timing }) =>
    `DONE      ${JSON.stringify(usage)} ${JSON.stringify(usage_details)} ${JSON.stringify(timing)}\n`,
  'turn.failed': ({ error }) => `FAILED    ${JSON.stringify(error)}\n`,
};

export default scenario({
  measures:
    'no figures: one session against the real API, with thinking, a built-in tool and an MCP tool. Needs ANTHROPIC_API_KEY and costs a few cents; optional ANTHROPIC_BASE_URL for another server, TRY_MODEL for another model',
  options: {},
  async run(bench) {
    const key = process.env.ANTHROPIC_API_KEY;
    if (!key) {
      console.log('ANTHROPIC_API_KEY is not set: there is no real model to try. Nothing was done.');
      return;
    }
    const mcp = await startMcpServer({
      tools: [
        {
          name: 'temperature',
          description: 'The temperature in a city now, in degrees Celsius.',
          inputSchema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
          run: ({ arguments: input }) => `${DEGREES[String(input.city)] ?? 'unknown'}`,
        },
      ],
    });
    bench.atEnd(() => mcp.close());
    const config = { modelsFile: null, anthropicApiKey: key, mcpAllowedHosts: [mcp.host] };
    const service = await bench.service({ config });
    const { body: offered } = await service.api('GET', '/v1/models?limit=100');
    const models = offered.items as { id: string; supports_thinking: boolean }[];
    const model = process.env.TRY_MODEL ?? (models.find((one) => one.supports_thinking) ?? models[0]!).id;
    const { body: server } = await service.api('POST', '/v1/mcp-servers', { name: 'weather', url: mcp.url });
    const sessionId = await service.session({ model_id: model, mcp_servers: [server.id], instruction: 'Be brief.' });
    console.log(`MODEL     ${model}\n`);
    for (const content of MESSAGES) {
      const turnId = await service.send(sessionId, content);
      const end = await service.ended(sessionId, 300_000);
      for (const event of await service.history(sessionId)) {
        if (event.turn_id === turnId) console.log(lines[event.type as string]?.(event) ?? event.type);
      }
      if (end.type !== 'turn.completed') process.exitCode = 1;
    }
    const used = new Set((await service.history(sessionId)).map(({ name }) => name as string | undefined));
    for (const tool of ['deliver_file', 'mcp__weather__temperature']) {
      console.log(`${tool} ${used.has(tool) ? 'was used' : 'was NOT used'}`);
    }
  },
});
