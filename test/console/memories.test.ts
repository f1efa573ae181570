import { expect } from 'chai';
import fc from 'fast-check';
import { changedLines } from '../../console/src/memories/changed-lines.js';
import { sessionTools, withMemoryOfUser } from '../../console/src/sessions/session-tools.js';
import { steps, toolUse } from '../support/scripted-model.js';
import { DESKTOP, inspectSizes, useConsole } from './use-console.js';

describe('the lines that a version of a memory changed', () => {
  it('the lines that a version of a memory changed give both texts, with as few changes as there must be', () => {
    const text = fc.array(fc.constantFrom('a', 'b', 'c', ''), { maxLength: 8 }).map((lines) => lines.join('\n'));
    const linesOf = (whole: string): string[] => whole.replace(/\n$/, '').split('\n');
    fc.assert(
      fc.property(text, text, (before, after) => {
        const lines = changedLines(before, after);
        const without = (kind: string) => lines.filter((line) => line.kind !== kind).map((line) => line.text);
        expect(without('added').join('\n')).to.equal(before === '' ? '' : linesOf(before).join('\n'));
        expect(without('removed').join('\n')).to.equal(after === '' ? '' : linesOf(after).join('\n'));
      }),
      { numRuns: 2000 },
    );
    expect(changedLines('a\nb\nc\n', 'a\nx\nc\n').map(({ kind, text: line }) => `${kind} ${line}`)).to.deep.equal([
      'same a',
      'removed b',
      'added x',
      'same c',
    ]);
  });

  it('the lines that a version of a memory changed: a new session remembers its user where the form says so', () => {
    const [mine, all] = [
      { type: 'memory', of: 'user', access: 'read_only' } as const,
      { type: 'memory', of: 'project' } as const,
    ];
    expect(withMemoryOfUser([all], true)).to.deep.equal([{ type: 'memory', of: 'user' }, all]);
    expect(withMemoryOfUser([mine, all], true)).to.deep.equal([mine, all]);
    expect(withMemoryOfUser([mine, all], false)).to.deep.equal([all]);
    expect(sessionTools([], {}, null, true, [all], [])).to.deep.equal([all, { type: 'wait' }]);
  });
});

/** docs/memory.md in the console. */
describe('memories in the console', function () {
  this.timeout(120_000);
  const { system, browser } = useConsole();

  it('memories in the console show files, what each version changed and by which turn, and an erasure that ends', async () => {
    const user = 'jane@example.com';
    const path = '/memories/user/notes.md';
    system.model.on(
      /Go/,
      steps(
        toolUse('memory', { command: 'create', path, file_text: 'likes tea\nworks late\n' }),
        toolUse('memory', { command: 'str_replace', path, old_str: 'tea', new_str: 'green tea' }),
        'Done.',
      ),
    );
    const sessionId = await system.session({ user, tools: [{ type: 'memory', of: 'user' }] });
    await system.ended(await system.send(sessionId, 'Go'));
    const page = await browser.open('/memories', { viewport: DESKTOP });
    await page.getByRole('link', { name: user }).click();
    await page.getByRole('button', { name: '/notes.md' }).first().click();
    await page.getByText('likes green tea').waitFor();
    await page.getByRole('button', { name: 'What changed in /notes.md by version 2' }).click();
    await page.getByText('- likes tea').waitFor();
    expect(await page.getByLabel('Changes of /notes.md').textContent()).to.equal(
      '- likes tea\n+ likes green tea\n  works late',
    );
    expect(await page.getByRole('link', { name: 'by a turn' }).first().getAttribute('href')).to.include(sessionId);
    await inspectSizes(page, 'memory');

    await page.goto(page.url().replace(/#.*/, '#/erasures'));
    await page.getByLabel('User').fill(user);
    await page.getByRole('button', { name: 'Erase' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Erase' }).click();
    const row = page.getByRole('list', { name: 'Erasures' }).getByRole('listitem');
    await row.getByText('Done').waitFor();
    expect(await row.textContent()).to.include('1 session, 0 files, 0 credentials, 1 memory gone');
    await inspectSizes(page, 'erasures');
  });
});
