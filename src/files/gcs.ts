import type { File } from '@google-cloud/storage';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { MIB } from '../platform/units.js';
import { contentDisposition } from './filename.js';
import { checkedKey, ObjectMissingError, storageError, type Storage, type StoredObject } from './storage.js';

/** A smaller object is uploaded in one request, which the library can retry. A larger one goes in resumable chunks. */
const ONE_REQUEST = 4 * MIB;
const CHUNK = 8 * MIB;

/** For tests: explicit credentials in place of the environment's. */
interface GcsOptions {
  projectId?: string;
  credentials?: { client_email: string; private_key: string };
  apiEndpoint?: string;
}

/**
 * File storage in a bucket: `gs://bucket/prefix`. Credentials come from the environment: a key file, or a workload
 * identity, whose links are signed by IAM's signBlob (it needs `iam.serviceAccounts.signBlob` on its own account). Only a
 * process that stores in a bucket loads Google's client, which takes a quarter of a second.
 */
export async function openGcsStorage(storageUrl: string, options: GcsOptions = {}): Promise<Storage> {
  const { IdempotencyStrategy, Storage: Client } = await import('@google-cloud/storage');
  const [, bucketName = '', path = ''] = /^gs:\/\/([^/]+)\/?(.*)$/.exec(storageUrl) ?? [];
  const prefix = path === '' || path.endsWith('/') ? path : `${path}/`;
  const client = new Client({
    ...options,
    retryOptions: {
      autoRetry: true,
      maxRetries: 2,
      totalTimeout: 10,
      // Retries are safe for every call here: a key always has the same content, and a second delete changes nothing.
      idempotencyStrategy: IdempotencyStrategy.RetryAlways,
    },
  });
  // With STORAGE_EMULATOR_HOST the library leaves out the API's path.
  if (client.customEndpoint) client.baseUrl = `${client.apiEndpoint}/storage/v1`;
  const bucket = client.bucket(bucketName);
  const fileOf = (key: string): File => bucket.file(prefix + checkedKey(key));
  const check = async (): Promise<void> => {
    await bucket.getFiles({ prefix, maxResults: 1, autoPaginate: false }).catch((error: unknown) => {
      throw storageError(error);
    });
  };
  /** GCS answers 404 for an object in a missing bucket, too. `check` lists the bucket to tell the two apart. */
  const fail = async (key: string, error: unknown): Promise<never> => {
    if ((error as { code?: unknown }).code !== 404) throw storageError(error);
    await check();
    throw new ObjectMissingError(key);
  };
  const sizeOfObject = async (key: string): Promise<number> => {
    const [metadata] = await fileOf(key)
      .getMetadata()
      .catch((error: unknown) => fail(key, error));
    return Number(metadata.size);
  };

  return {
    async put(key, content, { contentType, size }) {
      const file = fileOf(key);
      try {
        const known = Buffer.isBuffer(content) ? content.length : size;
        if (known !== undefined && known <= ONE_REQUEST) {
          const bytes = Buffer.isBuffer(content) ? content : await bytesOf(content);
          await file.save(bytes, { contentType, resumable: false });
          return bytes.length;
        }
        const source = Buffer.isBuffer(content) ? Readable.from([content], { objectMode: false }) : content;
        const target = file.createWriteStream({ contentType, resumable: true, chunkSize: CHUNK });
        let written = 0;
        await pipeline(source, counting, target);
        return written;

        async function* counting(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
          for await (const chunk of chunks) {
            written += chunk.length;
            yield chunk;
          }
        }
      } catch (error) {
        throw storageError(error);
      }
    },

    async open(key, range) {
      await sizeOfObject(key);
      return fileOf(key).createReadStream({ ...range, validation: range === undefined });
    },

    async read(key, maxBytes, start = 0) {
      const length = Math.min(maxBytes, (await sizeOfObject(key)) - start);
      if (length <= 0) return Buffer.alloc(0);
      const [bytes] = await fileOf(key)
        .download({ start, end: start + length - 1, validation: false })
        .catch((error: unknown) => fail(key, error));
      return bytes;
    },

    size: sizeOfObject,

    async delete(key) {
      await fileOf(key)
        .delete({ ignoreNotFound: true })
        .catch((error: unknown) => {
          throw storageError(error);
        });
    },

    async *list(under, after = ''): AsyncGenerator<StoredObject> {
      try {
        const query = { prefix: prefix + under, startOffset: prefix + after };
        for await (const file of bucket.getFilesStream(query) as AsyncIterable<File>) {
          if (file.name === query.startOffset) continue;
          yield {
            key: file.name.slice(prefix.length),
            size: Number(file.metadata.size),
            createdAt: new Date(String(file.metadata.timeCreated)),
          };
        }
      } catch (error) {
        throw storageError(error);
      }
    },

    async downloadUrl({ storage_key, filename, mime_type }, expiresSeconds) {
      // Use whole seconds for both times, or the link's X-Goog-Expires becomes a fraction.
      const accessibleAt = Math.floor(Date.now() / 1000) * 1000;
      const [url] = await fileOf(storage_key)
        .getSignedUrl({
          version: 'v4',
          action: 'read',
          accessibleAt,
          expires: accessibleAt + expiresSeconds * 1000,
          responseDisposition: contentDisposition(filename),
          responseType: mime_type,
        })
        .catch((error: unknown) => {
          throw storageError(error);
        });
      return url;
    },

    check,
  };
}

async function bytesOf(content: Readable): Promise<Buffer> {
  return Buffer.concat((await content.toArray()) as Buffer[]);
}
