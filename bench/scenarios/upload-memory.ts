import { MIB } from '../../src/platform/units.js';
import { postStream, streamedFile } from '../../test/support/upload.js';
import { timed, watchMemory } from '../measure.js';
import { scenario } from '../scenario.js';
import { row } from '../table.js';

export default scenario({
  measures: "the API's resident memory during parallel uploads to local storage (Linux)",
  options: { uploads: 8, mib: 100 },
  async run(bench, { uploads, mib }) {
    const { apis, key } = await bench.system({ workers: 0 });
    const [{ url, pid }] = apis as [(typeof apis)[0]];
    const upload = async (size: number): Promise<void> => {
      const { status, body } = await postStream({ url, key }, streamedFile(size * MIB));
      if (status !== 201) throw new Error(`${status} ${JSON.stringify(body)}`);
    };
    await upload(1);
    const memory = watchMemory(pid);
    const took = await timed(() => Promise.all(Array.from({ length: uploads }, () => upload(mib))));
    const { before, most } = memory.stop();
    row(`${uploads} parallel uploads of ${mib} MiB`, `${(took / 1000).toFixed(1)} s`);
    row('resident memory', `${before} MiB before, ${most} MiB at most`);
  },
});
