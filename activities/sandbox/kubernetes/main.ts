/** The process of a sandbox pod (deploy/kubernetes/sandbox.yaml): serves one session's commands. */
import { createLogger } from '../../../src/platform/logger.js';
import { startDaemon } from './daemon.js';

/** What deploy/kubernetes/sandbox.yaml sets, name and address from the pod itself. */
const { POD_NAME, POD_IP, SANDBOX_DIR: sandboxDir = '/var/sandbox' } = process.env;
const { SANDBOX_MEMORY_MB = '2048', SANDBOX_DISK_MB = '1024' } = process.env;
const log = createLogger('info', 'sandbox');
const sandboxes = {
  ...{ sandboxDir, sandboxRoot: null, dataDir: sandboxDir },
  ...{ sandboxMemoryMb: Number(SANDBOX_MEMORY_MB), sandboxDiskMb: Number(SANDBOX_DISK_MB) },
};
try {
  if (!POD_NAME || !POD_IP) throw new Error('set POD_NAME and POD_IP');
  const daemon = await startDaemon({ name: POD_NAME, address: POD_IP }, sandboxes, log);
  log.info('commands can run');
  process.once('SIGTERM', () => void daemon.close());
} catch (err) {
  log.error({ err }, 'no command can run in this pod');
  process.exitCode = 1;
}
