// API and worker answer on METRICS_PORT, an API without it on PORT; the other roles end by themselves.
const { PORT, METRICS_PORT } = process.env;
const { readFileSync } = await import('node:fs');
const command = readFileSync('/proc/1/cmdline', 'utf8');
const isApi = command.includes('dist/api/main.js');
const port = METRICS_PORT || (isApi ? PORT || '8080' : '');
if (!/dist\/(api|activities)\/main\.js/.test(command) || !port) process.exit(0);
const response = await fetch(`http://127.0.0.1:${port}/healthz`, { signal: AbortSignal.timeout(2000) }).catch(
  () => null,
);
process.exit(response?.ok === true ? 0 : 1);
