/** A token of output costs 0.001, one of input nothing. */
export const PRICE = { currency: 'USD', input: 0, output: 1000, cache_read: 0, cache_write: 0 };

export const cost = (amount: string) => ({ amount, currency: 'USD' });

export const budget = (amount: string, on_reached: 'pause' | 'stop') => ({ max_cost: cost(amount), on_reached });

/** The usage of an answer of that many tokens. */
export const tokens = (output_tokens: number) => ({
  usage: { input_tokens: 1, output_tokens, cache_read_input_tokens: 0, cache_creation_input_tokens: 0 },
});
