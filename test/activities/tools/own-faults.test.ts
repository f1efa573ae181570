import { expect } from 'chai';
import { builtInKind } from '../../../activities/tools/built-in/kind.js';
import { runTool } from '../../../activities/tools/run-tool.js';
import { textResult, type BuiltInTool, type ToolDeps } from '../../../activities/tools/tool.js';
import { ServiceError } from '../../../src/platform/errors.js';
import type { ToolCallRow } from '../../../src/steps/tool-call.js';
import { callRun, NO_PAUSE } from '../../support/call-run.js';
import { onLogLine, testLogger } from '../../support/log.js';

/** decisions.md "Turns and events": an error of a built-in tool's own code is an error result. */
describe('an error of the code of a built-in tool', () => {
  const deps = { log: testLogger() } as unknown as ToolDeps;
  const call = {
    turnId: 'turn_1',
    step: 2,
    index: 1,
    toolUseId: 'toolu_1',
    name: 'list_files',
    input: {},
  } as ToolCallRow;
  const run = (fail: () => unknown) => {
    const tool: BuiltInTool = {
      name: 'list_files',
      description: '',
      inputSchema: { type: 'object', properties: {}, additionalProperties: false },
      run: async () => textResult(String(await fail())),
    };
    return runTool(builtInKind(deps, tool), callRun(call), NO_PAUSE, 60);
  };

  it('an error of the code of a built-in tool is an error result, and a line of the log with the call', async () => {
    const faults: (() => unknown)[] = [
      () => 'x'.repeat(2 ** 30),
      () => Buffer.alloc(-1),
      () => (undefined as unknown as string).length,
      () => JSON.parse('{'),
      () => decodeURIComponent('%'),
      () => Promise.reject(Object.assign(new Error('too long'), { code: 'ERR_STRING_TOO_LONG' })),
    ];
    for (const fault of faults) {
      const lines: Record<string, unknown>[] = [];
      const end = onLogLine((line) => lines.push(line));
      const result = await run(fault);
      end();
      expect(result, String(fault)).to.deep.equal(
        textResult(
          'list_files failed by an error of the service, whose operator finds it in the log. The same call would fail again: try another way.',
          true,
        ),
      );
      expect(lines.map(({ severity, turn_id, step, index }) => [severity, turn_id, step, index])).to.deep.equal([
        ['ERROR', 'turn_1', 2, 1],
      ]);
    }
  });

  it('an error of the code of a built-in tool is none of what Temporal tries again: Postgres, the storage, the network, a cancel', async () => {
    const others: Error[] = [
      new ServiceError('storage_error', 'away'),
      Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' }),
      new TypeError('fetch failed', { cause: new Error('connect ECONNREFUSED') }),
      new DOMException('cancelled', 'AbortError'),
      new Error('a file changed while it was stored'),
    ];
    for (const error of others) {
      const thrown = await run(() => Promise.reject(error)).then(
        () => null,
        (reason: unknown) => reason,
      );
      expect(thrown, error.message).to.equal(error);
    }
  });
});
