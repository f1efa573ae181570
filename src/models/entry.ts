/** A model that sessions can name. Its API key is named, never held. */
export interface ModelEntry {
  id: string;
  display_name: string;
  /** The model's name at its API. */
  model: string;
  /** As the Anthropic SDK takes it, without `/v1`. */
  base_url?: string;
  /** Environment variable that holds the key. */
  api_key_env?: string;
  context_window: number;
  max_output_tokens: number;
  supports_thinking: boolean;
  /** How the model is asked to think; absent: by budget where it can think at all. */
  thinking?: 'adaptive' | 'budget' | 'none';
}
