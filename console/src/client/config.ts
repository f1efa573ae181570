/** `config.json`, which the service serves beside the console. */
export interface ConsoleConfig {
  /** Address of a turn's workflow in the Temporal UI, with `{turn_id}` in it; null without TEMPORAL_UI_URL. */
  workflow_url: string | null;
}

/** The links to Temporal are a convenience: without the file the console works all the same. */
export async function loadConfig(): Promise<ConsoleConfig> {
  try {
    const response = await fetch(new URL('config.json', document.baseURI));
    if (response.ok) return (await response.json()) as ConsoleConfig;
  } catch {
    // The service is away; the banner says so.
  }
  return { workflow_url: null };
}
