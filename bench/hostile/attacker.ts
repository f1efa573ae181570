/**
 * The attacker, as a process of its own: its clients and its MCP server do not share the event loop of those who measure.
 * Forked by bench/hostile/main.ts; runs each attack that it is told.
 */
import { attack, type Attacker } from './attacks.js';
import { startEvilMcp } from './evil-mcp.js';

const mcp = await startEvilMcp();
process.send!({ host: mcp.host });
process.on('message', ({ name, url, key }: { name: string } & Pick<Attacker, 'url' | 'key'>) => {
  attack(name, { url, key, mcpUrl: mcp.url }).then(
    () => process.send!({ outcome: 'done' }),
    (error: unknown) => process.send!({ outcome: String(error).slice(0, 100) }),
  );
});
