import { expect } from 'chai';
import { eventually } from '../support/eventually.js';
import { processesWith } from '../support/processes-with.js';
import { steps, toolUse } from '../support/scripted-model.js';
import { useWorkspaceService } from '../support/workspace-service.js';

/** How long each command goes on unless it is stopped: turns of others take a fraction of it. */
const ATTACK_MS = 30_000;
/** Each never ends by itself. `:` is in the command line as a mark. */
const ATTACKS = {
  'floods its output': 'while :; do head -c 1000000 /dev/zero | tr "\\0" x; done',
  'starts processes without end': 'bomb() { bomb | bomb & }; bomb; while :; do sleep 1; done',
  'uses every processor': 'for n in 1 2 3 4 5 6 7 8; do (while :; do :; done) & done; wait',
  'writes and deletes files': 'while :; do for n in 1 2 3 4; do head -c 1000000 /dev/zero > $n; done; rm -f *; done',
  'takes memory': 'while :; do head -c 100000000 /dev/zero | tail -c 90000000 > /dev/null; done',
};

describe('a turn beside a command of another session', () => {
  const { service, session, bash } = useWorkspaceService({ config: { sandboxMemoryMb: 600, sandboxMaxCommands: 4 } });

  for (const [does, attack] of Object.entries(ATTACKS)) {
    it(`a turn beside a command of another session that ${does} goes on, and so do reads and the command’s own session`, async () => {
      const mark = `: attack-${process.pid}-${does.length};`;
      service.model.on(
        /^Attack/,
        steps(toolUse('bash', { command: `${mark} ${attack}`, timeout_ms: ATTACK_MS }), 'Done.'),
      );
      service.model.on(/^Hello/, 'Hello.');
      const attacker = await session();
      await service.send(attacker, 'Attack');
      await eventually('the command runs', () => processesWith(mark).length > 0);
      for (let n = 0; n < 5; n += 1) {
        expect((await service.run(await service.session(), 'Hello')).at(-1)!.type).to.equal('turn.completed');
        expect((await fetch(`${service.url}/readyz`)).status).to.equal(200);
      }
      expect((await bash(await session(), 'echo beside')).content).to.equal('beside\n');
      const { body } = await service.api('GET', `/v1/sessions/${attacker}`);
      expect(body.status, 'the command still runs').to.equal('RUNNING');
      expect((await service.api('POST', `/v1/sessions/${attacker}/cancel`)).status).to.equal(200);
      expect((await service.ended(attacker)).type).to.equal('turn.cancelled');
      await eventually('no process of it is left', () => processesWith(mark).length === 0, 2_000);
      expect((await bash(attacker, 'echo again; ls')).content).to.equal('again\n');
      service.model.reset();
    });
  }
});
