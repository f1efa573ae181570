import { expect } from 'chai';
import { Webhook } from 'standardwebhooks';
import { verifyWebhook, WebhookVerificationError, type VerifyOptions } from '../../client/src/index.js';
import { newSecret, signatureHeaders } from '../../src/webhooks/sign.js';

const SECRET = newSecret();
const BODY = JSON.stringify({ type: 'agent.file', timestamp: '2026-11-21T20:00:00.123456Z', data: { note: 'é😀' } });

describe('verifyWebhook of the client', () => {
  const sign = (age = 0, secrets = [SECRET]): Record<string, string> =>
    signatureHeaders(secrets, 'dlv_1', new Date(Date.now() - age * 1000), BODY);
  const refused = async (
    body: string | Uint8Array,
    headers: Record<string, string>,
    secret = SECRET,
    options: VerifyOptions = {},
  ): Promise<string> => {
    const error: unknown = await verifyWebhook(body, headers, secret, options).catch((thrown: unknown) => thrown);
    if (error instanceof WebhookVerificationError) return error.message;
    throw new Error(`it was not refused: ${String(error)}`);
  };

  it('verifyWebhook of the client returns the payload of a text or of bytes, with the headers of fetch or of Node', async () => {
    for (const body of [BODY, Buffer.from(BODY), new TextEncoder().encode(BODY)]) {
      for (const headers of [sign(), new Headers(sign())]) {
        expect(await verifyWebhook(body, headers, SECRET)).to.deep.equal(JSON.parse(BODY));
      }
    }
  });

  it('verifyWebhook of the client accepts a signature of any secret, and several secrets', async () => {
    await verifyWebhook(BODY, sign(0, [newSecret(), SECRET]), SECRET);
    await verifyWebhook(BODY, sign(), [newSecret(), SECRET]);
    const headers = sign();
    headers['webhook-signature'] = `v1a,AAAA v1,not*base64 ${headers['webhook-signature']}`;
    await verifyWebhook(BODY, headers, SECRET);
  });

  it('verifyWebhook of the client refuses another body, id, time, secret or signature', async () => {
    const message = /No signature/;
    expect(await refused(`${BODY} `, sign())).to.match(message);
    expect(await refused(Buffer.from([0xff, ...Buffer.from(BODY)]), sign())).to.match(message);
    expect(await refused(BODY, { ...sign(), 'webhook-id': 'dlv_2' })).to.match(message);
    expect(await refused(BODY, { ...sign(), 'webhook-timestamp': sign(2)['webhook-timestamp']! })).to.match(message);
    expect(await refused(BODY, sign(), newSecret())).to.match(message);
    for (const signature of ['', 'v1,', 'v1,AAAA', sign()['webhook-signature']!.slice(3)]) {
      expect(await refused(BODY, { ...sign(), 'webhook-signature': signature }), signature).to.match(message);
    }
  });

  it('verifyWebhook of the client refuses bytes that only look like the signed text', async () => {
    // U+FFFD stands where a decoder met a byte that is no UTF-8.
    const text = BODY.replace('é', '\ufffd');
    const headers = signatureHeaders([SECRET], 'dlv_1', new Date(), text);
    await verifyWebhook(text, headers, SECRET);
    const bytes = Buffer.from(BODY.replace('é', 'e'));
    bytes[bytes.indexOf('e😀')] = 0xff;
    expect(await refused(bytes, headers)).to.match(/No signature/);
  });

  it('verifyWebhook of the client refuses requests that are more than five minutes old or ahead, or beyond the given tolerance', async () => {
    await verifyWebhook(BODY, sign(290), SECRET);
    await verifyWebhook(BODY, sign(-290), SECRET);
    for (const age of [310, -310]) expect(await refused(BODY, sign(age))).to.match(/webhook-timestamp/);
    expect(await refused(BODY, sign(60), SECRET, { toleranceSeconds: 30 })).to.match(/webhook-timestamp/);
    await verifyWebhook(BODY, sign(310), SECRET, { toleranceSeconds: 600 });
    for (const timestamp of ['', 'now', '1e9', '-5', 'NaN']) {
      const headers = { ...sign(), 'webhook-timestamp': timestamp };
      expect(await refused(BODY, headers), timestamp).to.match(/webhook-timestamp/);
    }
  });

  it('verifyWebhook of the client names a missing header and an invalid secret', async () => {
    for (const name of ['webhook-id', 'webhook-timestamp', 'webhook-signature']) {
      const { [name]: _, ...others } = sign();
      expect(await refused(BODY, others)).to.contain(name);
    }
    for (const secret of ['', 'whsec_', 'whsec_*']) {
      const error: unknown = await verifyWebhook(BODY, sign(), secret).catch((thrown: unknown) => thrown);
      expect(error, secret).to.be.instanceOf(TypeError);
    }
  });

  it('verifyWebhook of the client agrees with the library of Standard Webhooks', async () => {
    const at = new Date();
    const headers = {
      'webhook-id': 'msg_1',
      'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
      'webhook-signature': new Webhook(SECRET).sign('msg_1', at, BODY),
    };
    expect(await verifyWebhook(BODY, headers, SECRET)).to.deep.equal(new Webhook(SECRET).verify(BODY, headers));
  });
});
