import { ConfigError, loadConfig, type Config } from '../platform/config.js';
import { checkModels } from './catalogue.js';

/**
 * The settings of a process that runs turns: `loadConfig`, and the models from MODELS_FILE.
 * @throws ConfigError listing every error of both
 */
export async function loadSettings(env: NodeJS.ProcessEnv): Promise<Config> {
  const errors: string[] = [];
  const note = (error: unknown): void => {
    if (!(error instanceof ConfigError)) throw error;
    errors.push(...error.problems);
  };
  let config: Config | undefined;
  try {
    config = loadConfig(env);
  } catch (error) {
    note(error);
  }
  await checkModels(env).catch(note);
  if (config === undefined || errors.length > 0) throw new ConfigError(errors);
  return config;
}
