import { expect } from 'chai';
import { LOW, type Attacked, type Way, openLimited } from '../../support/limited-sandbox.js';
import { requireSandbox } from '../../support/sandbox.js';
import { skip } from '../../support/skip.js';

/** MiB that a limit may be passed by. */
const SLACK = {
  /** The last blocks of 20,000 entries, and the tables of a file system. */
  disk: 125,
  /** `/dev/shm`, and what the worker and bwrap hold. */
  memory: 70,
};
/** What no group of the kernel counts. */
const UNCOUNTED = ['locks', 'datagrams'];

const python = (script: string): string =>
  `/usr/bin/python3 - <<'E'\nimport ctypes, mmap, os, socket, struct, sys, time\n${script}\nE`;

export interface Attack {
  title: string;
  on: 'disk' | 'memory';
  command: string;
}

const disk = (title: string, command: string): Attack => ({ title, on: 'disk', command });
const memory = (title: string, command: string): Attack => ({ title, on: 'memory', command });

/** What takes disk or memory in ways that no sum over files or processes shows. */
export const ATTACKS: Record<string, Attack> = {
  reserved: disk(
    'blocks that are reserved and never written',
    'touch f; fallocate -n -l 700M f; touch /tmp/f; fallocate -l 300M /tmp/f; fallocate -l 300M /mnt/session/outputs/g; sleep 1',
  ),
  reservedByControl: disk(
    'blocks that are reserved by a control of the file',
    python(`
f = os.open('f', os.O_RDWR | os.O_CREAT)
libc = ctypes.CDLL(None, use_errno=True)
for control in (0x40305828, 0x4030582a, 0x40305839):
    space = struct.pack('hhqqiI4i', 0, 0, 0, 700 << 20, 0, 0, 0, 0, 0, 0)
    print(control, libc.ioctl(f, ctypes.c_ulong(control), space), ctypes.get_errno())
time.sleep(1)`),
  ),
  unnamed: disk('an open file without a name', 'exec 3>f; rm f; head -c 300M /dev/zero >&3; sleep 2'),
  unnamedMapped: disk(
    'a mapped file without a name, which is not open',
    python(`
f = os.open('f', os.O_RDWR | os.O_CREAT)
os.ftruncate(f, 400 << 20)
m = mmap.mmap(f, 400 << 20)
os.unlink('f'); os.close(f)
for at in range(0, 400 << 20, 4096):
    m[at] = 1
    if at % (4 << 20) == 0: time.sleep(0.02)
time.sleep(2)`),
  ),
  hidden: disk(
    'an open file without a name of a process that hides',
    python(`
ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)
f = os.open('f', os.O_RDWR | os.O_CREAT)
os.unlink('f')
for i in range(400): os.write(f, bytes(1 << 20)); time.sleep(0.005)
time.sleep(2)`),
  ),
  notUtf8: disk('a folder whose name is not UTF-8', `mkdir $'\\xff'; head -c 300M /dev/zero > $'\\xff/x'; sleep 2`),
  deep: disk(
    'folders nested beyond the longest path',
    `n=$(printf 'd%.0s' {1..200}); for i in {1..12}; do mkdir $n; cd $n; done; head -c 300M /dev/zero > x; sleep 2`,
  ),
  closed: disk('a folder that its owner cannot read', 'mkdir d; chmod 300 d; head -c 300M /dev/zero > d/x; sleep 2'),
  holes: disk(
    'a file with holes, filled again and again',
    'for i in {1..20}; do head -c 25M /dev/zero > f; fallocate -p -o 0 -l 25M f; truncate -s 400M f; done; sleep 1',
  ),
  together: disk(
    'two hundred processes that append at once',
    'for i in {1..200}; do head -c 3M /dev/zero >> f & done; wait; sleep 1',
  ),
  inodes: disk(
    'sixty thousand empty files',
    python(`
for i in range(60000): os.close(os.open(f'f{i}', os.O_CREAT))
time.sleep(2)`),
  ),
  links: disk(
    'a hundred and fifty thousand names of one file',
    python(`
for i in range(150000):
    if i % 60000 == 0: name = f'{i}'; os.close(os.open(name, os.O_CREAT))
    os.link(name, f'{i}' + 'n' * 200)
time.sleep(2)`),
  ),
  semaphores: memory(
    'semaphores of System V',
    python(`
libc = ctypes.CDLL(None, use_errno=True)
print(sum(libc.semget(0, 32000, 0o600) >= 0 for i in range(400)))
time.sleep(1)`),
  ),
  shared: memory(
    'shared memory that children have touched and left',
    python(`
held = [mmap.mmap(-1, 30 << 20) for i in range(20)]
for m in held:
    if os.fork() == 0:
        for at in range(0, 30 << 20, 4096): m[at] = 1
        os._exit(0)
    os.wait(); time.sleep(0.05)
time.sleep(1)`),
  ),
  sharedZero: memory(
    'shared memory of the device of zeros',
    python(`
f = os.open('/dev/zero', os.O_RDWR)
m = mmap.mmap(f, 600 << 20)
for part in range(20):
    if os.fork() == 0:
        for at in range(part * 30 << 20, (part + 1) * 30 << 20, 4096): m[at] = 1
        os._exit(0)
    os.wait(); time.sleep(0.05)
time.sleep(1)`),
  ),
  tmpfs: memory(
    'a file system in memory, and a process beside it',
    `head -c 600M /dev/zero > /dev/shm/x; ${python('x = bytearray(100 << 20); time.sleep(1)')}`,
  ),
  pipes: memory(
    'full pipes',
    python(`
for i in range(16):
    if os.fork() == 0:
        kept = []
        try:
            while True:
                kept.append(os.pipe()); os.set_blocking(kept[-1][1], False)
                try:
                    while True: os.write(kept[-1][1], bytes(4096))
                except BlockingIOError: pass
        except OSError: time.sleep(2); os._exit(0)
time.sleep(3)`),
  ),
  sockets: memory(
    'full buffers of local sockets',
    python(`
for i in range(8):
    if os.fork() == 0:
        kept = []
        try:
            while True:
                for one in socket.socketpair():
                    one.setblocking(False); kept.append(one)
                    try:
                        while one.send(bytes(32768)): pass
                    except BlockingIOError: pass
        except OSError: time.sleep(2); os._exit(0)
time.sleep(3)`),
  ),
  datagrams: memory(
    'datagrams that nobody reads',
    python(`
for i in range(8):
    if os.fork() == 0:
        kept = []
        try:
            while True:
                one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); one.bind(('127.0.0.1', 0)); kept.append(one)
                for n in range(40): one.sendto(bytes(8192), one.getsockname())
        except OSError: time.sleep(2); os._exit(0)
time.sleep(3)`),
  ),
  files: memory(
    'files of memory without a name',
    python(`
libc = ctypes.CDLL(None, use_errno=True)
f = libc.memfd_create(b'x', 0)
print(f, ctypes.get_errno())
if f >= 0:
    for i in range(600): os.write(f, bytes(1 << 20))
time.sleep(1)`),
  ),
  hugePages: memory(
    'huge pages',
    python(`
try:
    m = mmap.mmap(-1, 600 << 20, flags=0x40000 | mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    for at in range(0, 600 << 20, 2 << 20): m[at] = 1
except OSError as error: print(error.errno)
time.sleep(1)`),
  ),
  tables: memory(
    'page tables',
    python(`
for i in range(8):
    if os.fork() == 0:
        m = mmap.mmap(-1, 64 << 30, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, prot=mmap.PROT_READ)
        for at in range(0, 64 << 30, 2 << 20): m[at]
        time.sleep(2)
time.sleep(3)`),
  ),
  threads: memory(
    'threads that make threads',
    python(`
import threading
def grow():
    kept = bytearray(2 << 20)
    try:
        for i in range(20): threading.Thread(target=grow).start()
    except RuntimeError: pass
    time.sleep(3)
grow()`),
  ),
  locks: memory(
    'locks of files',
    python(`
import fcntl
for i in range(8):
    if os.fork() == 0:
        kept = [os.open(f'{i}-{n}', os.O_RDWR | os.O_CREAT) for n in range(900)]
        for f in kept:
            for at in range(400): fcntl.lockf(f, fcntl.LOCK_SH, 1, at * 2)
        time.sleep(3); os._exit(0)
for i in range(8): os.wait()`),
  ),
  epoll: memory(
    'watches of epoll',
    python(`
import select
for i in range(8):
    if os.fork() == 0:
        ends = [os.eventfd(0) for n in range(450)]
        polls = []
        try:
            for n in range(450):
                polls.append(select.epoll())
                for end in ends: polls[-1].register(end)
        except OSError: pass
        time.sleep(2); os._exit(0)
for i in range(8): os.wait()`),
  ),
};

