// API and worker in one process, as `npm start` runs them, against the database and the Temporal server of its environment.
import { loadSettings } from '#dist/src/models/settings.js';
import { startService } from '#dist/dev/service.js';

const service = await startService(await loadSettings(process.env));
process.once('SIGTERM', () => void service.close().then(() => process.exit(0)));
