import { expect } from 'chai';
import { createLogger } from '../../../src/platform/logger.js';

function lines(): { write(line: string): void; read(): Record<string, unknown>[] } {
  const written: string[] = [];
  return {
    write: (line) => void written.push(line),
    read: () => written.map((line) => JSON.parse(line) as Record<string, unknown>),
  };
}

describe('the log', () => {
  it('the log writes one line of JSON per event, with Cloud Logging’s severity', () => {
    const out = lines();
    const log = createLogger('debug', 'api', out).child({ request_id: 'req_1' });
    log.warn({ turn_id: 'turn_1', step: 2 }, 'slow');
    log.debug('detail');
    const [first, second] = out.read();
    expect(first).to.include({ severity: 'WARNING', role: 'api', request_id: 'req_1', turn_id: 'turn_1', step: 2 });
    expect(first).to.include({ message: 'slow' }).and.have.property('time').that.matches(/Z$/);
    expect(second).to.include({ severity: 'DEBUG' });
  });

  it('the log drops every field that is not allowed, and names it', () => {
    const out = lines();
    const log = createLogger('info', 'api', out);
    const fields = { turn_id: 't', authorization: 'Bearer ask_x', content: 'my secret' };
    // @ts-expect-error the compiler rejects fields that are not in the list,
    log.info({ turn_id: 't', authorization: 'Bearer ask_x', content: 'my secret' }, 'x');
    // @ts-expect-error also those of a spread,
    log.info({ ...fields }, 'x');
    // @ts-expect-error those of a child,
    log.child({ password: 'hunter2' }).info('y');
    // @ts-expect-error and objects.
    log.info({ path: { nested: 'my secret' } }, 'z');
    const text = JSON.stringify(out.read());
    expect(text).to.not.match(/ask_x|secret|hunter2/);
    expect(out.read()[0]).to.deep.include({ turn_id: 't', redacted: ['authorization', 'content'] });
  });

  it('the log describes an error by kind, message, stack and cause, without its attached objects', () => {
    const out = lines();
    const cause = Object.assign(new Error('refused'), { code: 'ECONNREFUSED', headers: { authorization: 'Bearer x' } });
    createLogger('info', 'api', out).error({ err: new Error('away', { cause }) }, 'z');
    const [line] = out.read();
    expect(line).to.have.nested.property('err.cause.code', 'ECONNREFUSED');
    expect(JSON.stringify(line)).to.not.contain('Bearer');
  });
});
