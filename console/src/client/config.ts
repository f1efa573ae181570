/** `config.json`, which the service serves beside the console to requests with a key. */
export interface ConsoleConfig {
  /** Address of a turn's workflow in the Temporal UI, with `{turn_id}` in it; null without TEMPORAL_UI_URL. */
  workflow_url: string | null;
}

/** The links to Temporal are a convenience: without the file the console works all the same. */
export async function loadConfig(apiKey: string): Promise<ConsoleConfig> {
  try {
    const headers = { Authorization: `Bearer ${apiKey}` };
    const response = await fetch(new URL('config.json', document.baseURI), { headers });
    if (response.ok) return (await response.json()) as ConsoleConfig;
  } catch {
    // The service is away; the banner says so.
  }
  return { workflow_url: null };
}
