import { UnsafeAddressError, type GuardedNetwork } from '../network/network.js';
import { privateAddress } from '../network/server-url.js';
import type { MemoryShare } from '../platform/memory-share.js';
import { ServiceError } from '../platform/errors.js';
import { FairQueue } from '../platform/fair-queue.js';
import { storableText } from '../platform/text.js';
import { Cleaner } from './cleaner.js';
import { McpConnection } from './client.js';
import { withDeadline } from './deadline.js';
import { withLargeAnswer } from './large-answer.js';
import { failureReason } from './reasons.js';
import type { RequestAuth } from './request-auth.js';
import { keepTools, listTools, type KeptTools } from './tools.js';
import { type OnLarge, MAX_LIST_VALUES } from './transport/answer-body.js';
import { pacerOfRequest } from './transport/pacer.js';

/** Time limit of a whole probe (docs/limits.md). */
const PROBE_SECONDS = 60;
/** Probes of a project at a time in this process. Further ones wait. */
const MAX_PROBES_PER_PROJECT = 8;
const MAX_SERVER_NAME_LENGTH = 256;

export interface ProbeResult extends KeptTools {
  serverName: string | null;
}

/** The probes of an API process: limited for each project, and in the memory of their answers. */
export class Probes {
  readonly #limits = new FairQueue({ perProject: MAX_PROBES_PER_PROJECT });

  constructor(
    private readonly network: GuardedNetwork,
    private readonly memory: MemoryShare,
    private readonly seconds = PROBE_SECONDS,
  ) {}

  /**
   * Connects once and lists the tools; those of `allowed` are kept in any case.
   * @throws ServiceError `mcp_probe_failed` with the reason, `invalid_mcp_server_url` if the address is not public
   */
  async run(
    projectId: string,
    url: URL,
    allowed: readonly string[] | null,
    authorize: () => RequestAuth,
  ): Promise<ProbeResult> {
    try {
      return await this.#limits.within(projectId, () =>
        withDeadline(this.seconds, null, (signal) =>
          withLargeAnswer({ memory: this.memory, projectId, signal, maxValues: MAX_LIST_VALUES }, (onLarge) =>
            this.#probe(url, allowed, authorize(), signal, onLarge),
          ),
        ),
      );
    } catch (error) {
      if (error instanceof Error && error.cause instanceof UnsafeAddressError) throw privateAddress();
      const reason = storableText(`The MCP server cannot be used: ${failureReason(error)}.`);
      throw new ServiceError('mcp_probe_failed', reason);
    }
  }

  async #probe(
    url: URL,
    allowed: readonly string[] | null,
    auth: RequestAuth,
    signal: AbortSignal,
    onLarge: OnLarge,
  ): Promise<ProbeResult> {
    const pacer = pacerOfRequest();
    const connection = await McpConnection.open({ url, auth, network: this.network, listen: false, pacer }, signal);
    try {
      const listed = await listTools(connection, signal, onLarge);
      const cleaner = new Cleaner(() => auth.secrets());
      const kept = await keepTools(listed, cleaner, allowed);
      const name = connection.serverName;
      return { ...kept, serverName: name === null ? null : cleaner.cleanStart(name, MAX_SERVER_NAME_LENGTH) };
    } finally {
      await connection.close();
    }
  }
}
