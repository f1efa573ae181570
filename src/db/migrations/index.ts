import type { MigrationInterface, QueryRunner } from 'typeorm';
import { Initial1800000000001 } from './1-initial.js';
import { MigrationFingerprints1800000000002 } from './2-migration-fingerprints.js';
import { WebhookRetries1800000000003 } from './3-webhook-retries.js';
import { EstimatedUsage1800000000004 } from './4-estimated-usage.js';
import { EndedSchedules1800000000005 } from './5-ended-schedules.js';
import { UsageSums1800000000006 } from './6-usage-sums.js';
import { UsageIndexes1800000000007 } from './7-usage-indexes.js';
import { OpenTasks1800000000008 } from './8-open-tasks.js';
import { Workspaces1800000000009 } from './9-workspaces.js';
import { Forks1800000000010 } from './10-forks.js';
import { Approvals1800000000011 } from './11-approvals.js';
import { TokenUploads1800000000012 } from './12-token-uploads.js';
import { TurnFacts1800000000013 } from './13-turn-facts.js';
import { TimelineAndActivity1800000000014 } from './14-timeline-and-activity.js';
import { UserCredentials1800000000015 } from './15-user-credentials.js';
import { ReplacedObjects1800000000016 } from './16-replaced-objects.js';
import { KeptWorkspaces1800000000017 } from './17-kept-workspaces.js';
import { LeftOutTools1800000000018 } from './18-left-out-tools.js';
import { AnswersOfResources1800000000019 } from './19-answers-of-resources.js';
import { ManifestStorage1800000000020 } from './20-manifest-storage.js';
import { FilesOfEvents1800000000021 } from './21-files-of-events.js';
import { RowBytes1800000000022 } from './22-row-bytes.js';
import { FoldedPreviews1800000000023 } from './23-folded-previews.js';
import { TokenStreams1800000000024 } from './24-token-streams.js';
import { WithoutThePast1800000000026 } from './26-without-the-past.js';

type Migration = new () => MigrationInterface;

/**
 * In order; only ever added to. Each with the SHA-256 of its file: a database keeps it, so that a migration that was edited after
 * it ran there is recognised (src/db/unreleased.ts). test/src/db/migration-files.test.ts prints the line of a new one.
 */
const FILES: readonly (readonly [Migration, sha256: string])[] = [
  [Initial1800000000001, 'e766de84e467555924274fa52808a1ea7af8889a8a0022fa965ddd91bbbb856a'],
  [MigrationFingerprints1800000000002, '17f65c586d36807f5c271980e9f46699cbfa1c839dd18c755e6b258774bc8f60'],
  [WebhookRetries1800000000003, '12841300ce59cac844ce051986d369e24e475863d15f2024835ae8ff94fe465c'],
  [EstimatedUsage1800000000004, 'e716b05318696450ae29df841dc78548cfd5397ab8277b59fb1eab75ce182cb4'],
  [EndedSchedules1800000000005, '4ff6e6e337bc2f0ebb541c0a48357daef51bc02ca3691940cecd2e77594a1a93'],
  [UsageSums1800000000006, 'c65add4d27702b3727f3a023b613c72bc9e5647d046158671036de0a94a9bd69'],
  [UsageIndexes1800000000007, '8ebdea2b3626239632da8379c6a886ac74a1c5937c7f76ab894fd00e7419afa9'],
  [OpenTasks1800000000008, '211e279756322f089f78bd277910f0cb5b8eeae000bbba04a0c9cdffcfb9ab5c'],
  [Workspaces1800000000009, '2313d6f0b6c99179c5c97957b027ce7b35840ed9ec554c7ae0eb6de3998d3e0c'],
  [Forks1800000000010, '66c5b480f50b214902069eadb7242674b9da41ccfce2272c701edad3b23ef050'],
  [Approvals1800000000011, '5f6ec01c3353fb07c6b0fc0621797a76e4a7c7fad06791253d763826798b8ddf'],
  [TokenUploads1800000000012, '891e2a2c1148624f22fbb806ce6c80339489ea38da7fc16f9fa9ab2bf12acbe8'],
  [TurnFacts1800000000013, '04b0991f64993cd3006ef038ad99d956863e1954dc4e551e17ee045a8148206e'],
  [TimelineAndActivity1800000000014, '3a3f659b620db31d1f736e52446fa63f80af934dc4f1f3c2be5e8f772b16d083'],
  [UserCredentials1800000000015, '6811bdf7b830fb1b189e336ba22e608e4a69595156d860854e48913e59d85bea'],
  [ReplacedObjects1800000000016, 'fb924bf5a01a5b7e9d10dc9ba4862e27e8f2bf663981e331a9147aceaf495b45'],
  [KeptWorkspaces1800000000017, 'c357dd97f1fd69fd173b7f161df23605a5652fd33248c701a32f742f0e8f89d7'],
  [LeftOutTools1800000000018, 'd8f0186982ad6bbe05e0dcda9028c0a22b220d1e49eefdcb75b8bf62b7afc76e'],
  [AnswersOfResources1800000000019, '622210655650bfe5c936ff53c75224eb9ecbddb42d9d0f9eca4a4398f4f84915'],
  [ManifestStorage1800000000020, 'a07567da85caac0a84eae892f7f8ac6b4b9df04bac0e38995a802901c1326cdd'],
  [FilesOfEvents1800000000021, 'ccd6b3bae7e511623a7b1cb26d10d6d74b5a5cf520714486a0da7348208a7a78'],
  [RowBytes1800000000022, '3047a0b8a07e89ad600317bcca3d9c7b00c56f55539fc64f1480866861ed239b'],
  [FoldedPreviews1800000000023, '10c974b23f2eeff879e4f9d2459523f7f65c358198b11c3348c0c202b5b00a47'],
  [TokenStreams1800000000024, 'ce4a358205699164bc506f2b88fb28664b6186ea55e116c5088e096333fb76a0'],
  [WithoutThePast1800000000026, '3bf4505fc5e13e304468b27337603b9e6f87c4390ccf277e973dc8b8b5fdb86c'],
];

/** The SHA-256 of each migration's file, by the migration's name. */
export const fingerprints: ReadonlyMap<string, string> = new Map(FILES.map(([{ name }, sha256]) => [name, sha256]));

export const migrations: Migration[] = FILES.map(([Migration], index) =>
  // The table of fingerprints comes with the second one.
  index === 0 ? Migration : recorded(Migration, FILES.slice(0, index + 1)),
);

/** The migration, which also records its fingerprint, in its transaction if it has one, and those before it that have none. */
function recorded(Migration: Migration, files: typeof FILES): Migration {
  const migration = new Migration();
  return class implements MigrationInterface {
    readonly name = Migration.name;
    readonly transaction = migration.transaction;

    async up(runner: QueryRunner): Promise<void> {
      await migration.up(runner);
      await runner.query(
        `INSERT INTO migration_fingerprints (name, sha256) SELECT * FROM unnest($1::text[], $2::text[])
         ON CONFLICT (name) DO NOTHING`,
        [files.map(([{ name }]) => name), files.map(([, sha256]) => sha256)],
      );
    }

    down(runner: QueryRunner): Promise<void> {
      return migration.down(runner);
    }
  };
}
