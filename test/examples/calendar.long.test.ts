import { expect } from 'chai';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort } from '../../src/platform/free-port.js';
import { eventually } from '../support/eventually.js';
import { consent } from '../support/oauth-server.js';
import { steps, toolUse } from '../support/scripted-model.js';
import { startTurnService, type TurnService } from '../support/turns.js';

const FOLDER = fileURLToPath(new URL('../../examples/calendar', import.meta.url));
const TSX = join(FOLDER, '../../node_modules/.bin/tsx');

/** A command of the example, with what it has printed. */
interface Part {
  child: ChildProcess;
  output: string;
}

describe('the calendar of examples/', () => {
  let service: TurnService;
  let port: number;
  const parts: Part[] = [];
  const script = (file: string, ...args: string[]): Part => {
    const { PATH, HOME } = process.env;
    const child = spawn(TSX, [file, ...args], {
      cwd: FOLDER,
      env: { PATH, HOME, BASE: service.url, KEY: service.key, CALENDAR_PORT: String(port) },
    });
    const part: Part = { child, output: '' };
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (part.output += String(chunk)));
    parts.push(part);
    return part;
  };
  before(async () => {
    port = await freePort();
    service = await startTurnService({ config: { mcpAllowedHosts: [`127.0.0.1:${port}`] } });
    service.model.on(/calendar/, steps([toolUse('mcp__calendar__list_events')], 'That is all.'));
  });
  after(async () => {
    for (const { child } of parts) child.kill();
    await service.close();
  });
  const ended = async (part: Part): Promise<string> => {
    if (part.child.exitCode === null) await once(part.child, 'close');
    expect(part.child.exitCode, part.output).to.equal(0);
    return part.output;
  };

  it('the calendar of examples/ shows each person their own appointments, and asks each once', async () => {
    const calendar = script('calendar-server.ts');
    await eventually('the calendar listens', () => /calendar at/.test(calendar.output));
    const signIn = async (ask: Part, person: string, links: number): Promise<void> => {
      const shown = (): string[] => ask.output.match(/^http\S+$/gm) ?? [];
      await eventually('the link', () => {
        if (ask.child.exitCode !== null) throw new Error(ask.output);
        return shown().length === links;
      });
      const callback = await consent(shown().at(-1)!, person);
      expect((await fetch(`${service.url}${callback.pathname}${callback.search}`)).status).to.equal(200);
    };
    for (const person of ['jane@example.com', 'joe@example.com']) {
      const first = script('ask.ts', person);
      if (person.startsWith('jane')) await signIn(first, 'admin', 1);
      await signIn(first, person, person.startsWith('jane') ? 2 : 1);
      expect(await ended(first))
        .to.include(`${person}: breakfast`)
        .and.include('completed: That is all.');
      const again = await ended(script('ask.ts', person));
      expect(again).to.include(`${person}: breakfast`).and.not.to.include('has not connected');
    }
    const served = calendar.output.match(/list_events as \S+/g);
    expect(served).to.deep.equal(['jane', 'jane', 'joe', 'joe'].map((name) => `list_events as ${name}@example.com`));
  });
});