/** Runs attacks on low limits. Whatever a command does, the machine loses no more than its limits. */
export function describeAttacks(title: string, way: Way, names: string[]): void {
  describe(title, () => {
    let limited: Awaited<ReturnType<typeof openLimited>>;
    before(async function () {
      await requireSandbox(this);
      if (process.getuid?.() !== 0) skip(this, 'disks and users of tests need root');
      limited = await openLimited(way);
      const { memory, disk } = limited.limits;
      const isKept = way.mayUse.images && !way.isOrdinaryUser;
      if (isKept && (memory !== 'cgroup' || disk !== 'file system'))
        skip(this, 'the machine allows no cgroups or no mounts');
    });
    after(() => limited?.close());

    for (const name of names) {
      const { title: what, on, command } = ATTACKS[name]!;
      it(`${title} bounds ${what}`, async () => {
        const end = await limited.attack(command);
        report(name, way, end);
        const most = (on === 'disk' ? LOW.diskMb : LOW.memoryMb) + SLACK[on];
        const isKept = limited.limits[on] !== 'watched' && !UNCOUNTED.includes(name);
        // How much is taken between two looks depends on the load of the machine: it must be seen.
        if (isKept || end.stopped !== on) expect(end[on], end.output).to.be.lessThan(most);
        expect(end.diskAfter, 'what stays on the disk').to.be.lessThan(LOW.diskMb + 8);
      });
    }
  });
}

/** With LIMITS_REPORT=1: the figures of each attack. */
function report(
  name: string,
  { title }: Way,
  { stopped, code, disk, memory, machine, diskAfter, ms, output }: Attacked,
): void {
  if (!process.env.LIMITS_REPORT) return;
  const figures = `disk ${disk.toFixed(0)} (after: ${diskAfter.toFixed(0)}), memory ${memory.toFixed(0)} MiB (machine ${machine.toFixed(0)}), ${ms} ms`;
  console.log(
    `${title} | ${name} | ${stopped ?? `exit ${code}`} | ${figures} | ${output.trim().slice(-80).replaceAll('\n', ' ')}`,
  );
}
