import { expect } from 'chai';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';

/** Who may write to `turns`, `open_turns` and `events`, and what. */
const WRITERS: Record<string, string[]> = {
  'src/turns/begin.ts': ['INSERT INTO turns', 'INSERT INTO open_turns'],
  // Copies of ended turns.
  'src/turns/fork.ts': ['INSERT INTO turns', 'INSERT INTO events'],
  'src/turns/turn-row.ts': ['UPDATE turns'],
  'src/turns/change-turn.ts': ['UPDATE open_turns', 'DELETE FROM open_turns'],
  // The time of the reconciler's last check; no client can see it.
  'src/reconciler/stale-turns.ts': ['UPDATE open_turns'],
  'src/workers/check-again.ts': ['UPDATE open_turns'],
  'src/waits/settled.ts': ['UPDATE open_turns'],
  'src/events/store.ts': ['INSERT INTO events'],
  // The end of a deleted session.
  'src/sessions/purge.ts': ['DELETE FROM events', 'DELETE FROM turns'],
};
const WRITE = /\b(INSERT INTO|UPDATE|DELETE FROM|MERGE INTO|TRUNCATE|COPY)\s+(turns|open_turns|events)\b/gi;
const FOLDERS = ['api', 'activities', 'workflows', 'src', 'ops'];

function sourcesOf(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => join(folder, name))
    .filter((file) => file.endsWith('.ts') && !file.startsWith('src/db/migrations/'));
}

describe('turns and events', () => {
  it('turns and events are written in these files alone', () => {
    const found: Record<string, string[]> = {};
    for (const file of FOLDERS.flatMap(sourcesOf)) {
      const writes = [...readFileSync(file, 'utf8').matchAll(WRITE)].map(([, verb, table]) => `${verb} ${table}`);
      if (writes.length > 0) found[file] = writes;
    }
    expect(found).to.deep.equal(WRITERS);
  });

  it('turns and events have one definition of the open states', () => {
    const copies = FOLDERS.flatMap(sourcesOf).filter((file) =>
      /'queued'[^;]{0,40}'running'|'running'[^;]{0,40}'queued'/.test(readFileSync(file, 'utf8')),
    );
    expect(copies).to.deep.equal(['src/db/turn-states.ts']);
  });
});

/** Functions whose callback holds locks: of a turn's row, of a session's, or of other rows. */
const LOCKING = new Set(['changeTurn', 'changeTurnIn', 'transaction', 'savepoint']);
/** What no code under a lock uses: another connection of the pool, or anything that takes its time. */
const SLOW = /^(?:fetch|sleep|setTimeout|storage|notifier|workflows|readFile|writeFile|workflow|client)$/;
/** A value of `deps` that is plain data. */
const PLAIN = /\bdeps\.(?:config|log|workflows\.namespace|models)\b/;

/** Uses of the pool, and slow calls, in the callbacks of the functions above. */
function usesUnderLocks(file: string, text: string): string[] {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  const found: string[] = [];
  const look = (node: ts.Node): void => {
    const isUse =
      (ts.isPropertyAccessExpression(node) && node.name.text === 'db') ||
      (ts.isCallExpression(node) && ts.isIdentifier(node.expression) && SLOW.test(node.expression.text)) ||
      (ts.isCallExpression(node) &&
        ts.isPropertyAccessExpression(node.expression) &&
        /\b(?:storage|notifier|workflows)$/.test(node.expression.expression.getText(source)));
    if (isUse && !PLAIN.test(node.getText(source))) {
      const { line } = source.getLineAndCharacterOfPosition(node.getStart(source));
      found.push(`${file}:${line + 1} ${node.getText(source).split('\n')[0]}`);
    }
    node.forEachChild(look);
  };
  const visit = (node: ts.Node): void => {
    if (ts.isCallExpression(node) && ts.isIdentifier(node.expression) && LOCKING.has(node.expression.text)) {
      for (const argument of node.arguments) {
        if (ts.isArrowFunction(argument) || ts.isFunctionExpression(argument)) look(argument.body);
      }
    }
    node.forEachChild(visit);
  };
  visit(source);
  return found;
}

describe('work under the lock of a turn', () => {
  it('work under the lock of a turn uses its transaction alone: another connection of a full pool would never come, and the lock would wait for it', () => {
    const found = FOLDERS.flatMap(sourcesOf).flatMap((file) => usesUnderLocks(file, readFileSync(file, 'utf8')));
    expect(found).to.deep.equal([]);
  });

  it('work under the lock of a turn is found where it uses the pool, or waits for something else', () => {
    const wrong = `
      await changeTurn(deps, id, ifOpen, async (turn, tx) => {
        await load(deps.db, id);
        await deps.storage.put('a');
        await sleep(1);
        await tx.query('SELECT 1');
      });`;
    expect(usesUnderLocks('a.ts', wrong)).to.deep.equal([
      'a.ts:3 deps.db',
      "a.ts:4 deps.storage.put('a')",
      'a.ts:5 sleep(1)',
    ]);
  });
});
