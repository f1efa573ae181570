import { expect } from 'chai';
import type { ToolContext, ToolSource, TurnTool } from '../../../activities/tools/tool-source.js';
import type { ToolKind } from '../../../activities/tools/tool-kind.js';
import { textResult } from '../../../activities/tools/tool.js';
import {
  definitionsOf,
  kindOfCall,
  offerTools,
  approvalOf,
  permissionsOf,
  serialToolsOf,
} from '../../../activities/tools/turn-tools.js';
import { callRun, NO_PAUSE } from '../../support/call-run.js';
import type { ToolCallRow } from '../../../src/steps/tool-call.js';
import { runTool } from '../../../activities/tools/run-tool.js';

const LIMITS = { toolDefinitionTokens: 0, contextWindow: 1000 };
const CONTEXT = { turn: {}, customTools: [], outputSchema: null } as unknown as ToolContext;

const tool = (name: string, fields: Partial<TurnTool> = {}): TurnTool => ({
  definition: { name, description: '', inputSchema: { type: 'object' } },
  ...{ shown: 'always', permission: 'allow', isSerial: false, owner: null, kindOf: () => null },
  ...fields,
});
const source = (...tools: TurnTool[]): ToolSource => ({ tools: () => tools });
const namesOf = (tools: TurnTool[]): string[] => tools.map(({ definition: { name } }) => name);

describe('the tools of a turn', () => {
  it('the tools of a turn come in the order of their sources, with what their calls need', () => {
    const asking = { permission: 'ask', approvers: ['finance'], asksEverywhere: true } as const;
    const sources = [source(tool('b', { isSerial: true }), tool('a')), source(tool('c', asking))];
    const tools = offerTools(sources, CONTEXT, LIMITS);
    expect(namesOf(tools)).to.deep.equal(['b', 'a', 'c']);
    const permissions = permissionsOf(tools);
    const runs = { permission: 'allow', approvers: [], asksEverywhere: false };
    expect([...permissions].map(([name, of]) => [name, of({})])).to.deep.equal([
      ['b', runs],
      ['a', runs],
      ['c', asking],
    ]);
    // Without `tools` a session says nothing; a name that the model invented needs nothing.
    const cases = ['a', 'c', 'none'].map((name) =>
      [true, false].map((has) => approvalOf(permissions, has, { name, input: {} }).permission),
    );
    expect(cases).to.deep.equal([
      ['allow', null],
      ['ask', 'ask'],
      ['allow', null],
    ]);
    expect([...serialToolsOf(tools)]).to.deep.equal(['b']);
  });

  it('the tools of a turn are shown in this order: all others, those that were found, as they were found, and the last ones', () => {
    const tools = [
      tool('end', { shown: 'last' }),
      tool('x', { shown: 'found' }),
      tool('y', { shown: 'found' }),
      tool('a'),
    ];
    const shown = (found: string[]): string[] => definitionsOf(tools, found).map(({ name }) => name);
    expect(shown([])).to.deep.equal(['a', 'end']);
    expect(shown(['y', 'x'])).to.deep.equal(['a', 'y', 'x', 'end']);
  });

  it('a tool that the client runs gives way to another one of its name, whichever source comes first', () => {
    const sources = [source(tool('read')), source(tool('read', { permission: 'custom' }), tool('own', { permission: 'custom' })), source(tool('own'))]; // oxfmt-ignore
    const tools = offerTools(sources, CONTEXT, LIMITS);
    expect(tools.map(({ definition: { name }, permission }) => `${name} ${permission}`)).to.deep.equal([
      'read allow',
      'own allow',
    ]);
  });

  it('the kind of a call follows from its tool and input; a call of no tool has an error result', async () => {
    const kind = { name: 'new' } as ToolKind;
    const sources = [source(tool('a', { kindOf: ({ run }) => (run === true ? kind : null) }))];
    const kindOf = (name: string, input = {}): ToolKind => kindOfCall(sources, CONTEXT.turn, { name, input }, LIMITS);
    expect(kindOf('a', { run: true })).to.equal(kind);
    const call = { name: 'invented', toolUseId: 'tu_1', turnId: 'turn_1', step: 1, index: 0, input: {} };
    for (const unknown of [kindOf('a'), kindOf('invented')]) {
      expect(unknown).to.include({ name: 'unknown', repeatable: false });
      const result = await runTool(unknown, callRun(call as ToolCallRow), NO_PAUSE, 60);
      expect(result)
        .to.have.nested.property('content[0].text')
        .that.matches(/^There is no tool .* in this turn\.$/);
    }
  });

  it('the time limit of a call does not run during a pause, and a kind may limit its time by itself', async () => {
    const call = { name: 'slow', toolUseId: 'tu_1', turnId: 'turn_1', step: 1, index: 0, input: {} } as ToolCallRow;
    const run = (kind: Partial<ToolKind>): ReturnType<typeof runTool> =>
      runTool({ name: 'new', repeatable: false, notRepeated: () => textResult(''), run: kind.run!, ...kind }, callRun(call), NO_PAUSE, 0.05); // oxfmt-ignore
    /** Longer than the limit, as the clock of the process sees it. */
    const late = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 100));
    const isDone = async (result: ReturnType<typeof runTool>): Promise<boolean> => !('isError' in (await result) && (await result as { isError: boolean }).isError); // oxfmt-ignore
    const paused = run({
      run: async (_, { signal }, pause) => {
        const goOn = pause.begin();
        await late();
        await goOn(signal);
        return textResult('Done.');
      },
    });
    const free = run({ limitsItself: true, run: () => late().then(() => textResult('Done.')) });
    const limited = run({ run: () => late().then(() => textResult('Done.')) });
    expect([await isDone(paused), await isDone(free), await isDone(limited)]).to.deep.equal([true, true, false]);
  });
});
