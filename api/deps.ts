import type { DataSource } from 'typeorm';
import type { Config } from '../src/config.js';
import type { Storage } from '../src/files/storage.js';
import type { Logger } from '../src/log.js';

/** What operations work with; made once by main. Each resource adds what it needs. */
export interface ApiDeps {
  config: Config;
  db: DataSource;
  log: Logger;
  storage: Storage;
}
