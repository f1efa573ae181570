import { expect } from 'chai';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { skip } from '../../support/skip.js';
import { startTurnService, type TurnService } from '../../support/turns.js';

/** What must hold for every answer, whatever was asked. */
const CHECKS = [
  'not_a_server_error',
  'status_code_conformance',
  'content_type_conformance',
  'response_headers_conformance',
  'response_schema_conformance',
  'unsupported_method',
  'allow_header_conformance',
  'ignored_auth',
  'use_after_free',
  'ensure_resource_availability',
];
const EXAMPLES = process.env.SCHEMATHESIS_EXAMPLES ?? '40';

describe('schemathesis', function () {
  this.timeout(1_200_000);
  let service: TurnService;
  const folder = mkdtempSync(join(tmpdir(), 'schemathesis-'));
  before(async function () {
    if (!process.env.SCHEMATHESIS) skip(this, 'needs Python: npm run check -- schemathesis');
    service = await startTurnService();
  });
  after(async () => {
    await service?.close();
    rmSync(folder, { recursive: true });
  });

  it('schemathesis finds no 5xx, and no answer that the OpenAPI document does not describe', async () => {
    const checker = spawn(
      process.env.SCHEMATHESIS!,
      [
        ...['run', `${service.url}/openapi.json`, '--url', service.url],
        ...['--header', `Authorization: Bearer ${service.key}`],
        ...['--checks', CHECKS.join(','), '--max-examples', EXAMPLES, '--seed', '1', '--continue-on-failure'],
        // A stream answers as long as its turn lasts; test/api/events reads it.
        ...['--exclude-operation-id', 'streamEvents', '--warnings', 'off'],
      ],
      { cwd: folder, stdio: 'inherit' },
    );
    const [code] = (await once(checker, 'exit')) as [number | null];
    expect(code).to.equal(0);
  });
});
