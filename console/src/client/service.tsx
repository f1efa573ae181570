import { createContext, type ComponentChildren } from 'preact';
import { useContext, useEffect, useMemo, useState } from 'preact/hooks';
import { AgentSessionClient } from '../../../client/src/index.js';
import { parseExact } from '../../../src/platform/exact-json.js';
import { uploadingFetch, watchedFetch } from './fetch.js';

/** The API is next to the console: `…/console/` and `…/v1`. */
export const BASE_URL = new URL('..', document.baseURI).href;

/** `config.json`, which the service serves beside the console to requests with a key. */
interface ConsoleConfig {
  /** Address of a turn's workflow in the Temporal UI, with `{turn_id}` in it; null without TEMPORAL_UI_URL. */
  workflow_url: string | null;
  /** Of the key that this tab uses; null until it is known. */
  project: string | null;
  key_name: string | null;
  /** The groups in which it approves calls; `*`: every group. */
  approver_groups: string[];
  version: string | null;
}

const UNKNOWN: ConsoleConfig = {
  workflow_url: null,
  project: null,
  key_name: null,
  approver_groups: [],
  version: null,
};

interface Service {
  client: AgentSessionClient;
  /** A client whose uploads report the share of bytes sent, 0 to 1. */
  uploadClient: (onProgress: (share: number) => void) => AgentSessionClient;
  config: ConsoleConfig;
  /** False while the service does not answer. */
  reachable: boolean;
}

const ServiceContext = createContext<Service | null>(null);

interface Props {
  apiKey: string;
  onRefused: () => void;
  children: ComponentChildren;
}

export function ServiceProvider({ apiKey, onRefused, children }: Props) {
  const [reachable, setReachable] = useState(true);
  const [config, setConfig] = useState(UNKNOWN);
  useEffect(() => {
    void loadConfig(apiKey).then(setConfig);
  }, [apiKey]);

  const clients = useMemo(() => {
    const watch = { onReachable: setReachable, onRefused };
    // A person approves the numbers that will be sent.
    const options = { baseUrl: BASE_URL, apiKey, parseJson: parseExact };
    return {
      client: new AgentSessionClient({ ...options, fetch: watchedFetch(watch) }),
      uploadClient: (onProgress: (share: number) => void) =>
        new AgentSessionClient({ ...options, fetch: watchedFetch(watch, uploadingFetch(onProgress)) }),
    };
    // One client per key: `onRefused` is a new function at each render.
  }, [apiKey]);
  const service = useMemo(() => ({ ...clients, config, reachable }), [clients, config, reachable]);
  return <ServiceContext.Provider value={service}>{children}</ServiceContext.Provider>;
}

/** The links to Temporal and the names are a convenience: without the file the console works all the same. */
async function loadConfig(apiKey: string): Promise<ConsoleConfig> {
  try {
    const headers = { Authorization: `Bearer ${apiKey}` };
    const response = await fetch(new URL('config.json', document.baseURI), { headers });
    if (response.ok) return (await response.json()) as ConsoleConfig;
  } catch {
    // The service is away; the banner says so.
  }
  return UNKNOWN;
}

export function useService(): Service {
  return useContext(ServiceContext)!;
}

export function useClient(): AgentSessionClient {
  return useService().client;
}
