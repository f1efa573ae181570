import { expect } from 'chai';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Who may write to `turns`, `open_turns` and `events`, and what. */
const WRITERS: Record<string, string[]> = {
  'src/turns/write.ts': ['UPDATE turns'],
  // The part of its statement that ends a turn.
  'src/turns/close.ts': ['DELETE FROM open_turns'],
  'src/turns/queue.ts': ['INSERT INTO turns', 'INSERT INTO open_turns'],
  'src/turns/cancel.ts': ['UPDATE open_turns'],
  // The time of the reconciler's last look; nothing that a client sees.
  'src/reconciler/stale-turns.ts': ['UPDATE open_turns'],
  'src/reconciler/check-again.ts': ['UPDATE open_turns'],
  'src/events/store.ts': ['INSERT INTO events'],
  // The end of a deleted session.
  'src/sessions/purge.ts': ['DELETE FROM events', 'DELETE FROM turns'],
};
const WRITE = /\b(INSERT INTO|UPDATE|DELETE FROM|MERGE INTO|TRUNCATE|COPY)\s+(turns|open_turns|events)\b/gi;

function sourcesOf(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => join(folder, name))
    .filter((file) => file.endsWith('.ts') && !file.startsWith('src/db/migrations/'));
}

describe('turns and events', () => {
  it('have one writer', () => {
    const found: Record<string, string[]> = {};
    for (const file of ['api', 'activities', 'workflows', 'src', 'ops'].flatMap(sourcesOf)) {
      const writes = [...readFileSync(file, 'utf8').matchAll(WRITE)].map(([, verb, table]) => `${verb} ${table}`);
      if (writes.length > 0) found[file] = writes;
    }
    expect(found).to.deep.equal(WRITERS);
  });

  it('have one definition of the open states', () => {
    const copies = ['api', 'activities', 'workflows', 'src', 'ops']
      .flatMap(sourcesOf)
      .filter((file) => /'queued'[^;]{0,40}'running'|'running'[^;]{0,40}'queued'/.test(readFileSync(file, 'utf8')));
    expect(copies).to.deep.equal(['src/db/turn-states.ts']);
  });
});
