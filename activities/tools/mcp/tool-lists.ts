import type { McpTool } from '../../../src/db/entities/mcp-servers.js';
import type { Cleaner } from '../../../src/mcp/cleaner.js';
import { LargeAnswer } from '../../../src/mcp/large-answer.js';
import { keepTools } from '../../../src/mcp/tools.js';
import type { OnLarge } from '../../../src/mcp/wire/answer-body.js';
import { MAX_LIST_VALUES } from '../../../src/mcp/wire/answer-limits.js';
import type { ByteBudget } from '../../../src/platform/byte-budget.js';
import { ProjectLimits } from '../../../src/platform/project-limits.js';

/** Tool lists that a project reads in parallel: many turns of pinned servers may begin together. */
const MAX_READING_PER_PROJECT = 16;

/** Reads the tool lists of pinned servers, a few of each project at a time. */
export class ToolLists {
  readonly #limits = new ProjectLimits(MAX_READING_PER_PROJECT);

  constructor(private readonly budget: ByteBudget) {}

  read(
    projectId: string,
    signal: AbortSignal,
    list: (onLarge: OnLarge) => Promise<unknown[]>,
    cleaner: Cleaner,
  ): Promise<McpTool[]> {
    return this.#limits.run(projectId, async () => {
      const large = new LargeAnswer({ budget: this.budget, projectId, signal, maxValues: MAX_LIST_VALUES });
      try {
        return await keepTools(await list((bytes) => large.take(bytes)), cleaner);
      } finally {
        large.release();
      }
    });
  }
}
