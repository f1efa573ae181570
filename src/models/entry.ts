/** A model that sessions can use. The entry names the variable of its API key; it never contains the key. */
export interface ModelEntry {
  id: string;
  display_name: string;
  /** The model's name at its API. */
  model: string;
  /** As in the Anthropic SDK, without `/v1`. */
  base_url?: string;
  /** The environment variable with the key. */
  api_key_env?: string;
  context_window: number;
  max_output_tokens: number;
  supports_thinking: boolean;
  /** How to request thinking; absent: by token budget, if the model supports thinking. */
  thinking?: 'adaptive' | 'budget' | 'none';
}
