import type { McpNetwork } from '../network/network.js';
import type { ByteBudget } from '../platform/byte-budget.js';
import { ProjectLimits } from '../platform/project-limits.js';
import { withLargeAnswer } from './large-answer.js';
import { PROBE_SECONDS, probeServer, type ProbeResult } from './probe.js';
import type { RequestAuth } from './request-auth.js';
import { MAX_LIST_VALUES } from './wire/answer-limits.js';

/** Probes of a project at a time in this process. Further ones wait. */
const MAX_PROBES_PER_PROJECT = 8;

/** The probes of an API process: limited for each project, and in the memory of their answers. */
export class Probes {
  readonly #limits = new ProjectLimits(MAX_PROBES_PER_PROJECT);

  constructor(
    private readonly network: McpNetwork,
    private readonly budget: ByteBudget,
  ) {}

  /** @throws ServiceError as `probeServer` does */
  run(projectId: string, url: URL, authorize: () => RequestAuth): Promise<ProbeResult> {
    return this.#limits.run(projectId, () => {
      const signal = AbortSignal.timeout(PROBE_SECONDS * 1000);
      return withLargeAnswer({ budget: this.budget, projectId, signal, maxValues: MAX_LIST_VALUES }, (onLarge) =>
        probeServer(this.network, url, authorize, { onLarge }),
      );
    });
  }
}
