type Fetch = typeof globalThis.fetch;

interface Watch {
  onReachable: (reachable: boolean) => void;
  /** The key is missing, revoked or expired. */
  onRefused: () => void;
}

/** Reports with each answer whether the service can be reached, and when it refuses the key. */
export function watchedFetch({ onReachable, onRefused }: Watch, send: Fetch = (...args) => fetch(...args)): Fetch {
  return async (input, init) => {
    try {
      const response = await send(input, init);
      onReachable(response.status !== 502 && response.status !== 503);
      if (response.status === 401) onRefused();
      return response;
    } catch (error) {
      if (init?.signal?.aborted !== true) onReachable(false);
      throw error;
    }
  };
}
