import { expect } from 'chai';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Who may write to `turns`, `open_turns` and `events`, and what. */
const WRITERS: Record<string, string[]> = {
  'src/turns/open.ts': ['INSERT INTO turns', 'INSERT INTO open_turns'],
  'src/turns/append.ts': ['UPDATE turns'],
  'src/turns/claim.ts': ['UPDATE turns'],
  'src/turns/cancel.ts': ['UPDATE turns', 'UPDATE open_turns'],
  // Rows of turns that have ended, under new ids: no process changes either.
  'src/turns/fork.ts': ['INSERT INTO turns', 'INSERT INTO events'],
  'src/turns/finish.ts': ['UPDATE turns'],
  'src/turns/end.ts': ['DELETE FROM open_turns'],
  'src/steps/model-call.ts': ['UPDATE turns'],
  'src/steps/end-model-call.ts': ['UPDATE turns', 'UPDATE turns'],
  'src/steps/model-step.ts': ['UPDATE turns'],
  'src/steps/tool-call.ts': ['UPDATE turns', 'UPDATE turns'],
  'src/steps/task-call.ts': ['UPDATE turns'],
  'src/steps/task-states.ts': ['UPDATE turns'],
  'src/steps/servers.ts': ['UPDATE turns'],
  'src/steps/compaction.ts': ['UPDATE turns'],
  'src/steps/shorten-result.ts': ['UPDATE turns'],
  'src/messages/receive.ts': ['UPDATE turns'],
  // The time of the reconciler's last check; no client can see it.
  'src/reconciler/stale-turns.ts': ['UPDATE open_turns'],
  'src/workers/check-again.ts': ['UPDATE open_turns'],
  'src/events/store.ts': ['INSERT INTO events'],
  // The end of a deleted session.
  'src/sessions/purge.ts': ['DELETE FROM events', 'DELETE FROM turns'],
};
/** How a statement that updates a turn begins: it locks the row, if the row passes the fence. */
const FENCE = /WITH turn AS MATERIALIZED \(\s*SELECT [\w, ]+ FROM turns WHERE \$\{[^}]+\}+\)? FOR NO KEY UPDATE\)/g;
const WRITE = /\b(INSERT INTO|UPDATE|DELETE FROM|MERGE INTO|TRUNCATE|COPY)\s+(turns|open_turns|events)\b/gi;

function sourcesOf(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => join(folder, name))
    .filter((file) => file.endsWith('.ts') && !file.startsWith('src/db/migrations/'));
}

describe('turns and events', () => {
  it('are written in these files alone', () => {
    const found: Record<string, string[]> = {};
    for (const file of ['api', 'activities', 'workflows', 'src', 'ops'].flatMap(sourcesOf)) {
      const writes = [...readFileSync(file, 'utf8').matchAll(WRITE)].map(([, verb, table]) => `${verb} ${table}`);
      if (writes.length > 0) found[file] = writes;
    }
    expect(found).to.deep.equal(WRITERS);
  });

  it('are updated behind a fence alone', () => {
    for (const file of Object.keys(WRITERS).filter((name) => WRITERS[name]!.includes('UPDATE turns'))) {
      const text = readFileSync(file, 'utf8');
      const updates = WRITERS[file]!.filter((write) => write === 'UPDATE turns');
      expect([...text.matchAll(FENCE)], file).to.have.length(updates.length);
      // Others run the write that it builds.
      if (file === 'src/turns/append.ts') continue;
      expect(text, file).to.match(/\b(?:writeTurn|changeTurn|endingCall)(?:<[^(]*>)?\(deps, /);
    }
  });

  it('have one definition of the open states', () => {
    const copies = ['api', 'activities', 'workflows', 'src', 'ops']
      .flatMap(sourcesOf)
      .filter((file) => /'queued'[^;]{0,40}'running'|'running'[^;]{0,40}'queued'/.test(readFileSync(file, 'utf8')));
    expect(copies).to.deep.equal(['src/db/turn-states.ts']);
  });
});
